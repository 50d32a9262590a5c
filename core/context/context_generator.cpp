#include "core/context/context_generator.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/context/context_model.h"
#include "core/onnx/model_writer.h"

namespace epiphyte::core {
namespace {

// protobuf's limit for a message, less room for the model around the payload.
constexpr uint64_t kMaxEmbedded = (uint64_t{1} << 31) - (uint64_t{16} << 20);

}  // namespace

void ContextTarget::Validate() const {
  std::error_code error;
  if (model.empty()) {
    Fail(StatusCode::kInvalidArgument,
         "ep.context_file_path is not set; a model from memory has no name to derive the context model's from");
  }
  if (!model.has_filename() || std::filesystem::is_directory(model, error)) {
    Fail(StatusCode::kInvalidArgument,
         "ep.context_file_path '{}' is a folder; give the path of the .onnx file to write", model.string());
  }
  std::filesystem::path folder = model.has_parent_path() ? model.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::is_directory(folder, error)) {
    Fail(StatusCode::kInvalidArgument, "folder '{}' for the context model does not exist; create it first",
         folder.string());
  }
  if (!external_initializers.empty()) {
    std::filesystem::path name(external_initializers);
    if (name.has_parent_path() || name.is_absolute() || external_initializers == "." || external_initializers == "..") {
      Fail(StatusCode::kInvalidArgument,
           "ep.context_model_external_initializers_file_name is '{}', expected a file name without folders",
           external_initializers);
    }
  }
  if (overwrite) return;
  if (std::filesystem::exists(std::filesystem::symlink_status(model, error))) {
    Fail(StatusCode::kFail,
         "'{}' exists already; remove it, choose another ep.context_file_path, or ask for overwriting (--force)",
         model.string());
  }
}

std::filesystem::path ContextTarget::BinaryPath(std::string_view provider, size_t index) const {
  std::string name = index == 0 ? fmt::format("{}_{}.bin", binary_stem, provider)
                                : fmt::format("{}_{}_{}.bin", binary_stem, provider, index);
  return model.parent_path() / name;
}

// One payload: staged in a file, or gathered in memory to be embedded. Digest and size are taken while it is written.
class ContextGenerator::Payload {
 public:
  Payload(const ContextTarget& target, const Provider& provider, size_t index) {
    record_.provider = provider.name();
    record_.plugin_version = provider.plugin().version;
    if (!target.embed) {
      std::filesystem::path path = target.BinaryPath(provider.name(), index);
      std::error_code error;
      if (!target.overwrite && std::filesystem::exists(std::filesystem::symlink_status(path, error))) {
        Fail(StatusCode::kFail,
             "'{}' exists already; remove it, choose another ep.context_file_path, or ask for overwriting (--force)",
             path.string());
      }
      record_.file = path.filename().string();
      file_ = std::make_unique<StagedFile>(path);
    }
  }

  void Write(const void* data, uint64_t size) {
    digest_.Update(data, size);
    record_.size += size;
    if (file_) {
      file_->Write(data, size);
      return;
    }
    if (record_.size > kMaxEmbedded) {
      Fail(StatusCode::kInvalidArgument,
           "the context of provider '{}' is larger than {} bytes and can't be embedded, because protobuf messages end "
           "at 2 GiB; use ep.context_embed_mode=0",
           record_.provider, kMaxEmbedded);
    }
    auto* bytes = static_cast<const char*>(data);
    embedded_.insert(embedded_.end(), bytes, bytes + size);
  }

  void End() {
    record_.xxh128 = digest_.Finish();
    if (file_) file_->Sync();
    ended_ = true;
  }

  bool ended() const { return ended_; }
  const PayloadRecord& record() const { return record_; }
  StagedFile* file() { return file_.get(); }
  std::vector<char> TakeEmbedded() { return std::move(embedded_); }

 private:
  PayloadRecord record_;
  Xxh128Stream digest_;
  std::unique_ptr<StagedFile> file_;
  std::vector<char> embedded_;
  bool ended_ = false;
};

