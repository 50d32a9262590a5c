// Context loader: from EPContext nodes to payloads that are safe to hand to a provider.
//
// Each payload is found (in the model, or in a file beside it, by the rules of base/safe_path.h), mapped once, and its
// size and digest compared with what the context model says. A provider sees a payload only after that.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/abi/provider.h"
#include "core/context/context_store.h"
#include "core/context/share_group.h"
#include "core/graph/graph.h"

namespace epiphyte::core {

struct ContextBatch {
  std::vector<Node*> nodes;
  std::vector<ContextNodeToLoad> to_load;  // one for each node
  std::vector<ContextBlob> blobs;
};

struct LoadOptions {
  // What relative paths are relative to; empty when the model came from memory and ep.context_file_path is not set.
  std::filesystem::path model_path;
  bool verify_digests = true;     // false: sizes only
  bool embedded_verified = false; // the model's seal was checked, and covers what is embedded
  ContextStore* store = nullptr;  // where payloads are when not in files
  ThreadPool* pool = nullptr;     // helps with digests
  ShareGroup* group = nullptr;    // shares mappings among its sessions
  Pulse pulse;                    // beats while digests are compared
};

// `nodes`: the context nodes of one provider. Throws INVALID_GRAPH naming node, file, found and expected.
ContextBatch LoadPayloads(std::span<Node* const> nodes, const LoadOptions& options,
                          const std::map<std::string, std::string>& metadata);

}  // namespace epiphyte::core
