#include "plugins/cpu/provider.h"

#include <algorithm>

#include "plugins/cpu/exec/float_fallback.h"
#include "plugins/cpu/exec/fuse.h"
#include "plugins/cpu/onednn/compat.h"
#include "plugins/cpu/onednn/threading.h"

namespace epiphyte::cpu {
namespace {

bool CpuHasBfloat16() { return EffectiveIsa() == "avx512_core_bf16" || EffectiveIsa() == "avx512_core_amx"; }

AttributeContent ContentOf(const EpAttributeInfo& info) {
  const bool has_ints = info.type == EP_ATTRIBUTE_INT || info.type == EP_ATTRIBUTE_INTS;
  return {info.name, info.type, has_ints ? std::span(info.ints, info.count) : std::span<const int64_t>()};
}

// Why this plugin can't run a node, or "": what VerifyPlan says of it later, too. Describes the node's arguments and
// attributes in memory that is used again for the next one.
class NodeCheck {
 public:
  NodeCheck(const EpHostInfo* host, const KernelRegistry& registry) : host_(host), registry_(registry) {}

  std::string WhyNot(const EpNodeInfo& node) {
    if (node.subgraph_count != 0) return "control flow is run by the host";
    std::string why;
    if (!Describe(node.inputs, node.input_count, &inputs_, &why) ||
        !Describe(node.outputs, node.output_count, &outputs_, &why))
      return why;
    KernelRegistry::Choice choice =
        registry_.Find(node.domain, node.op_type, node.since_version, inputs_, outputs_, &why);
    runs_as_float_ = choice.entry == nullptr;
    if (runs_as_float_)
      choice = FindAsFloat(registry_, node.domain, node.op_type, node.since_version, &inputs_, &outputs_);
    if (choice.entry == nullptr) return why;
    why.clear();
    attributes_.clear();
    for (uint64_t i = 0; i < node.attribute_count; ++i) {
      EpAttributeInfo info = {sizeof info};
      ThrowIfFailed(host_, host_->graph->GetAttributeInfo(node.attributes[i], &info),
                    "an attribute can't be described");
      attributes_.push_back(ContentOf(info));
    }
    MatchAttributes(*choice.signature, attributes_, &why);
    return why;
  }
  // The node that was asked about last has a kernel, but only between casts.
  bool runs_as_float() const { return runs_as_float_; }

 private:
  bool Describe(const EpValueDef* const* values, uint64_t count, std::vector<ArgumentType>* arguments,
                std::string* why) {
    arguments->clear();
    for (uint64_t i = 0; i < count; ++i) {
      ArgumentType& argument = arguments->emplace_back();
      if (values[i] == nullptr) continue;
      EpValueDefInfo info = {sizeof info};
      ThrowIfFailed(host_, host_->graph->GetValueDefInfo(values[i], &info), "a value can't be described");
      if (info.type != nullptr && info.type->kind == EP_KIND_SPARSE_TENSOR) {
        *why = fmt::format("value '{}' is a sparse tensor", info.name);
        return false;
      }
      argument = ToArgument(info);
    }
    return true;
  }

