#include "core/context/merge_payloads.h"

#include <algorithm>

#include "core/base/error.h"

namespace epiphyte::core {
namespace {

// The model's record of a payload; one of its own for a payload that another tool's model doesn't record.
PayloadRecord RecordOf(const NodePayload& payload, const NodePayloads& payloads, std::string file) {
  PayloadRecord record{payload.blob.size, payload.digest, {}, "-", "-"};
  for (const PayloadRecord& known : payloads.records()) {
    if (known.size != payload.blob.size || known.xxh128 != payload.digest) continue;
    record = known;
    break;
  }
  record.file = std::move(file);
  return record;
}

void RequireGood(const NodePayload& payload) {
  if (payload.problem.empty()) return;
  Fail(StatusCode::kInvalidGraph, "{}; `epiphyte verify` lists everything that is wrong with a context model",
       payload.problem);
}

}  // namespace

MergePayloads::MergePayloads(const std::filesystem::path& output, std::set<std::string> reserved)
    : folder_(output.has_parent_path() ? output.parent_path() : "."), taken_(std::move(reserved)) {}

bool MergePayloads::IsBeside(const MergeModel& model) const {
  std::error_code error;
  const std::filesystem::path folder = model.path.has_parent_path() ? model.path.parent_path() : ".";
  return std::filesystem::equivalent(folder, folder_, error);
}

void MergePayloads::Plan(std::vector<MergeModel>& models) {
  // Those beside the result keep their names, so they come first.
  for (const bool beside : {true, false}) {
    for (size_t i = 0; i < models.size(); ++i) {
      if (IsBeside(models[i]) != beside) continue;
      NodePayloads payloads(models[i].path, models[i].model.metadata);
      for (Node* node : FindContextNodes(*models[i].model.graph)) {
        ContextNodeOf found{i, node, ReadContextAttributes(*node), {}};
        PlanNode(models[i], beside, payloads, &found);
        nodes_.push_back(std::move(found));
      }
    }
  }
  context_nodes_ = nodes_.size();
  BindSecondaries(models);
}

void MergePayloads::PlanNode(const MergeModel& model, bool beside, NodePayloads& payloads, ContextNodeOf* found) {
  const EpContextAttributes& attributes = found->attributes;
  const NodePayload& payload = payloads.Open(*found->node, attributes);
  RequireGood(payload);
  if (attributes.embed_mode == 0 && !attributes.ep_cache_context.empty()) {
    found->file = Place(model, beside, attributes.ep_cache_context, payload, payloads).name;
    found->node->SetAttribute(Attribute::String("ep_cache_context", found->file));
  } else if (attributes.main_context == 1) {
    embedded_.push_back(RecordOf(payload, payloads, {}));
  }
}

const MergedBinary& MergePayloads::Place(const MergeModel& model, bool beside, const std::string& file,
                                         const NodePayload& payload, const NodePayloads& payloads) {
  for (const MergedBinary& known : binaries_) {
    const bool same_bytes = known.record.size == payload.blob.size && known.record.xxh128 == payload.digest;
    if (same_bytes && (!beside || known.name == file)) return known;
  }
  if (beside && taken_.contains(file)) {
    Fail(StatusCode::kInvalidArgument, "'{}' is a payload of '{}'; choose another name for what is written", file,
         model.path.string());
  }
  MergedBinary binary;
  binary.name = beside ? file : FreeName(model.stem, std::filesystem::path(file).filename().string());
  binary.blob = payload.blob;
  binary.record = RecordOf(payload, payloads, binary.name);
  binary.referenced = beside;
  taken_.insert(binary.name);
  binaries_.push_back(std::move(binary));
  return binaries_.back();
}

std::string MergePayloads::FreeName(const std::string& stem, const std::string& name) const {
  if (!taken_.contains(name)) return name;
  std::string free = stem + "_" + name;
  for (int i = 2; taken_.contains(free); ++i) free = fmt::format("{}_{}_{}", stem, i, name);
  return free;
}

// A secondary without a file of its own is found among the payloads of its source: now there are more of them.
void MergePayloads::BindSecondaries(const std::vector<MergeModel>& models) {
  for (ContextNodeOf& secondary : nodes_) {
    if (secondary.attributes.main_context == 1 || !secondary.file.empty()) continue;
    const std::string& source = secondary.attributes.source;
    const std::string label =
        fmt::format("'{}': EPContext node '{}' (source '{}')", models[secondary.model].path.filename().string(),
                    NodePath(*secondary.node), source);
    std::set<std::string> files;
    bool has_primary = false;
    for (const ContextNodeOf& other : nodes_) {
      if (other.model != secondary.model || other.attributes.main_context != 1 || other.attributes.source != source)
        continue;
      has_primary = true;
      files.insert(other.file);
    }
    if (!has_primary) {
      Fail(StatusCode::kInvalidGraph,
           "{} has main_context 0, but no node with main_context 1 and that source is in its model; compile it again",
           label);
    }
    if (files.size() == 1 && !files.begin()->empty()) {
      secondary.node->SetAttribute(Attribute::Int("embed_mode", 0));
      secondary.node->SetAttribute(Attribute::String("ep_cache_context", *files.begin()));
      continue;
    }
    for (const ContextNodeOf& other : nodes_) {
      if (other.model == secondary.model || other.attributes.source != source ||
          other.attributes.partition_name != secondary.attributes.partition_name)
        continue;
      Fail(StatusCode::kInvalidGraph,
           "{} finds its graph by the partition name '{}', which '{}' has too; compile the models with different "
           "ep.context_node_name_prefix, or with ep.context_embed_mode=0",
           label, secondary.attributes.partition_name, models[other.model].path.filename().string());
    }
  }
}

std::vector<PayloadRecord> MergePayloads::Records() const {
  std::vector<PayloadRecord> records;
  for (const MergedBinary& binary : binaries_) records.push_back(binary.record);
  records.insert(records.end(), embedded_.begin(), embedded_.end());
  return records;
}

}  // namespace epiphyte::core
