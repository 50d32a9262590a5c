#include "core/context/context_loader.h"

#include <utility>

#include "core/base/error.h"
#include "core/context/context_binding.h"
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

ContextBatch LoadPayloads(std::span<Node* const> nodes, PayloadAccess access, const Metadata& metadata) {
  ShareGroup* const group = access.group;
  NodePayloads payloads(std::move(access), metadata);
  const ContextBinding binding(nodes, [](const std::string&) { return std::string("the provider of all"); });
  const std::vector<BoundNode>& bound_nodes = binding.nodes();
  ContextBatch batch;
  std::vector<int32_t> blob_of_carrier(bound_nodes.size(), -1);
  for (size_t i = 0; i < bound_nodes.size(); ++i) {
    const BoundNode& bound = bound_nodes[i];
    if (!bound.problem.empty()) Fail(StatusCode::kInvalidGraph, "{}", bound.problem);
    batch.nodes.push_back(bound.node);
    batch.to_load.push_back(ToLoad(bound));
    if (bound.payload_node != i) continue;
    blob_of_carrier[i] = static_cast<int32_t>(batch.blobs.size());
    const NodePayload& payload = payloads.Require(*bound.node, bound.attributes);
    batch.blobs.push_back(ForPlugins(payload, bound.attributes.IsFile(), group));
  }
  // A secondary may stand before its primary.
  for (size_t i = 0; i < bound_nodes.size(); ++i) {
    const size_t payload_node = bound_nodes[i].payload_node;
    batch.to_load[i].blob = payload_node == kNoPayloadNode ? -1 : blob_of_carrier[payload_node];
  }
  return batch;
}

}  // namespace epiphyte::core
