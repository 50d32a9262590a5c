#include "plugins/npu/provider.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/container/key.hpp"
#include "epiphyte/kit/graph/import.hpp"
#include "epiphyte/kit/qdq/unshare.hpp"
#include "epiphyte/kit/shape/element_type.hpp"
#include "plugins/npu/exec/claims.h"
#include "plugins/npu/exec/explain.h"
#include "plugins/npu/graph/lower.h"
#include "plugins/npu/options.h"

namespace epiphyte::npu {
namespace {

std::string KeyOf(const Sdk& sdk, uint32_t device, const SdkOptions& options) {
  std::string key = sdk.path() + '\n' + std::to_string(device);
  for (const auto& [name, value] : options) key += '\n' + name + '=' + value;
  return key;
}

uint64_t ScratchOf(const Sdk& sdk, std::span<const std::byte> blob) {
  uint64_t most = 0;
  for (const BlobGraph& graph : ReadBlobInfo(sdk, blob).graphs) most = std::max(most, graph.scratch_bytes);
  return most;
}

kit::CompatibilityKey BaseKey(const SdkContext& context) {
  kit::CompatibilityKey key;
  key.Require("sdk", context.sdk().version().name, "SDK {}");
  key.Require("architecture", context.target().architecture, "architecture {}");
  return key;
}

// Compares a graph's ports with the EPContext node, because the host passes values with the node's types and shapes.
void CheckPorts(const std::vector<Port>& ports, size_t count, bool inputs, const kit::NodeView& node,
                std::string_view graph) {
  const char* const what = inputs ? "input" : "output";
  if (ports.size() != count)
    kit::FailWith(EP_STATUS_INVALID_GRAPH, "graph '", graph, "' of the NPU's blob has ", ports.size(), " ", what,
                  "s, its EPContext node ", count, "; the two don't belong together: compile the model again");
  for (size_t i = 0; i < count; ++i) {
    const kit::ValueView value = inputs ? node.input(i) : node.output(i);
    if (!value) kit::FailWith(EP_STATUS_INVALID_GRAPH, what, " ", i, " of the EPContext node is left out");
    const ir::Value info = ir::ImportValue(value.info());
    bool same = info.type == EP_TYPE_UNDEFINED || info.type == ports[i].type;
    same = same && (info.rank < 0 || info.dims.size() == ports[i].dims.size());
    for (size_t d = 0; same && info.rank >= 0 && d < info.dims.size(); ++d)
      same = info.dims[d] < 0 || info.dims[d] == ports[i].dims[d];
    if (!same)
      kit::FailWith(EP_STATUS_INVALID_GRAPH, what, " '", info.name, "' of the EPContext node is ",
                    kit::TypeName(info.type), kit::ShapeText(info.dims), ", in the NPU's blob it is ",
                    kit::TypeName(ports[i].type), kit::ShapeText(ports[i].dims),
                    "; the two don't belong together: compile the model again");
  }
}

}  // namespace

std::string CompatibilityInfo(const SdkContext& context) {
  kit::CompatibilityKey key = BaseKey(context);
  key.Require("blob", std::to_string(context.sdk().version().blob_written), "blobs of version {}");
  return key.ToText();
}

kit::ContextVerdict JudgeCompatibility(const SdkContext& context, std::string_view info) {
  const std::optional<std::string> blob = kit::FieldOfKey(info, "blob");
  if (!blob) return kit::ContextVerdict::NotApplicable("nothing says what it was compiled for");
  kit::ContextVerdict verdict = BaseKey(context).Compare(info);
  const SdkVersion& version = context.sdk().version();
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(blob->data(), blob->data() + blob->size(), number);
  if (error != std::errc() || end != blob->data() + blob->size() || number < version.blob_min ||
      number > version.blob_max)
    verdict.Worsen(kit::ContextVerdict::Unsupported(
        kit::TextOf("its blob is of version ", *blob, "; ", context.sdk().Title(), " reads ", version.blob_min, " to ",
                    version.blob_max, ": compile the model again, or use the SDK that made it")));
  return verdict;
}

uint32_t Provider::DeviceOf(const Sdk& sdk, const kit::ProviderConfig& config) {
  const std::vector<SdkDevice> devices = sdk.ListDevices();
  const uint32_t index = config.devices.empty() ? 0 : config.devices[0];
  if (devices.empty()) return NSDK_WITHOUT_DEVICE;
  if (index >= devices.size())
    kit::FailArgument("device ", index, " asked for; the SDK '", sdk.path(), "' has ", devices.size());
  return devices[index].id;
}

Provider::Provider(SdkCache& shelf, const kit::ProviderConfig& config)
    : log_(config.log()),
      context_enabled_(config.context_enabled),
      shares_scratch_(kit::OptionValues(DeclaredOptions(), config.options).Bool("share_scratch")),
      share_(config.host, config.share_group),
      sdk_(shelf.Open(kit::OptionValues(DeclaredOptions(), config.options).Text("sdk"))),
      device_(DeviceOf(*sdk_, config)) {
  const SdkOptions options = OptionsOfSdk(config.options);
  key_ = KeyOf(*sdk_, device_, options);
  const auto make = [&] { return std::make_shared<const SdkContext>(sdk_, device_, options, log_); };
  context_ = share_ ? share_->Context(key_, make) : make();
  if (shares_scratch_ && !sdk_->Can(NSDK_CAN_GROUP))
    kit::FailArgument("option 'share_scratch' is on, and the SDK '", sdk_->path(), "' has no groups that share");
}

void Provider::GetCapability(const kit::GraphView& graph, kit::Claims& claims) {
  if (sdk_->Can(NSDK_CAN_COMPILE)) {
    ClaimNodes(host(), *context_, graph, claims);
    return;
  }
  for (const kit::NodeView& node : graph.nodes())
    if (!node.placed())
      claims.Decline(node,
                     "the SDK '" + sdk_->path() + "' compiles nothing; it runs contexts that were compiled elsewhere");
}

void Provider::Explain(std::string_view partition, const kit::GraphView& graph, kit::Explanation& explanation) {
  ir::Graph imported = ir::Import(host(), graph.handle(), std::string(partition));
  const std::vector<std::string> notes = ExplainNodes(*context_, imported);
  for (size_t n = 0; n < notes.size(); ++n)
    if (imported.nodes[n].handle != nullptr) explanation.Note(imported.nodes[n].handle, notes[n]);
}

ProgramOptions Provider::MakeProgramOptions() {
  ProgramOptions options;
  if (!sdk_->Can(NSDK_CAN_GROUP)) return options;
  if (share_) options.weights = share_->GroupOf(key_, NSDK_SHARE_WEIGHTS);
  if (shares_scratch_)
    options.scratch = share_ ? share_->GroupOf(key_, NSDK_SHARE_SCRATCH)
                             : std::make_shared<const Group>(context_, NSDK_SHARE_SCRATCH);
  return options;
}

std::unique_ptr<kit::Kernel> Provider::Compile(const kit::Partition& partition) {
  ir::Graph graph = ir::Import(host(), partition.graph.handle(), std::string(partition.name));
  std::shared_ptr<const NpuPartition> compiled = CompilePartition(context_, graph, partition.task);
  if (context_enabled_) {
    compiled_.resize(std::max<size_t>(compiled_.size(), partition.index + size_t{1}));
    compiled_[partition.index] = compiled;
  }
  const ProgramOptions options = MakeProgramOptions();
  const auto load = [context = context_, compiled, options]() -> LoadedGraph {
    if (context->device() == NSDK_WITHOUT_DEVICE)
      throw kit::Error(EP_STATUS_NOT_FOUND, "the NPU '" + context->target().architecture +
                                                "' isn't here: the session can compile for it, and run nothing");
    LoadedGraph loaded;
    loaded.blob = std::make_shared<const std::vector<std::byte>>(BlobOf({compiled}));
    loaded.program = std::make_shared<const Program>(context, *loaded.blob, options);
    return loaded;
  };
  auto lazy = std::make_shared<LazyGraph>(load);
  // A session that compiles in order to save the context seldom runs it.
  if (!context_enabled_ && device_ != NSDK_WITHOUT_DEVICE) {
    try {
      lazy->Get();
    } catch (const kit::Error& error) {
      GiveBack(error);
      throw;
    }
  }
  return std::make_unique<NpuKernel>(compiled->name, compiled->inputs, compiled->outputs, std::move(lazy),
                                     options.scratch != nullptr);
}

void Provider::SaveContexts(kit::ContextSink& sink) {
  Partitions all;
  for (const kit::SavedPartition& partition : sink.partitions()) all.push_back(compiled_.at(partition.index));
  const kit::ShareMembership& membership = share_.membership();
  const bool writes_group = membership.compiling && membership.last;
  if (all.empty() && !writes_group) return;
  const bool writes = !sink.defers_payload();
  kit::ContextNode node;
  if (!all.empty() && !writes) node.max_size = static_cast<int64_t>(ScratchOf(*sdk_, BlobOf(all)));
  if (membership.compiling) share_->Add(all);
  if (writes_group) all = share_->Take();
  std::optional<kit::ContextWriter> payload;
  if (writes && !all.empty()) {
    payload = sink.BeginPayload();
    const std::vector<std::byte> blob = BlobOf(all);
    node.max_size = static_cast<int64_t>(ScratchOf(*sdk_, blob));
    payload->Write(blob.data(), blob.size());
    payload->End();
    node.payload = &*payload;
  }
  node.sdk_version = sdk_->Title();
  node.hardware = context_->target().architecture;
  for (const kit::SavedPartition& partition : sink.partitions()) {
    node.partition = partition.index;
    sink.AddNode(node);
  }
  sink.SetCompatibilityInfo(CompatibilityInfo(*context_));
}

// CheckContext has judged what can be judged without the blob. A host that wants to know whether the blob is optimal
// has had it checked there. So the blob is checked here only if loading it fails.
std::shared_ptr<const Program> Provider::Load(std::span<const std::byte> payload, const ProgramOptions& options) const {
  try {
    return std::make_shared<const Program>(context_, payload, options);
  } catch (const kit::Error& error) {
    if (error.code() != EP_STATUS_INVALID_GRAPH) throw;
    const kit::ContextVerdict found = context_->Check(payload);
    if (found.verdict != EP_CONTEXT_UNSUPPORTED) throw;
    throw kit::Error(EP_STATUS_INVALID_GRAPH, "the npu context can't be used here: " + found.reason);
  }
}

void Provider::LoadContexts(kit::ContextLoading& loading) {
  const ProgramOptions options = MakeProgramOptions();
  std::vector<std::shared_ptr<const Program>> programs(loading.payloads().size());
  for (size_t i = 0; i < loading.size(); ++i) {
    loading.task().Report(i, loading.size());
    std::string_view name = loading.node(i).partition_name();
    std::shared_ptr<const Program> program = loading.FirstThatHas(i, [&](std::span<const std::byte> payload) {
      const auto place = std::ranges::find(loading.payloads(), payload.data(), &std::span<const std::byte>::data);
      auto& loaded = programs[static_cast<size_t>(place - loading.payloads().begin())];
      if (loaded == nullptr) loaded = Load(payload, options);
      if (loaded->info().Find(name) < 0 && name.empty())
        kit::FailWith(EP_STATUS_INVALID_GRAPH, "a node has neither partition_name nor a name, and the NPU's blob has ",
                      loaded->info().graphs.size(), " graphs; give the node the partition_name of one of them");
      if (loaded->info().Find(name) < 0)
        kit::FailWith(EP_STATUS_INVALID_GRAPH, "the NPU's blob has no graph '", name,
                      "'; the model and its context don't belong together: compile the model again");
      return loaded;
    });
    loading.SetKernel(i, MakeKernel(loading.node(i), std::move(program)));
  }
}

std::unique_ptr<kit::Kernel> Provider::MakeKernel(const kit::ContextNodeView& node,
                                                  std::shared_ptr<const Program> program) const {
  const auto number = static_cast<uint32_t>(program->info().Find(node.partition_name()));
  const BlobGraph& graph = program->info().graphs[number];
  CheckPorts(graph.inputs, node.node().input_count(), true, node.node(), graph.name);
  CheckPorts(graph.outputs, node.node().output_count(), false, node.node(), graph.name);
  const bool is_exclusive = program->is_exclusive();
  auto lazy = std::make_shared<LazyGraph>([program = std::move(program), number] {
    return LoadedGraph{program, number, nullptr};
  });
  return std::make_unique<NpuKernel>(graph.name, graph.inputs, graph.outputs, std::move(lazy), is_exclusive);
}

}  // namespace epiphyte::npu
