// Context models: what is in the EPContext nodes of a model, without any plugin.
//
//   for (const epiphyte::ContextNodeInfo& node : epiphyte::InspectContext("model_ctx.onnx").nodes) {
//     std::cout << node.source << ' ' << node.file << ' ' << node.problem << '\n';
//   }
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "epiphyte/export.hpp"

namespace epiphyte {

// One EPContext node, the schema's defaults filled in.
struct ContextNodeInfo {
  std::string name;
  std::string graph;  // path of nested graphs, "" for the model's own
  std::string source;
  std::string partition;
  bool main_context = true;
  int64_t embed_mode = 1;
  std::string file;             // as the node spells it; empty when the payload is embedded or belongs to another node
  uint64_t size = 0;            // of the payload as it is
  std::string digest;           // of the payload as it is, XXH3-128 in hex; empty when there is none
  std::string recorded_digest;  // what the model says that it was; empty when it doesn't
  std::string sdk_version;
  std::string hardware;
  std::string notes;
  std::string onnx_model_filename;
  int64_t max_size = 0;
  std::string problem;  // what is wrong with the payload, one line; empty when nothing is
};

struct ContextInfo {
  std::filesystem::path model;
  std::vector<ContextNodeInfo> nodes;
  uint64_t plain_nodes = 0;                     // nodes that aren't EPContext nodes
  std::map<std::string, std::string> metadata;  // of the model: compatibility strings, fingerprints
};

// Throws when the model can't be read; trouble with a payload is in its node's `problem`. A model without EPContext
// nodes gives none. [any thread]
EPIPHYTE_API ContextInfo InspectContext(const std::filesystem::path& model);

}  // namespace epiphyte