namespace {

// The provider's writer is a view of a payload that the generator keeps.
template <typename Payload>
class PayloadView : public PayloadWriter {
 public:
  explicit PayloadView(Payload* payload) : payload_(payload) {}
  void Write(const void* data, uint64_t size) override { payload_->Write(data, size); }
  void End() override { payload_->End(); }

 private:
  Payload* payload_;
};

}  // namespace

ContextGenerator::ContextGenerator(ContextTarget target) : target_(std::move(target)) { target_.Validate(); }

ContextGenerator::~ContextGenerator() = default;

void ContextGenerator::AddProvider(Provider& provider, std::span<const Partition* const> partitions) {
  size_t first_payload = payloads_.size();
  ContextNodes answer = provider.GetEpContextNodes(target_.node_name_prefix, target_.embed, [&] {
    payloads_.push_back(std::make_unique<Payload>(target_, provider, payloads_.size() - first_payload));
    return std::make_unique<PayloadView<Payload>>(payloads_.back().get());
  });
  size_t payload_count = payloads_.size() - first_payload;
  for (ContextNode& node : answer.nodes) {
    PendingNode pending{partitions[node.partition], std::move(node), nullptr, nullptr};
    if (pending.node.main_context == 1) {
      pending.payload = payloads_[first_payload + static_cast<size_t>(pending.node.payload)].get();
    } else if (payload_count == 1) {
      pending.primary = payloads_[first_payload].get();
    }
    pending_.push_back(std::move(pending));
  }
  if (!answer.compatibility_info.empty())
    metadata_["ep_compatibility_info." + provider.name()] = answer.compatibility_info;
}

void ContextGenerator::ReplaceByContextNode(const PendingNode& pending) {
  Node* fused = pending.partition->node;
  Graph& graph = fused->graph();
  std::vector<ValueDef*> inputs(fused->inputs().begin(), fused->inputs().end());
  std::vector<ValueDef*> outputs(fused->outputs().begin(), fused->outputs().end());
  graph.RemoveNode(fused);

  std::vector<Attribute> attributes;
  attributes.push_back(Attribute::Int("main_context", pending.node.main_context));
  attributes.push_back(Attribute::Int("embed_mode", target_.embed ? 1 : 0));
  if (pending.payload != nullptr && target_.embed) {
    auto bytes = std::make_shared<const std::vector<char>>(pending.payload->TakeEmbedded());
    attributes.push_back(Attribute::Tensor(
        "ep_cache_context",
        Constant::View(DataType::kUint8, {static_cast<int64_t>(bytes->size())}, bytes->data(), bytes->size(), bytes)));
  } else if (pending.payload != nullptr || pending.primary != nullptr) {
    const Payload* payload = pending.payload != nullptr ? pending.payload : pending.primary;
    if (!target_.embed) attributes.push_back(Attribute::String("ep_cache_context", payload->record().file));
  }
  attributes.push_back(Attribute::String("source", pending.node.source));
  attributes.push_back(Attribute::String("partition_name", pending.partition->name));
  for (auto& [name, value] : {std::pair<const char*, const std::string&>{"ep_sdk_version", pending.node.ep_sdk_version},
                              {"hardware_architecture", pending.node.hardware_architecture},
                              {"notes", pending.node.notes},
                              {"onnx_model_filename", target_.source_model_name}}) {
    if (!value.empty()) attributes.push_back(Attribute::String(name, value));
  }
  if (pending.node.max_size != 0) attributes.push_back(Attribute::Int("max_size", pending.node.max_size));
  graph.AddNode(kContextOp, kContextDomain, 1, std::move(inputs), std::move(outputs), std::move(attributes),
                pending.partition->name);
  ++context_nodes_;
}

