#include "plugins/cpu/provider.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>

#include "epiphyte/kit/graph/import.hpp"
#include "epiphyte/kit/plugin/stored_partition.hpp"
#include "plugins/cpu/exec/float_fallback.h"
#include "plugins/cpu/exec/fuse.h"
#include "plugins/cpu/exec/own_constants.h"
#include "plugins/cpu/onednn/compat.h"
#include "plugins/cpu/onednn/threading.h"

namespace epiphyte::cpu {
namespace {

AttributeContent ContentOf(const EpAttributeInfo& info) {
  const bool has_ints = info.type == EP_ATTRIBUTE_INT || info.type == EP_ATTRIBUTE_INTS;
  return {info.name, info.type, has_ints ? std::span(info.ints, info.count) : std::span<const int64_t>()};
}

// Checks whether this plugin can run a node, and returns the reason or "". VerifyPlan later gives the same answer.
// Reuses its memory for the arguments and attributes of the next node.
class NodeCheck {
 public:
  explicit NodeCheck(const KernelRegistry& registry) : registry_(registry) {}

  std::string WhyNot(const kit::NodeView& node) {
    if (node.has_subgraphs()) return "control flow is run by the host";
    std::string why;
    inputs_.clear();
    outputs_.clear();
    for (size_t i = 0; i < node.input_count() && why.empty(); ++i) why = Describe(node.input(i), &inputs_);
    for (size_t i = 0; i < node.output_count() && why.empty(); ++i) why = Describe(node.output(i), &outputs_);
    if (!why.empty()) return why;
    KernelRegistry::Choice choice =
        registry_.Find(node.domain(), node.op_type(), node.since_version(), inputs_, outputs_, &why);
    runs_as_float_ = choice.entry == nullptr;
    if (runs_as_float_)
      choice = FindAsFloat(registry_, node.domain(), node.op_type(), node.since_version(), &inputs_, &outputs_);
    if (choice.entry == nullptr) return why;
    why.clear();
    attributes_.clear();
    for (size_t i = 0; i < node.attribute_count(); ++i) attributes_.push_back(ContentOf(node.attribute(i)));
    MatchAttributes(*choice.signature, attributes_, &why);
    return why;
  }
  // True when the last checked node has a kernel only between casts.
  bool runs_as_float() const { return runs_as_float_; }

 private:
  // Returns an error text, or "".
  static std::string Describe(const kit::ValueView& value, std::vector<ArgumentType>* arguments) {
    ArgumentType& argument = arguments->emplace_back();
    if (!value) return {};
    const EpTypeInfo* const type = value.info().type;
    if (type != nullptr && type->kind == EP_KIND_SPARSE_TENSOR)
      return FormatText("value '{}' is a sparse tensor", value.name());
    try {
      argument = ToArgument(ir::ImportValue(value.info()));
    } catch (const kit::Error& error) {
      // the shape inferred from the node's inputs is invalid for any tensor; the host names the node
      return error.what();
    }
    return {};
  }

  const KernelRegistry& registry_;
  std::vector<ArgumentType> inputs_;
  std::vector<ArgumentType> outputs_;
  std::vector<AttributeContent> attributes_;
  bool runs_as_float_ = false;
};

// Reports progress to the application during the warm-up. A kernel may take long even on zeros.
class WarmUpReport {
 public:
  WarmUpReport(const kit::Task& task, std::string_view name) : task_(task), name_(name) {}

  // True after the application has cancelled. [any thread]
  bool IsCancelled() {
    const int64_t now = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::milliseconds(1);
    int64_t next = next_.load(std::memory_order_relaxed);
    if (now < next || !next_.compare_exchange_strong(next, now + kMsBetweenReports)) return task_.IsCancelled();
    try {
      task_.Report(0, 0, name_.c_str());
      return false;
    } catch (const kit::Error&) {
      return true;
    }
  }

