#include "plugins/vulkan/provider.h"

#include <algorithm>
#include <map>
#include <optional>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/graph/import.hpp"
#include "epiphyte/kit/plugin/stored_partition.hpp"
#include "plugins/vulkan/exec/claims.h"
#include "plugins/vulkan/exec/device_options.h"
#include "plugins/vulkan/exec/explain.h"
#include "plugins/vulkan/exec/fuse.h"

namespace epiphyte::vulkan {

std::span<const kit::Option> Provider::Options() {
  static constexpr kit::Option kOptions[] = {
      kit::Option::String("use", "",
                          "the device by its UUID, its type (discrete, integrated, virtual, software) or part of its "
                          "name, instead of by its number"),
      kit::Option::String("disable", "",
                          "capabilities of the device that are not used: storage16, storage8, int64, fp16, int8, "
                          "dot_product, subgroup, shared_memory, coopmat; or all. The parameter of that name in the "
                          "manifest is for all sessions, and has timeline, too"),
      kit::Option::String(
          "prefer", "",
          "capabilities that kernels use wherever they can, also where the device does better without, "
          "as a software device without subgroup, shared_memory and coopmat: to compare and to test; or "
          "all. What 'disable' names stays off"),
      kit::Option::Int("memory_limit", 0,
                       "MiB of the device's memory that the session's weights and intermediate values may use; 0: all. "
                       "For its inputs and outputs there is session.max_device_bytes",
                       0, int64_t{1} << 30),
  };
  return kOptions;
}

Provider::Provider(const OperatorTable& operators, Instance& instance, DevicePool& devices,
                   const DeviceMemories& memories, const kit::ProviderConfig& config)
    : operators_(operators),
      threads_(config.threads()),
      log_(config.log()),
      context_enabled_(config.context_enabled),
      share_(config.host, config.share_group),
      memories_(memories) {
  const kit::OptionValues options(Options(), config.options);
  index_ = DevicesToUse(instance.devices(), options.Text("use"), config.devices).at(0);
  capabilities_ = instance.devices().at(index_).capabilities;
  Disable(options.Text("disable"), &capabilities_);
  Prefer(options.Text("prefer"), &capabilities_);
  CheckDisabled(options.Text("disable"));
  device_ = devices.Get(index_);
  // A kernel may only name a device that the session listed.
  if (std::ranges::find(config.devices, index_) != config.devices.end()) device_runs_ = kit::DeviceRuns(config.host);
  if (const int64_t mib = options.Int("memory_limit"); mib > 0)
    limit_ = std::make_shared<MemoryLimit>(static_cast<uint64_t>(mib) << 20);
}

void Provider::GetCapability(const kit::GraphView& graph, kit::Claims& claims) {
  const ir::Graph imported = ir::Import(host(), graph.handle(), std::string(graph.name()));
  std::map<const EpNode*, bool> placed;
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const kit::NodeView node = graph.node(i);
    placed.emplace(node.handle(), node.placed());
  }
  std::vector<bool> taken;
  for (const ir::Node& node : imported.nodes) taken.push_back(placed[node.handle]);
  const std::vector<NodeClaim> found = ClaimNodes(imported, taken, operators_, capabilities_);
  for (size_t n = 0; n < found.size(); ++n) {
    if (taken[n]) continue;
    if (found[n].claimed) {
      claims.Support(imported.nodes[n].handle);
    } else {
      claims.Decline(imported.nodes[n].handle, found[n].why_not);
    }
  }
}

void Provider::Explain(std::string_view partition, const kit::GraphView& graph, kit::Explanation& explanation) {
  const ir::Graph imported = ir::Import(host(), graph.handle(), std::string(partition));
  CompileConfig config;
  config.operators = &operators_;
  config.device = device_;
  config.capabilities = capabilities_;
  const std::vector<std::string> notes = ExplainNodes(imported, config);
  for (size_t n = 0; n < notes.size(); ++n) explanation.Note(imported.nodes[n].handle, notes[n]);
}

CompileConfig Provider::MakeConfig(const kit::Task& task, std::string_view name) const {
  CompileConfig config;
  config.operators = &operators_;
  config.device = device_;
  config.limit = limit_;
  config.capabilities = capabilities_;
  if (share_) config.constants = share_->constants();
  config.progress = [task, name = std::string(name)](uint64_t done, uint64_t total) {
    task.Report(done, total, name.c_str());
  };
  return config;
}

std::unique_ptr<kit::Kernel> Provider::Compile(const kit::Partition& partition) {
  ir::Graph graph = ir::Import(host(), partition.graph.handle(), std::string(partition.name));
  CompileConfig config = MakeConfig(partition.task, partition.name);
  // The host unmaps the model's weights that have been read each time progress is reported.
  constexpr uint64_t kMadeBetweenReports = uint64_t{16} << 20;
  uint64_t made = 0;
  Fuse(graph, operators_, capabilities_, [&](uint64_t bytes) {
    made += bytes;
    if (made < kMadeBetweenReports) return;
    made = 0;
    config.progress(0, graph.nodes.size());
  });
  // Weights that a share group shares are copied. The group's workspace outlives its providers, but a constant that a
  // provider retains ends with the provider.
  if (!share_) config.retain = [&](ir::Constant& constant) { ir::Retain(host(), partition.task.handle(), constant); };
  config.drop = [&](ir::Constant& constant) { ir::Drop(host(), partition.task.handle(), constant); };
  std::shared_ptr<CompiledGraph> compiled;
  try {
    compiled = CompiledGraph::Build(std::move(graph), config);
  } catch (const kit::Error& error) {
    if (error.code() == EP_STATUS_NOT_IMPLEMENTED) throw kit::Declined(error.what());
    throw;
  }
  if (context_enabled_) {
    compiled_.resize(std::max<size_t>(compiled_.size(), partition.index + size_t{1}));
    compiled_[partition.index] = compiled;
  }
  return MakeKernel(std::move(compiled));
}

