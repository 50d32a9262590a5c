#include "core/context/context_generator.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/context/context_model.h"
#include "core/graph/context_node.h"
#include "core/partition/dissolve_partition.h"

namespace epiphyte::core {
namespace {

// View of a payload that the set owns; the provider writes through it.
class PayloadView : public PayloadWriter {
 public:
  void Show(ContextSet::Payload* payload) { payload_ = payload; }
  void Write(const void* data, uint64_t size) override { payload_->Write(data, size); }
  void End() override { payload_->End(); }

 private:
  ContextSet::Payload* payload_ = nullptr;
};

}  // namespace

ContextGenerator::ContextGenerator(ContextTarget target) : target_(std::move(target)) {
  target_.Validate();
  set_ = std::make_shared<ContextSet>(target_);
}

ContextGenerator::ContextGenerator(ContextTarget target, std::shared_ptr<ContextSet>* set)
    : target_(std::move(target)) {
  target_.Validate();
  if (target_.embed) {
    Fail(StatusCode::kInvalidArgument,
         "ep.share_ep_contexts needs a binary that several models refer to, and ep.context_embed_mode=1 puts it into "
         "one "
         "of them; use ep.context_embed_mode=0");
  }
  if (!*set) *set = std::make_shared<ContextSet>(target_);
  set_ = *set;
  set_->CheckFits(target_);
  payloads_before_ = set_->payload_count();
}

ContextGenerator::~ContextGenerator() {
  if (!kept_) set_->DropPayloadsFrom(payloads_before_);
}

void ContextGenerator::SetSourceFiles(std::vector<std::filesystem::path> files, UsedFiles mapped) {
  target_.source_files = std::move(files);
  target_.mapped_sources = std::move(mapped);
  target_.RefuseSourceFile(target_.model);
  if (!target_.external_initializers.empty()) {
    target_.RefuseSourceFile(target_.model.parent_path() / target_.external_initializers);
  }
}

void ContextGenerator::AddProvider(Provider& provider, std::span<const Partition* const> partitions,
                                   const ProgressCallback& on_progress) {
  for (const Partition* partition : partitions) set_->AddPartitionName(partition->name);
  const size_t first_payload = set_->PayloadsOf(provider.name()).size();
  ContextNodes answer = provider.GetEpContextNodes(target_.node_name_prefix, target_.embed, [&] {
    auto view = std::make_unique<PayloadView>();
    view->Show(
        &set_->NewPayload(provider, on_progress));  // the last call that can fail: each payload of the set has its view
    return view;
  });
  std::vector<ContextSet::Payload*> payloads = set_->PayloadsOf(provider.name());
  payloads.erase(payloads.begin(), payloads.begin() + static_cast<ptrdiff_t>(first_payload));
  const bool grouped = !set_->deferred_providers().empty() || provider.DefersPayload();
  if (grouped && payloads.size() > 1) {
    Fail(StatusCode::kEpFail,
         "provider '{}' wrote {} payloads for its share group, where one is expected; report this to its vendor",
         provider.name(), payloads.size());
  }
  if (provider.DefersPayload()) deferring_.push_back(provider.name());
  for (ContextNode& node : answer.nodes) {
    PendingNode pending;
    pending.partition = partitions[node.partition];
    pending.node = std::move(node);
    pending.node.embed_mode = target_.embed ? 1 : 0;
    pending.node.ep_cache_context = set_->BinaryName(provider.name(), 0);
    pending.node.partition_name = pending.partition->name;
    pending.node.onnx_model_filename = target_.source_model_name;
    if (pending.node.main_context == 1 && pending.node.payload >= 0) {
      const ContextSet::Payload& payload = *payloads[static_cast<size_t>(pending.node.payload)];
      pending.node.ep_cache_context = payload.record().file;
      if (const auto& bytes = payload.bytes()) pending.node.embedded = {bytes->data(), bytes->size(), bytes};
    } else if (pending.node.main_context == 0 && payloads.size() > 1) {
      pending.node.ep_cache_context.clear();  // any of the payloads may hold this node's graph
    }
    pending_.push_back(std::move(pending));
  }
  if (!answer.nodes.empty()) providers_.push_back(provider.name());
  if (!answer.compatibility_info.empty()) {
    SetCompatibilityInfo(provider.name(), std::move(answer.compatibility_info), &metadata_);
  }
}

void ContextGenerator::ReplaceByContextNode(const PendingNode& pending) {
  Node* fused = pending.partition->node;
  Graph& graph = fused->graph();
  std::vector<ValueDef*> inputs(fused->inputs().begin(), fused->inputs().end());
  std::vector<ValueDef*> outputs(fused->outputs().begin(), fused->outputs().end());
  graph.RemoveNode(fused);

  graph.AddNode(kContextOp, kContextDomain, 1, std::move(inputs), std::move(outputs),
                WriteContextAttributes(pending.node), pending.partition->name);
  ++context_nodes_;
}

void ContextGenerator::Assemble(Model model, std::span<const Partition* const> plain,
                                const std::vector<std::string>& plain_providers) {
  for (const PendingNode& pending : pending_) ReplaceByContextNode(pending);
  for (const Partition* partition : plain) {
    plain_nodes_ += partition->graph->node_count();
    DissolvePartition(*partition);
  }
  model.graph->SetOpset(std::string(kContextDomain), 1);
  model.graph->Finalize();
  ForgetContexts(&model.metadata);
  model.metadata.insert(metadata_.begin(), metadata_.end());
  WritePlainProviders(plain_providers, &model.metadata);
  set_->Add({target_, std::move(model), providers_, annotations_});
  for (const std::string& provider : deferring_) set_->MarkDeferred(provider);
  kept_ = true;
}

void ContextGenerator::Publish(const ProgressCallback& on_progress) {
  kept_ = true;
  set_->Publish(on_progress);
  Log(LogLevel::kInfo, "context", "wrote '{}' with {} context nodes and {} plain nodes", target_.model.string(),
      context_nodes_, plain_nodes_);
}

}  // namespace epiphyte::core