 private:
  static constexpr int64_t kMsBetweenReports = 100;
  const kit::Task& task_;
  const std::string name_;
  std::atomic<int64_t> next_{0};
};

void WarmUpKernel(CompiledKernel& kernel, const kit::Task& task, std::string_view name) {
  WarmUpReport report(task, name);
  kernel.WarmUp(task.host(), [&report] { return report.IsCancelled(); });
  task.ThrowIfCancelled();
}

}  // namespace

std::span<const kit::Option> Provider::Options() {
  static constexpr const char* kPrecisions[] = {"f32", "bf16", "int8-dynamic"};
  static constexpr kit::Option kOptions[] = {
      kit::Option::Choice("precision", kPrecisions, "f32",
                          "what products and convolutions are computed in; bf16 is faster where the CPU has it, "
                          "int8-dynamic quantises weights for good and their inputs in each run")};
  return kOptions;
}

Provider::Provider(const KernelRegistry& registry, const kit::ProviderConfig& config)
    : registry_(registry),
      threads_(config.threads()),
      log_(config.log()),
      context_enabled_(config.context_enabled),
      share_(config.host, config.share_group) {
  if (share_) {
    weights_ = share_->weights();
  } else if (context_enabled_) {
    weights_ = std::make_shared<kit::WeightPool>();
  }
  precision_ = kit::OptionValues(Options(), config.options).Text("precision");
  if (precision_ == "bf16" && !HasBfloat16Products())
    FailOp("precision bf16 asked for, but this CPU ({}) has no bfloat16 products; use f32", EffectiveIsa());
}

void Provider::GetCapability(const kit::GraphView& graph, kit::Claims& claims) {
  NodeCheck check(registry_);
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const kit::NodeView node = graph.node(i);
    if (node.placed()) continue;
    const std::string why = check.WhyNot(node);
    if (!why.empty()) {
      claims.Decline(node, why);
    } else if (check.runs_as_float()) {
      claims.Support(node, DescribeFloatFallback(node.op_type(), node.name()));
    } else {
      claims.Support(node);
    }
  }
}

PlanConfig Provider::MakePlanConfig(const kit::Task& task, std::string_view name) const {
  PlanConfig config;
  config.registry = &registry_;
  config.threads = threads_;
  config.bfloat16 = precision_ == "bf16";
  config.weights = weights_.get();
  config.progress = [task, name = std::string(name)](uint64_t done, uint64_t total) {
    task.Report(done, total, name.c_str());
  };
  return config;
}

std::unique_ptr<kit::Kernel> Provider::Compile(const kit::Partition& partition) {
  const OneDnnThreads scope(threads_);
  ir::Graph def = ir::Import(host(), partition.graph.handle(), std::string(partition.name));
  PlanConfig config = MakePlanConfig(partition.task, partition.name);
  // All multiplied numbers of such a model have that format.
  config.bfloat16 = config.bfloat16 || (HasBfloat16Products() && MultipliesOnly(EP_TYPE_BFLOAT16, def, registry_));
  config.split_floats = MultipliesOnly(EP_TYPE_FLOAT16, def, registry_);
  // A progress report makes the host unmap weights that have been read.
  constexpr uint64_t kMadeBetweenReports = uint64_t{16} << 20;
  uint64_t made = 0;
  const auto made_weights = [&](uint64_t bytes) {
    made += bytes;
    if (made < kMadeBetweenReports) return;
    made = 0;
    config.progress(0, def.nodes.size());
  };
  for (const std::string& told : RunInFloat(def, registry_, {threads_, made_weights})) log_.Warning(told);
  Fuse(def, registry_, made_weights, precision_ == "int8-dynamic");
  // Weights of a share group are copied: the group's workspace outlives its providers, and a provider's references end
  // with the provider.
  if (!share_) config.retain = [&](ir::Constant& constant) { ir::Retain(host(), partition.task.handle(), constant); };
  config.drop = [&](ir::Constant& constant) { ir::Drop(host(), partition.task.handle(), constant); };
  std::shared_ptr<const Plan> plan = Plan::Build(std::move(def), config);
  if (context_enabled_) {
    compiled_.resize(std::max<size_t>(compiled_.size(), partition.index + size_t{1}));
    compiled_[partition.index] = plan;
  }
  auto kernel = std::make_unique<CompiledKernel>(std::move(plan));
  // A session that writes a context may never run it.
  if (!context_enabled_) WarmUpKernel(*kernel, partition.task, partition.name);
  return kernel;
}

void Provider::SaveContexts(kit::ContextSink& sink) {
  const kit::ShareMembership& membership = share_.membership();
  const bool writes_group = membership.compiling && membership.last;
  if (compiled_.empty() && !writes_group) return;
  const ContextKey key = ContextKey::Here(threads_.wanted, precision_);
  kit::ContextNode node;
  std::optional<kit::ContextWriter> payload;
  if (sink.defers_payload()) {
    share_->AddPlans(CompiledPlans());
  } else {
    payload = WritePayload(sink, key);
    node.payload = &*payload;
  }
  node.sdk_version = "oneDNN " + key.onednn;
  node.hardware = key.isa;
  for (const kit::SavedPartition& partition : sink.partitions()) {
    node.partition = partition.index;
    sink.AddNode(node);
  }
  sink.SetCompatibilityInfo(key.ToText());
}

