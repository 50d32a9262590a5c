// Context generator: writes the context model of one session (ep.context_enable=1).
//
// Partitions of providers that make contexts become EPContext nodes. All other nodes stay plain ONNX, with their
// weights embedded or in one external file. The model joins a ContextSet. A model on its own has its own set, and
// Publish() publishes it. A share group has one set, and the group's last session publishes it.
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
  // For a share group: *set is the group's set; it is made here for the group's first model.
  ContextGenerator(ContextTarget target, std::shared_ptr<ContextSet>* set);
  // Drops the payloads that it staged unless Assemble or Publish was reached.
  ~ContextGenerator();

  const ContextTarget& target() const { return target_; }
  // Sets the files that the source model is made of, once they are known. Throws INVALID_ARGUMENT when a file to write
  // is one of them. `mapped`: source files that must still be intact when the context model is published.
  void SetSourceFiles(std::vector<std::filesystem::path> files, UsedFiles mapped);
  // The source model's annotations go into the context model, too.
  void SetAnnotations(std::shared_ptr<const GraphAnnotations> annotations) { annotations_ = std::move(annotations); }
  ContextSet& set() { return *set_; }

  // Asks the provider for its nodes and stages its payloads. `partitions`: the provider's partitions in the order of
  // Compile. `on_progress` is called repeatedly while payloads are written.
  void AddProvider(Provider& provider, std::span<const Partition* const> partitions,
                   const ProgressCallback& on_progress);

  // Builds the context model from `model` (partitioned). Partitions given to AddProvider become EPContext nodes. The
  // partitions in `plain`, compiled by `plain_providers`, are replaced by the nodes they were made of.
  void Assemble(Model model, std::span<const Partition* const> plain, const std::vector<std::string>& plain_providers);

  // Publishes the whole set. If `on_progress` throws, no file is left behind.
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
  std::vector<std::string> deferring_;  // providers of this model that leave their payload to a later session
  std::shared_ptr<const GraphAnnotations> annotations_;
  Metadata metadata_;
  size_t payloads_before_ = 0;  // the set's payload count before this model
  bool kept_ = false;           // the set owns the staged payloads now
  size_t context_nodes_ = 0;
  size_t plain_nodes_ = 0;
};

}  // namespace epiphyte::core
