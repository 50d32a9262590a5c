// Context generator: what ep.context_enable=1 writes for one model.
//
// Partitions of providers that make contexts become EPContext nodes; all other nodes go in as plain ONNX, with their
// weights embedded or in one external file. The model joins a ContextSet: its own, which Publish() publishes, or that
// of its share group, which the group's last session publishes.
//
//   ContextGenerator generator(target);   // checks the target: fails early
//   …compile…
//   generator.AddProvider(*provider, partitions);
//   generator.Assemble(std::move(model), plain, {"cpu"});
//   generator.Publish();
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/abi/provider.h"
#include "core/context/context_metadata.h"
#include "core/context/context_set.h"
#include "core/context/context_target.h"
#include "core/graph/graph.h"
#include "core/partition/partitioner.h"

namespace epiphyte::core {

class ContextGenerator {
 public:
  explicit ContextGenerator(ContextTarget target);
  // In a share group: *set is the group's, made here for its first model.
  ContextGenerator(ContextTarget target, std::shared_ptr<ContextSet>* set);
  // Takes back the payloads that it staged, if neither Assemble nor Publish was reached.
  ~ContextGenerator();

  const ContextTarget& target() const { return target_; }
  // Says what the source model is made of, once that is known. Throws INVALID_ARGUMENT when a file to write is one.
  // `mapped`: those that must still be intact when what was made of them is published.
  void SetSourceFiles(std::vector<std::filesystem::path> files, UsedFiles mapped);
  // What the source model is annotated with goes into the context model, too.
  void SetAnnotations(std::shared_ptr<const GraphAnnotations> annotations) { annotations_ = std::move(annotations); }
  ContextSet& set() { return *set_; }

  // Asks the provider for its nodes and stages its payloads. `partitions`: its partitions in the order of Compile.
  // `on_progress` beats while they are written.
  void AddProvider(Provider& provider, std::span<const Partition* const> partitions,
                   const ProgressCallback& on_progress);

  // Builds the context model from `model` (partitioned): partitions given to AddProvider become EPContext nodes, those
  // in `plain`, which `plain_providers` got, are put back as the nodes they were made of.
  void Assemble(Model model, std::span<const Partition* const> plain, const std::vector<std::string>& plain_providers);

  // Publishes the whole set. What `on_progress` throws leaves no file.
  void Publish(const ProgressCallback& on_progress);

  size_t context_node_count() const { return context_nodes_; }
  size_t plain_node_count() const { return plain_nodes_; }

 private:
  struct PendingNode {
    const Partition* partition = nullptr;
    ContextNode node;
  };

  void ReplaceByContextNode(const PendingNode& pending);

  ContextTarget target_;
  std::shared_ptr<ContextSet> set_;
  std::vector<PendingNode> pending_;
  std::vector<std::string> providers_;
  std::vector<std::string> deferring_;  // those of them that leave their payload to a later session
  std::shared_ptr<const GraphAnnotations> annotations_;
  Metadata metadata_;
  size_t payloads_before_ = 0;  // of the set
  bool kept_ = false;           // what was staged belongs to the set now
  size_t context_nodes_ = 0;
  size_t plain_nodes_ = 0;
};

}  // namespace epiphyte::core