std::unique_ptr<kit::Kernel> Provider::MakeKernel(std::shared_ptr<CompiledGraph> graph,
                                                  std::shared_ptr<const kit::ContextContainer> context) const {
  return std::make_unique<CompiledKernel>(device_runs_, index_, memories_.SetOf(index_), std::move(graph), threads_,
                                          std::move(context));
}

CompiledKernel::CompiledKernel(const kit::DeviceRuns& device_runs, uint32_t device, uint32_t memories,
                               std::shared_ptr<CompiledGraph> graph, const kit::Threads& threads,
                               std::shared_ptr<const kit::ContextContainer> context)
    : context_(std::move(context)),
      graph_(std::move(graph)),
      threads_(threads),
      prepared_(*graph_, threads_),
      device_runs_(device_runs),
      device_(device) {
  for (const bool read : graph_->reads_inputs()) input_memories_.push_back(read ? EP_MEMORIES_HOST : memories);
  for (const bool known : graph_->known_outputs()) output_memories_.push_back(known ? EP_MEMORIES_HOST : memories);
}

void CompiledKernel::Describe(EpKernelInfo* info) const {
  if (!device_runs_) return;
  info->flags |= EP_KERNEL_ASYNC;
  info->device = device_;
  info->input_count = static_cast<uint32_t>(input_memories_.size());
  info->input_memories = input_memories_.data();
  info->output_count = static_cast<uint32_t>(output_memories_.size());
  info->output_memories = output_memories_.data();
  info->output_aliases = graph_->in_place().data();
}

void CompiledKernel::Execute(const kit::Run& run, ReplaySet& replays) {
  replays.Execute(*graph_, run, device_runs_, threads_, prepared_);
}

kit::CompatibilityKey Provider::Key() const {
  return ContextKey(device_->info(), capabilities_, device_->kernels().digest());
}

std::vector<std::shared_ptr<CompiledGraph>> Provider::CompiledGraphs() const {
  std::vector<std::shared_ptr<CompiledGraph>> graphs;
  for (const auto& graph : compiled_)
    if (graph != nullptr) graphs.push_back(graph);
  return graphs;
}

void Provider::SaveContexts(kit::ContextSink& sink) {
  const kit::ShareMembership& membership = share_.membership();
  const bool writes_group = membership.compiling && membership.last;
  if (compiled_.empty() && !writes_group) return;
  kit::ContextNode node;
  std::optional<kit::ContextWriter> payload;
  if (sink.defers_payload()) {
    share_->AddGraphs(CompiledGraphs());
  } else {
    payload = WritePayload(sink);
    node.payload = &*payload;
  }
  node.sdk_version = "Vulkan " + VersionText(device_->info().api_version);
  node.hardware = device_->info().name;
  for (const kit::SavedPartition& partition : sink.partitions()) {
    node.partition = partition.index;
    sink.AddNode(node);
  }
  sink.SetCompatibilityInfo(Key().ToText());
}

kit::ContextWriter Provider::WritePayload(kit::ContextSink& sink) const {
  std::vector<std::shared_ptr<CompiledGraph>> graphs = CompiledGraphs();
  if (share_.membership().compiling) {
    share_->AddGraphs(graphs);
    graphs = share_->TakeGraphs();
  }
  std::vector<const CompiledGraph*> pointers;
  for (const auto& graph : graphs) pointers.push_back(graph.get());
  kit::ContextWriter payload = sink.BeginPayload();
  WriteContext(Key(), pointers, device_->PipelineCacheData(),
               [&](const void* data, uint64_t size) { payload.Write(data, size); });
  payload.End();
  return payload;
}

Provider::Container Provider::Open(std::span<const std::byte> payload) const {
  Container context = OpenContext(payload);
  const kit::ContextVerdict found = Key().Compare(context->key());
  if (found.verdict == EP_CONTEXT_UNSUPPORTED)
    throw kit::Error(EP_STATUS_INVALID_GRAPH, "the vulkan context can't be used here: " + found.reason);
  std::string why_not = found.reason;
  // This is a private copy, so the bytes can't change between the driver's check and its use of them.
  const kit::OwnSection pipelines = PipelinesOf(*context);
  if (why_not.empty() && !pipelines.bytes.empty()) why_not = device_->UsePipelineCacheData(pipelines.bytes);
  if (!why_not.empty()) log_.Info("the pipelines of the vulkan context are built again: " + why_not);
  return context;
}

void Provider::LoadContexts(kit::ContextLoading& loading) {
  std::vector<Container> contexts;
  for (const std::span<const std::byte> payload : loading.payloads()) contexts.push_back(Open(payload));
  for (size_t i = 0; i < loading.size(); ++i) loading.SetKernel(i, Load(loading, i, contexts));
}

std::unique_ptr<kit::Kernel> Provider::Load(const kit::ContextLoading& loading, size_t node,
                                            const std::vector<Container>& contexts) const {
  kit::StoredPartition found = kit::ReadPartition(loading, node, contexts, kit::GraphCheck::kLater);
  const CompileConfig config = MakeConfig(loading.task().Part(node, loading.size()), found.name);
  std::shared_ptr<CompiledGraph> compiled = CompiledGraph::Build(std::move(found.stored.graph), config,
                                                                 GraphOrigin::kContext, std::move(found.stored.packed));
  return MakeKernel(std::move(compiled), std::move(found.context));
}

}  // namespace epiphyte::vulkan