  const EpHostInfo* host_;
  const KernelRegistry& registry_;
  std::vector<ArgumentType> inputs_;
  std::vector<ArgumentType> outputs_;
  std::vector<AttributeContent> attributes_;
  bool runs_as_float_ = false;
};

}  // namespace

Provider::Provider(const Plugin& plugin, const EpProviderConfig& config) : plugin_(plugin) {
  threads_.services = plugin.host->services;
  threads_.pool = config.thread_pool;
  threads_.wanted = EP_HAS_FIELD(&config, EpProviderConfig, thread_count)
                        ? std::max(1u, config.thread_count)
                        : std::max(1u, threads_.services->GetThreadCount(threads_.pool));
  context_enabled_ = config.context_enabled != 0;
  share_ = ShareMembership::Join(plugin.host, config.share_group);
  if (share_.workspace != nullptr) {
    weights_ = share_.workspace->weights();
  } else if (context_enabled_) {
    weights_ = std::make_shared<kit::WeightPool>();
  }
  for (uint32_t i = 0; i < config.option_count; ++i) {
    const std::string_view key = config.options[i].key;
    const std::string_view value = config.options[i].value;
    if (key != "precision") FailOp("option '{}' is not one of the cpu provider; it has 'precision' (f32 or bf16)", key);
    if (value != "f32" && value != "bf16") FailOp("precision '{}' found; f32 or bf16 expected", value);
    bfloat16_ = value == "bf16";
    if (bfloat16_ && !CpuHasBfloat16())
      FailOp("precision bf16 asked for, but this CPU ({}) has no bfloat16 products; use f32", EffectiveIsa());
  }
}

void Provider::GetCapability(const EpGraph* graph, EpCapabilitySink* sink) const {
  const EpHostInfo* host = plugin_.host;
  EpGraphInfo info = {sizeof info};
  ThrowIfFailed(host, host->graph->GetGraphInfo(graph, &info));
  std::vector<const EpNode*> supported;
  NodeCheck check(host, plugin_.registry);
  for (uint64_t i = 0; i < info.node_count; ++i) {
    EpNodeInfo node = {sizeof node};
    ThrowIfFailed(host, host->graph->GetNodeInfo(info.nodes[i], &node));
    if ((node.flags & EP_NODE_PLACED) != 0) continue;
    const std::string why = check.WhyNot(node);
    if (why.empty() && check.runs_as_float()) {
      const std::string told = DescribeFloatFallback(node.op_type, node.name);
      EpClaim claim = {};
      claim.struct_size = sizeof claim;
      claim.nodes = &info.nodes[i];
      claim.node_count = 1;
      claim.name = told.c_str();
      ThrowIfFailed(host, host->capability->Claim(sink, &claim));
    } else if (why.empty()) {
      supported.push_back(info.nodes[i]);
    } else {
      ThrowIfFailed(host, host->capability->DeclineNode(sink, info.nodes[i], why.c_str()));
    }
  }
  if (!supported.empty()) ThrowIfFailed(host, host->capability->SupportNodes(sink, supported.data(), supported.size()));
}

PlanConfig Provider::MakePlanConfig(EpTask* task, const std::string& name) const {
  PlanConfig config;
  config.registry = &plugin_.registry;
  config.threads = threads_;
  config.bfloat16 = bfloat16_;
  config.weights = weights_.get();
  config.progress = [this, task, name](uint64_t done, uint64_t total) {
    if (plugin_.host->task->ReportProgress(task, done, total, name.c_str()) != 0)
      throw OpError(EP_STATUS_MODEL_LOAD_CANCELED, "compiling was cancelled");
  };
  return config;
}

// A workspace outlives its providers, and references of a provider end with it: weights that a group shares are copied.
std::function<std::shared_ptr<void>(const EpValueDef*)> Provider::Retainer(EpTask* task) const {
  if (share_.workspace != nullptr) return {};
  return [host = plugin_.host, task](const EpValueDef* value) {
    EpConstant* constant = nullptr;
    ThrowIfFailed(host, host->task->RetainConstant(task, value, &constant), "a constant can't be retained");
    return std::shared_ptr<void>(constant, [host](EpConstant* reference) { host->task->ReleaseConstant(reference); });
  };
}

void Provider::Compile(std::span<const EpPartitionInfo* const> partitions, EpTask* task, EpKernel** kernels) {
  const OneDnnThreads scope(threads_);
  for (size_t i = 0; i < partitions.size(); ++i) {
    PlanDef def = ImportGraph(plugin_.host, partitions[i]->graph, partitions[i]->name);
    for (const std::string& told : RunInFloat(def, plugin_.registry)) LogWarning(plugin_.host, told);
    Fuse(def, plugin_.registry);
    PlanConfig config = MakePlanConfig(task, partitions[i]->name);
    config.retain = Retainer(task);
    std::shared_ptr<const Plan> plan = Plan::Build(std::move(def), config);
    if (context_enabled_) {
      compiled_.resize(std::max<size_t>(compiled_.size(), partitions[i]->index + size_t{1}));
      compiled_[partitions[i]->index] = plan;
    }
    kernels[i] = reinterpret_cast<EpKernel*>(new CompiledKernel{plugin_.host, std::move(plan), nullptr});
  }
}

void Provider::GetEpContextNodes(EpContextSink* sink) const {
  const EpHostInfo* host = plugin_.host;
  const EpContextApi& api = *host->context;
  const bool writes_group = share_.compiling && share_.last;
  if (compiled_.empty() && !writes_group) return;
  const ContextKey key = ContextKey::Here(threads_.wanted, bfloat16_);
  EpContextWriter* writer = nullptr;
  if (share_.defers_payload()) {
    share_.workspace->AddPlans(CompiledPlans());
  } else {
    writer = WritePayload(sink, key);
  }

  const std::string sdk = "oneDNN " + key.onednn;
  bool first = true;
  for (size_t i = 0; i < compiled_.size(); ++i) {
    if (!compiled_[i]) continue;
    EpContextNodeDesc node = {};
    node.struct_size = sizeof node;
    node.partition = static_cast<uint32_t>(i);
    node.main_context = first ? 1 : 0;
    node.payload = first ? writer : nullptr;
    node.source = kSource;
    node.ep_sdk_version = sdk.c_str();
    node.hardware_architecture = key.isa.c_str();
    ThrowIfFailed(host, api.AddNode(sink, &node));
    first = false;
  }
  ThrowIfFailed(host, api.SetCompatibilityInfo(sink, key.ToText().c_str()));
}

std::vector<std::shared_ptr<const Plan>> Provider::CompiledPlans() const {
  std::vector<std::shared_ptr<const Plan>> plans;
  for (const auto& plan : compiled_)
    if (plan) plans.push_back(plan);
  return plans;
}

EpContextWriter* Provider::WritePayload(EpContextSink* sink, const ContextKey& key) const {
  const EpHostInfo* host = plugin_.host;
  std::vector<std::shared_ptr<const Plan>> plans = CompiledPlans();
  if (share_.compiling) {
    share_.workspace->AddPlans(plans);
    plans = share_.workspace->TakePlans();
  }
  std::vector<const Plan*> pointers;
  for (const auto& plan : plans) pointers.push_back(plan.get());
  EpContextWriter* writer = nullptr;
  ThrowIfFailed(host, host->context->BeginPayload(sink, &writer));
  WriteContext(key, pointers,
               [&](const void* data, uint64_t size) { ThrowIfFailed(host, host->context->Write(writer, data, size)); });
  ThrowIfFailed(host, host->context->EndPayload(writer));
  return writer;
}

std::shared_ptr<const kit::ContextContainer> Provider::Open(const EpContextBlob& blob) const {
  std::shared_ptr<const kit::ContextContainer> context =
      share_.workspace != nullptr ? share_.workspace->Open(blob.data, blob.size) : OpenContext(blob.data, blob.size);
  const kit::ContextVerdict found = ContextKey::Here(threads_.wanted, bfloat16_).Compare(context->key());
  if (found.verdict == EP_CONTEXT_UNSUPPORTED)
    throw OpError(EP_STATUS_INVALID_GRAPH, "the cpu context can't be used here: " + found.reason);
  return context;
}

void Provider::LoadContext(std::span<const EpContextNodeInfo* const> nodes, std::span<const EpContextBlob* const> blobs,
                           EpTask* task, EpKernel** kernels) {
  const EpHostInfo* host = plugin_.host;
  const OneDnnThreads scope(threads_);
  const ContextKey here = ContextKey::Here(threads_.wanted, bfloat16_);
  std::vector<std::shared_ptr<const kit::ContextContainer>> contexts;
  for (const EpContextBlob* blob : blobs) contexts.push_back(Open(*blob));

  for (size_t i = 0; i < nodes.size(); ++i) {
    const EpContextNodeInfo& node = *nodes[i];
    std::string_view name = node.partition_name;
    std::shared_ptr<const kit::ContextContainer> found;
    for (size_t b = 0; b < contexts.size() && found == nullptr; ++b) {
      if (node.blob >= 0 && static_cast<size_t>(node.blob) != b) continue;
      // A node without a name means the only partition that there is.
      if (*node.partition_name == '\0')
        if (const auto names = kit::GraphNames(*contexts[b]); names.size() == 1) name = names[0];
      if (kit::HasGraph(*contexts[b], name)) found = contexts[b];
    }
    if (found == nullptr && *node.partition_name == '\0')
      throw OpError(EP_STATUS_INVALID_GRAPH,
                    "a node has neither partition_name nor a name, and the cpu context holds more than one partition; "
                    "compile the model again");
    if (found == nullptr)
      throw OpError(EP_STATUS_INVALID_GRAPH,
                    fmt::format("the cpu context holds no partition '{}'; the model and its binary don't belong "
                                "together: compile the model again",
                                node.partition_name));
    EpNodeInfo info = {sizeof info};
    ThrowIfFailed(host, host->graph->GetNodeInfo(node.node, &info));
    kit::StoredGraph stored = kit::ReadGraph(*found, name, kit::GraphCheck::kLater);
    if (info.input_count != stored.graph.inputs.size() || info.output_count != stored.graph.outputs.size())
      throw OpError(EP_STATUS_INVALID_GRAPH,
                    fmt::format("partition '{}' has {} inputs and {} outputs in the cpu context, its node has {} and "
                                "{}; compile the model again",
                                node.partition_name, stored.graph.inputs.size(), stored.graph.outputs.size(),
                                info.input_count, info.output_count));
    PlanConfig config = MakePlanConfig(task, node.partition_name);
    config.origin = PlanOrigin::kContext;
    config.packed_is_current = found->key() == here.ToText();
    std::shared_ptr<const Plan> plan = Plan::Build(std::move(stored.graph), config, std::move(stored.packed));
    if (plan->repacked()) {
      std::string reason = here.Compare(found->key()).reason;
      if (reason.empty()) reason = "its weights are in another layout than this session's kernels want";
      LogWarning(host, fmt::format("the context of partition '{}' was converted for this machine: {}",
                                   node.partition_name, reason));
    }
    if (share_.workspace == nullptr) found.reset();
    kernels[i] = reinterpret_cast<EpKernel*>(new CompiledKernel{host, std::move(plan), std::move(found)});
  }
}

void FrameSet::Execute(const CompiledKernel& kernel, EpRun* run) {
  EpRunInfo info = {sizeof info};
  ThrowIfFailed(kernel.host, kernel.host->run->GetInfo(run, &info));
  const Plan& plan = *kernel.plan;
  if (info.input_count != plan.def().inputs.size())
    FailOp("{} inputs given, {} expected", info.input_count, plan.def().inputs.size());
  const OneDnnThreads scope(plan.threads());
  for (size_t i = 0; i < frames_.size(); ++i) {
    if (!frames_[i]->Matches(info)) continue;
    if (i != 0)
      std::rotate(frames_.begin(), frames_.begin() + static_cast<ptrdiff_t>(i),
                  frames_.begin() + static_cast<ptrdiff_t>(i) + 1);
    frames_[0]->Execute(run, info);
    return;
  }
  uint64_t bytes = 0;
  for (const auto& frame : frames_) bytes += frame->memory_bytes();
  while (!frames_.empty() && (frames_.size() >= kMostFrames || bytes > kMostBytes)) {
    bytes -= frames_.back()->memory_bytes();
    frames_.pop_back();
  }
  frames_.insert(frames_.begin(), std::make_unique<Frame>(plan, kernel.host, info));
  frames_[0]->Execute(run, info);
}

}  // namespace epiphyte::cpu
