#include "core/context/merge_payloads.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace epiphyte::core {
namespace {

// The model's record of a payload. Another tool's model may not record it; the record is then made from the payload.
PayloadRecord RecordOf(const NodePayload& payload, const NodePayloads& payloads) {
  PayloadRecord record{{payload.blob.size, payload.digest, {}}, "-", "-"};
  for (const PayloadRecord& known : payloads.records()) {
    if (known.size != payload.blob.size || known.xxh128 != payload.digest) continue;
    record = known;
    break;
  }
  record.file.clear();
  return record;
}

}  // namespace

MergePayloads::MergePayloads(const std::filesystem::path& output, std::shared_ptr<ContextStore> store,
                             std::set<std::string> reserved)
    : folder_(output.has_parent_path() ? output.parent_path() : "."),
      store_(std::move(store)),
      taken_(std::move(reserved)) {}

bool MergePayloads::IsBeside(const MergeModel& model) const {
  if (store_ != nullptr) return true;  // all models share the store
  std::error_code error;
  const std::filesystem::path folder = model.path.has_parent_path() ? model.path.parent_path() : ".";
  return std::filesystem::equivalent(folder, folder_, error);
}

void MergePayloads::Plan(std::vector<MergeModel>& models, const SourceOwner& owner_of) {
  // Payloads beside the result keep their names, so they are placed first.
  for (const bool beside : {true, false}) {
    for (size_t i = 0; i < models.size(); ++i) {
      if (IsBeside(models[i]) == beside) AddNodes(i, models[i], beside, owner_of);
    }
  }
  KeepBindings(models, owner_of);
}

void MergePayloads::AddNodes(size_t index, MergeModel& model, bool beside, const SourceOwner& owner_of) {
  NodePayloads payloads({.model = model.path, .store = store_}, model.model.metadata);
  const ContextBinding binding(FindContextNodes(*model.model.graph), owner_of);
  const size_t first = nodes_.size();
  for (size_t i = 0; i < binding.nodes().size(); ++i) {
    const BoundNode& bound = binding.nodes()[i];
    if (!bound.problem.empty()) {
      Fail(StatusCode::kInvalidGraph, "'{}': {}", model.path.filename().string(), bound.problem);
    }
    ContextNodeOf node{
        index, bound, bound.payload_node == kNoPayloadNode ? kNoPayloadNode : first + bound.payload_node, {}, {}};
    if (bound.payload_node == i) {
      node.payload = payloads.Require(*bound.node, bound.attributes);
      node.recorded = RecordOf(node.payload, payloads);
    }
    // The node may be renamed, and partition_name is the key into the payload.
    if (!bound.attributes.partition_name.empty()) {
      bound.node->SetAttribute(Attribute::String("partition_name", bound.attributes.partition_name));
    }
    nodes_.push_back(std::move(node));
  }
  for (size_t i = first; i < nodes_.size(); ++i) {
    const ContextNodeOf& node = nodes_[i];
    if (node.payload_node == kNoPayloadNode) continue;
    const ContextNodeOf& payload_node = nodes_[node.payload_node];
    const ContextAttributes& attributes = payload_node.bound.attributes;
    if (attributes.IsFile()) NameFile(node, Place(model, beside, attributes.ep_cache_context, payload_node).name);
  }
}

void MergePayloads::NameFile(const ContextNodeOf& node, const std::string& file) const {
  node.bound.node->SetAttribute(Attribute::Int("embed_mode", 0));
  node.bound.node->SetAttribute(Attribute::String("ep_cache_context", file));
}

const MergedBinary& MergePayloads::Place(const MergeModel& model, bool beside, const std::string& file,
                                         const ContextNodeOf& payload_node) {
  for (const MergedBinary& known : binaries_) {
    const bool same_bytes =
        known.record.size == payload_node.recorded.size && known.record.xxh128 == payload_node.recorded.xxh128;
    if (same_bytes && (!beside || known.name == file)) return known;
  }
  if (beside && taken_.contains(file)) {
    Fail(StatusCode::kInvalidArgument, "'{}' is a payload of '{}'; choose another name for what is written", file,
         model.path.string());
  }
  MergedBinary binary;
  binary.name = beside ? file : FreeName(model.stem, std::filesystem::path(file).filename().string());
  binary.blob = payload_node.payload.blob;
  binary.record = payload_node.recorded;
  binary.record.file = binary.name;
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

// Binds the merged nodes as a session that loads the result will.
void MergePayloads::KeepBindings(const std::vector<MergeModel>& models, const SourceOwner& owner_of) {
  std::vector<Node*> all;
  for (const ContextNodeOf& node : nodes_) all.push_back(node.bound.node);
  const ContextBinding merged(all, owner_of);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (merged.nodes()[i].payload_node != kNoPayloadNode) continue;
    // A payload that goes into a file, which all its nodes name, no longer competes with the others.
    if (nodes_[i].payload_node == kNoPayloadNode) {
      RefuseSameName(models, nodes_[i]);
    } else {
      GiveFile(models, nodes_[i].payload_node);
    }
  }
}

void MergePayloads::GiveFile(const std::vector<MergeModel>& models, size_t payload_node) {
  const ContextNodeOf& from = nodes_[payload_node];
  const MergeModel& model = models[from.model];
  const std::string& owner = from.bound.owner;
  const std::string name = fmt::format("{}_{}.bin", model.stem, owner.empty() ? "context" : owner);
  const std::string file = Place(model, /*beside=*/false, name, from).name;
  for (const ContextNodeOf& node : nodes_) {
    if (node.payload_node == payload_node) NameFile(node, file);
  }
}

void MergePayloads::RefuseSameName(const std::vector<MergeModel>& models, const ContextNodeOf& secondary) const {
  const auto family = [](const BoundNode& bound) {
    return bound.owner.empty() ? "source " + bound.attributes.source : bound.owner;
  };
  const std::string& name = secondary.bound.attributes.partition_name;
  for (const ContextNodeOf& other : nodes_) {
    if (other.model == secondary.model || other.bound.attributes.partition_name != name ||
        family(other.bound) != family(secondary.bound))
      continue;
    Fail(StatusCode::kInvalidGraph,
         "'{}': {} doesn't say which payload of its model it belongs to, and its partition name '{}' is in '{}' too; "
         "compile the models with different ep.context_node_name_prefix",
         models[secondary.model].path.filename().string(), ContextNodeLabel(*secondary.bound.node), name,
         models[other.model].path.filename().string());
  }
}

std::vector<PayloadRecord> MergePayloads::Records() const {
  std::vector<PayloadRecord> records;
  for (const MergedBinary& binary : binaries_) records.push_back(binary.record);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    // Payloads that were given a file are recorded with that file.
    if (nodes_[i].payload_node == i && nodes_[i].bound.node->IntAttribute("embed_mode", 1) == 1) {
      records.push_back(nodes_[i].recorded);
    }
  }
  return records;
}

}  // namespace epiphyte::core
