// Context loader: opens the payloads of EPContext nodes for a provider.
//
//   const ContextBinding binding(FindContextNodes(*model.graph), OwnersIn(catalog));
//   const ContextBatch batch = LoadPayloads(binding, "npu", {.model = path}, model.metadata);
//   provider.LoadContext(batch.to_load, batch.blobs);
//
// A provider sees a payload only after node_payloads.h has compared it with the context model's record.
#pragma once

#include <string_view>
#include <vector>

#include "core/abi/provider.h"
#include "core/context/context_binding.h"
#include "core/context/context_metadata.h"
#include "core/context/node_payloads.h"
#include "core/graph/graph.h"

namespace epiphyte::core {

struct ContextBatch {
  std::vector<Node*> nodes;
  std::vector<ContextNodeToLoad> to_load;  // one entry for each node
  std::vector<ContextBlob> blobs;
};

// Opens the payloads of the nodes that belong to the provider `owner`. Throws INVALID_GRAPH naming node, file, found
// and expected.
ContextBatch LoadPayloads(const ContextBinding& binding, std::string_view owner, PayloadAccess access,
                          const Metadata& metadata);

}  // namespace epiphyte::core
