// Context loader: opens the payloads of EPContext nodes for a provider.
//
// A provider sees a payload only after node_payloads.h has compared it with the context model's record.
#pragma once

#include <span>
#include <vector>

#include "core/abi/provider.h"
#include "core/context/context_metadata.h"
#include "core/context/node_payloads.h"
#include "core/graph/graph.h"

namespace epiphyte::core {

struct ContextBatch {
  std::vector<Node*> nodes;
  std::vector<ContextNodeToLoad> to_load;  // one entry for each node
  std::vector<ContextBlob> blobs;
};

// `nodes`: the context nodes of one provider. Throws INVALID_GRAPH naming node, file, found and expected.
ContextBatch LoadPayloads(std::span<Node* const> nodes, PayloadAccess access, const Metadata& metadata);

}  // namespace epiphyte::core
