// MergePayloads: decides where the payloads of merged models go, and updates their nodes and records.
//
// Each node finds its graph in the payload that it had in its own model, by the rule of context_binding.h. That fails
// if another model brings a payload of the same provider. The payload then goes into a file, which its nodes name.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/context/context_binding.h"
#include "core/context/context_metadata.h"
#include "core/context/context_model.h"
#include "core/context/merge_names.h"
#include "core/context/node_payloads.h"

namespace epiphyte::core {

struct MergedBinary {
  std::string name;  // name beside the result
  ContextBlob blob;
  PayloadRecord record;
  bool referenced = false;  // it exists already and stays as it is
};

class MergePayloads {
 public:
  // `reserved`: names beside the result that its other files take. `store`: where all payloads are; may be null.
  MergePayloads(const std::filesystem::path& output, std::shared_ptr<ContextStore> store,
                std::set<std::string> reserved);

  // Gives the models' EPContext nodes their new attributes. Throws INVALID_GRAPH in three cases: a payload differs from
  // its record, a secondary has no primary, or only the provider can find a node's payload and another model uses the
  // same partition name.
  void Plan(std::vector<MergeModel>& models, const SourceOwner& owner_of);

  const std::vector<MergedBinary>& binaries() const { return binaries_; }
  std::vector<PayloadRecord> Records() const;
  size_t context_nodes() const { return nodes_.size(); }

 private:
  struct ContextNodeOf {
    size_t model;
    BoundNode bound;         // binding in the node's own model
    size_t payload_node;     // index into nodes_; kNoPayloadNode when only the provider knows
    NodePayload payload;     // set for payload nodes only
    PayloadRecord recorded;  // set for payload nodes only
  };

  bool IsBeside(const MergeModel& model) const;
  void AddNodes(size_t index, MergeModel& model, bool beside, const SourceOwner& owner_of);
  const MergedBinary& Place(const MergeModel& model, bool beside, const std::string& file,
                            const ContextNodeOf& payload_node);
  std::string FreeName(const std::string& stem, const std::string& name) const;
  void NameFile(const ContextNodeOf& node, const std::string& file) const;
  void KeepBindings(const std::vector<MergeModel>& models, const SourceOwner& owner_of);
  void GiveFile(const std::vector<MergeModel>& models, size_t payload_node);
  void RefuseSameName(const std::vector<MergeModel>& models, const ContextNodeOf& secondary) const;

  std::filesystem::path folder_;
  std::shared_ptr<ContextStore> store_;
  std::set<std::string> taken_;
  std::vector<MergedBinary> binaries_;
  std::vector<ContextNodeOf> nodes_;
};

}  // namespace epiphyte::core