void DissolvePartition(const Partition& partition) {
  Node* fused = partition.node;
  Graph& graph = fused->graph();
  const Graph& inner = *partition.graph;
  std::vector<ValueDef*> outer_inputs(fused->inputs().begin(), fused->inputs().end());
  std::vector<ValueDef*> outer_outputs(fused->outputs().begin(), fused->outputs().end());
  graph.RemoveNode(fused);

  std::map<const ValueDef*, ValueDef*> outer_of;
  for (size_t i = 0; i < inner.inputs().size(); ++i) outer_of[inner.inputs()[i]] = outer_inputs[i];
  for (size_t i = 0; i < inner.outputs().size(); ++i) outer_of.try_emplace(inner.outputs()[i], outer_outputs[i]);
  auto map_value = [&](ValueDef* value) -> ValueDef* {
    if (value == nullptr) return nullptr;
    auto [found, is_new] = outer_of.try_emplace(value, nullptr);
    if (!is_new) return found->second;
    std::string name = value->name();
    ValueDef* existing = graph.FindValue(name);
    // The nodes were in this graph under these names; only values that the partition removed are free again.
    if (existing != nullptr && (existing->producer() != nullptr || existing->IsInput() || existing->IsConstant())) {
      if (existing->IsConstant() && value->IsConstant() && existing->constant() == value->constant())
        return found->second = existing;
      name = graph.FreshName(name);
      existing = nullptr;
    }
    if (existing == nullptr) {
      existing = value->IsConstant() ? graph.AddConstant(name, value->constant()) : graph.AddValue(name, value->type());
    } else if (value->IsConstant()) {
      graph.SetConstant(existing, value->constant());
    }
    return found->second = existing;
  };
  for (const Node* node : inner.TopologicalOrder()) {
    std::vector<ValueDef*> inputs;
    std::vector<ValueDef*> outputs;
    for (ValueDef* input : node->inputs()) inputs.push_back(map_value(input));
    for (ValueDef* output : node->outputs()) outputs.push_back(map_value(output));
    std::vector<Attribute> attributes;
    for (const auto& attribute : node->attributes()) attributes.push_back(attribute->Clone());
    for (ValueDef* implicit : node->implicit_inputs()) map_value(implicit);
    graph.AddNode(node->op_type(), node->domain(), node->since_version(), std::move(inputs), std::move(outputs),
                  std::move(attributes), node->name());
  }
}

void ContextGenerator::Write(Model& model, std::span<const Partition* const> plain) {
  for (const PendingNode& pending : pending_) ReplaceByContextNode(pending);
  for (const Partition* partition : plain) {
    plain_nodes_ += partition->graph->node_count();
    DissolvePartition(*partition);
  }
  model.graph->SetOpset(std::string(kContextDomain), 1);
  model.graph->Finalize();

  std::vector<PayloadRecord> records;
  for (const auto& payload : payloads_) {
    if (payload->ended()) records.push_back(payload->record());
  }
  model.metadata.insert(metadata_.begin(), metadata_.end());
  WritePayloadRecords(records, &model.metadata);

  WriteOptions options;
  std::unique_ptr<StagedFile> external;
  if (!target_.external_initializers.empty()) {
    std::filesystem::path path = target_.model.parent_path() / target_.external_initializers;
    std::error_code error;
    if (!target_.overwrite && std::filesystem::exists(std::filesystem::symlink_status(path, error))) {
      Fail(StatusCode::kFail, "'{}' exists already; remove it or ask for overwriting (--force)", path.string());
    }
    external = std::make_unique<StagedFile>(path);
    options.external_file_name = target_.external_initializers;
    options.external_sink = [&](const void* data, uint64_t size) { external->Write(data, size); };
  }
  StagedFile staged(target_.model);
  WriteModel(model, options, [&](const void* data, uint64_t size) { staged.Write(data, size); });
  staged.Sync();

  // From here on files appear, those that others refer to first.
  if (external && external->size() == 0) external.reset();
  for (const auto& payload : payloads_) {
    if (!payload->ended() || payload->file() == nullptr) continue;
    payload->file()->Commit(target_.overwrite);
    files_.push_back(payload->file()->target());
  }
  if (external) {
    external->Commit(target_.overwrite);
    files_.push_back(external->target());
  }
  staged.Commit(target_.overwrite);
  Log(LogLevel::kInfo, "context", "wrote '{}' with {} context nodes and {} plain nodes", target_.model.string(),
      context_nodes_, plain_nodes_);
}

}  // namespace epiphyte::core
