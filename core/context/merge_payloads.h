// MergePayloads: where the payloads of merged models go, and what their nodes and records say then.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/context/context_model.h"
#include "core/context/merge_names.h"
#include "core/context/node_payload.h"

namespace epiphyte::core {

struct MergedBinary {
  std::string name;  // beside the result
  ContextBlob blob;
  PayloadRecord record;
  bool referenced = false;  // it is there already, and stays as it is
};

class MergePayloads {
 public:
  // `reserved`: names beside the result that are taken by other files of it.
  MergePayloads(const std::filesystem::path& output, std::set<std::string> reserved);

  // Gives the models' EPContext nodes their new attributes. Throws INVALID_GRAPH for a payload that isn't what its
  // model recorded, a secondary without its primary, and embedded secondaries that two models call the same.
  void Plan(std::vector<MergeModel>& models);

  const std::vector<MergedBinary>& binaries() const { return binaries_; }
  std::vector<PayloadRecord> Records() const;
  size_t context_nodes() const { return context_nodes_; }

 private:
  struct ContextNodeOf {
    size_t model;
    Node* node;
    EpContextAttributes attributes;
    std::string file;  // its new name; "" when embedded
  };

  bool IsBeside(const MergeModel& model) const;
  void PlanNode(const MergeModel& model, bool beside, NodePayloads& payloads, ContextNodeOf* found);
  const MergedBinary& Place(const MergeModel& model, bool beside, const std::string& file, const NodePayload& payload,
                            const NodePayloads& payloads);
  std::string FreeName(const std::string& stem, const std::string& name) const;
  void BindSecondaries(const std::vector<MergeModel>& models);

  std::filesystem::path folder_;
  std::set<std::string> taken_;
  std::vector<MergedBinary> binaries_;
  std::vector<PayloadRecord> embedded_;
  std::vector<ContextNodeOf> nodes_;
  size_t context_nodes_ = 0;
};

}  // namespace epiphyte::core