std::vector<std::shared_ptr<const Plan>> Provider::CompiledPlans() const {
  std::vector<std::shared_ptr<const Plan>> plans;
  for (const auto& plan : compiled_)
    if (plan) plans.push_back(plan);
  return plans;
}

kit::ContextWriter Provider::WritePayload(kit::ContextSink& sink, const ContextKey& key) const {
  std::vector<std::shared_ptr<const Plan>> plans = CompiledPlans();
  if (share_.membership().compiling) {
    share_->AddPlans(plans);
    plans = share_->TakePlans();
  }
  std::vector<const Plan*> pointers;
  for (const auto& plan : plans) pointers.push_back(plan.get());
  kit::ContextWriter payload = sink.BeginPayload();
  WriteContext(key, pointers, [&](const void* data, uint64_t size) { payload.Write(data, size); });
  payload.End();
  return payload;
}

Provider::Container Provider::Open(std::span<const std::byte> payload, const ContextKey& here) const {
  Container context =
      share_ ? share_->Open(payload.data(), payload.size()) : OpenContext(payload.data(), payload.size());
  const kit::ContextVerdict found = here.Compare(context->key());
  if (found.verdict == EP_CONTEXT_UNSUPPORTED)
    throw kit::Error(EP_STATUS_INVALID_GRAPH, "the cpu context can't be used here: " + found.reason);
  return context;
}

void Provider::LoadContexts(kit::ContextLoading& loading) {
  const OneDnnThreads scope(threads_);
  const ContextKey here = ContextKey::Here(threads_.wanted, precision_);
  std::vector<Container> contexts;
  for (const std::span<const std::byte> payload : loading.payloads()) contexts.push_back(Open(payload, here));
  for (size_t i = 0; i < loading.size(); ++i) loading.SetKernel(i, Load(loading, i, contexts, here));
}

std::unique_ptr<kit::Kernel> Provider::Load(const kit::ContextLoading& loading, size_t node,
                                            const std::vector<Container>& contexts, const ContextKey& here) const {
  kit::StoredPartition found = kit::ReadPartition(loading, node, contexts, kit::GraphCheck::kLater);
  PlanConfig config = MakePlanConfig(loading.task().Part(node, loading.size()), found.name);
  config.origin = PlanOrigin::kContext;
  config.packed_is_current = found.context->key() == here.ToText();
  OwnConstants(*found.context, &found.stored);
  std::shared_ptr<const Plan> plan = Plan::Build(std::move(found.stored.graph), config, std::move(found.stored.packed));
  if (plan->repacked()) {
    std::string reason = here.Compare(found.context->key()).reason;
    if (reason.empty()) reason = "its weights are in another layout than this session's kernels want";
    log_.Warning(FormatText("the context of partition '{}' was converted for this machine: {}", found.name, reason));
  }
  if (!share_) found.context.reset();
  const std::string name = found.name;
  auto kernel = std::make_unique<CompiledKernel>(std::move(plan), std::move(found.context));
  WarmUpKernel(*kernel, loading.task(), name);
  return kernel;
}

std::unique_ptr<FrameSet> CompiledKernel::MakeState() const {
  const std::lock_guard lock(warmed_up_mutex_);
  return std::make_unique<FrameSet>(std::move(warmed_up_));
}

void FrameSet::Execute(const Plan& plan, const kit::Run& run) {
  const EpRunInfo& info = run.info();
  if (info.input_count != plan.def().inputs.size())
    FailOp("{} inputs given, {} expected", info.input_count, plan.def().inputs.size());
  const OneDnnThreads scope(plan.threads());
  for (size_t i = 0; i < frames_.size(); ++i) {
    if (!frames_[i]->Matches(info)) continue;
    if (i != 0)
      std::rotate(frames_.begin(), frames_.begin() + static_cast<ptrdiff_t>(i),
                  frames_.begin() + static_cast<ptrdiff_t>(i) + 1);
    frames_[0]->Execute(run);
    return;
  }
  // Discards warmed-up frames with a guessed shape.
  std::erase_if(frames_, [](const std::unique_ptr<Frame>& frame) { return frame->is_warmup(); });
  uint64_t bytes = 0;
  for (const auto& frame : frames_) bytes += frame->memory_bytes();
  while (!frames_.empty() && (frames_.size() >= kMostFrames || bytes > kMostBytes)) {
    bytes -= frames_.back()->memory_bytes();
    frames_.pop_back();
  }
  frames_.insert(frames_.begin(), std::make_unique<Frame>(plan, run));
  frames_[0]->Execute(run);
}

}  // namespace epiphyte::cpu
