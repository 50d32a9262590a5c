// Context generator: what ep.context_enable=1 writes.
//
// Partitions of providers that make contexts become EPContext nodes; all other nodes go in as plain ONNX, with their
// weights embedded or in one external file. Nothing is visible under its final name before everything is complete;
// the .onnx comes last, and carries size and digest of each binary.
//
//   ContextGenerator generator(ContextTarget::FromOptions(options, model_path));   // checks the target: fails early
//   …compile…
//   generator.AddProvider(*provider, partitions);
//   generator.Write(model);
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/abi/provider.h"
#include "core/base/hash.h"
#include "core/base/staged_file.h"
#include "core/graph/graph.h"
#include "core/partition/partitioner.h"

namespace epiphyte::core {

// Where a context model goes and in what form.
struct ContextTarget {
  std::filesystem::path model;        // the .onnx to write
  std::string binary_stem;            // "<stem>_<provider>.bin"
  std::string source_model_name;      // for onnx_model_filename; "" when the model came from memory
  std::string external_initializers;  // file name; "" embeds them
  std::string node_name_prefix;
  bool embed = false;
  bool overwrite = false;

  // Throws INVALID_ARGUMENT when the path has no file name or is a folder, FAIL when it exists and must not be
  // replaced.
  void Validate() const;
  std::filesystem::path BinaryPath(std::string_view provider, size_t index) const;
};

class ContextGenerator {
 public:
  explicit ContextGenerator(ContextTarget target);
  ~ContextGenerator();

  const ContextTarget& target() const { return target_; }

  // Asks the provider for its nodes and stages its payloads. `partitions`: its partitions in the order of Compile.
  void AddProvider(Provider& provider, std::span<const Partition* const> partitions);

  // Builds the model from `model` (partitioned): partitions given to AddProvider become EPContext nodes, those in
  // `plain` are put back as the nodes they were made of. Publishes everything. `model` is used up.
  void Write(Model& model, std::span<const Partition* const> plain);

  // Files written besides the model, in the order of publishing.
  const std::vector<std::filesystem::path>& files() const { return files_; }
  size_t context_node_count() const { return context_nodes_; }
  size_t plain_node_count() const { return plain_nodes_; }

 private:
  class Payload;
  struct PendingNode {
    const Partition* partition;
    ContextNode node;
    Payload* payload;  // null for main_context 0
    Payload* primary;  // the payload a secondary belongs to, null if several fit
  };

  void ReplaceByContextNode(const PendingNode& pending);

  ContextTarget target_;
  std::vector<std::unique_ptr<Payload>> payloads_;
  std::vector<PendingNode> pending_;
  std::map<std::string, std::string> metadata_;
  std::vector<std::filesystem::path> files_;
  size_t context_nodes_ = 0;
  size_t plain_nodes_ = 0;
};

// Puts the nodes of `partition` back in place of its fused node.
void DissolvePartition(const Partition& partition);

}  // namespace epiphyte::core
