#include "core/context/context_loader.h"

#include <map>
#include <utility>

#include "core/base/error.h"
#include "core/context/context_model.h"

namespace epiphyte::core {
namespace {

ContextNodeToLoad ToLoad(const BoundNode& bound) {
  ContextNodeToLoad load;
  static_cast<ContextAttributes&>(load) = bound.attributes;
  load.node = bound.node;
  for (const ValueDef* output : bound.node->outputs())
    load.output_types.push_back(output == nullptr ? nullptr : output->type());
  return load;
}

// In a share group, one copy is kept of bytes that each model brings along: embedded payloads, and stored payloads
// without a record. Embedded ones are copied, because the group may outlive the model, and the model's file may change.
ContextBlob ForPlugins(const NodePayload& payload, bool is_file, ShareGroup* group) {
  const ContextBlob& blob = payload.blob;
  if (group == nullptr || blob.size == 0 || blob.file != nullptr) return Aligned(blob);
  return group->Unify(blob, [&] { return is_file ? Aligned(blob) : CopyOf(blob); });
}

}  // namespace

ContextBatch LoadPayloads(const ContextBinding& binding, std::string_view owner, PayloadAccess access,
                          const Metadata& metadata) {
  ShareGroup* const group = access.group;
  NodePayloads payloads(std::move(access), metadata);
  ContextBatch batch;
  std::vector<size_t> payload_nodes;  // BoundNode::payload_node of each node of the batch
  std::map<size_t, int32_t> blob_of_payload_node;
  for (size_t i = 0; i < binding.nodes().size(); ++i) {
    const BoundNode& bound = binding.nodes()[i];
    if (bound.owner != owner) continue;
    if (!bound.problem.empty()) Fail(StatusCode::kInvalidGraph, "{}", bound.problem);
    batch.nodes.push_back(bound.node);
    batch.to_load.push_back(ToLoad(bound));
    payload_nodes.push_back(bound.payload_node);
    if (bound.payload_node != i) continue;
    blob_of_payload_node[i] = static_cast<int32_t>(batch.blobs.size());
    const NodePayload& payload = payloads.Require(*bound.node, bound.attributes);
    batch.blobs.push_back(ForPlugins(payload, bound.attributes.IsFile(), group));
  }
  // A secondary may stand before its primary.
  for (size_t k = 0; k < payload_nodes.size(); ++k) {
    batch.to_load[k].blob = payload_nodes[k] == kNoPayloadNode ? -1 : blob_of_payload_node.at(payload_nodes[k]);
  }
  return batch;
}

}  // namespace epiphyte::core
