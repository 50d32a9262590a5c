#include "core/context/context_loader.h"

#include <cstring>
#include <memory>
#include <new>
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

// Files are mapped, so they begin at a page. What lies within a model, or in an application's memory, is copied where it
// isn't aligned as plugins may count on.
ContextBlob Aligned(ContextBlob blob) {
  constexpr std::align_val_t kAlignment{64};
  if (reinterpret_cast<uintptr_t>(blob.data) % static_cast<size_t>(kAlignment) == 0) return blob;
  std::shared_ptr<void> copy(::operator new(blob.size, kAlignment),
                             [](void* memory) { ::operator delete(memory, kAlignment); });
  std::memcpy(copy.get(), blob.data, blob.size);
  return {copy.get(), blob.size, copy, blob.file};
}

}  // namespace

ContextBatch LoadPayloads(std::span<Node* const> nodes, PayloadAccess access, const Metadata& metadata) {
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
    if (bound.carrier != i) continue;
    blob_of_carrier[i] = static_cast<int32_t>(batch.blobs.size());
    batch.blobs.push_back(Aligned(payloads.Require(*bound.node, bound.attributes).blob));
  }
  // A secondary may stand before its primary.
  for (size_t i = 0; i < bound_nodes.size(); ++i) {
    const size_t carrier = bound_nodes[i].carrier;
    batch.to_load[i].blob = carrier == kNoCarrier ? -1 : blob_of_carrier[carrier];
  }
  return batch;
}

}  // namespace epiphyte::core
