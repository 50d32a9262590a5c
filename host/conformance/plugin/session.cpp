#include "host/conformance/plugin/session.h"

#include <algorithm>
#include <exception>
#include <set>

#include "host/conformance/plugin/lent_partitions.h"

namespace epiphyte::conformance {
namespace {

// Describes the failure of a call, with the operators of the graphs that were its subject.
std::string DescribeFor(const DebugHost::Failure& failure, std::span<const GraphSpec> graphs) {
  return "for " + OperatorsIn(graphs) + ": " + conformance::Describe(failure);
}

// Kernels and states that the host has not released.
struct Owned {
  std::mutex mutex;
  std::set<const void*> kernels;
  std::set<const void*> states;
};
Owned& AllOwned() {
  static auto* owned = new Owned();
  return *owned;
}

constexpr uint32_t kDevice = 0;  // the device that each provider uses

// A configuration in memory that is unmapped after the call.
class LentConfig {
 public:
  LentConfig(const std::map<std::string, std::string>& options, EpThreadPool* pool, const Session::Setup& setup)
      : arena_(RoomFor(options), {"the provider's configuration", Rule::kConfigIsNotKept, Rule::kConfigIsNotKept,
                                  Rule::kConfigIsNotKept}) {
    auto* pairs = arena_.New<EpKeyValue>(options.size());
    size_t i = 0;
    for (const auto& [key, value] : options) pairs[i++] = {arena_.Copy(key), arena_.Copy(value)};
    auto* devices = arena_.New<uint32_t>(1);
    *devices = kDevice;
    config_ = arena_.New<EpProviderConfig>();
    config_->struct_size = sizeof(EpProviderConfig);
    config_->options = options.empty() ? nullptr : pairs;
    config_->option_count = static_cast<uint32_t>(options.size());
    config_->thread_pool = pool;
    config_->share_group = setup.share == nullptr ? nullptr : setup.share->handle();
    config_->devices = devices;
    config_->device_count = 1;
    config_->context_enabled = setup.context_enabled ? 1 : 0;
    config_->thread_count = DebugHost::kThreads;
    arena_.Lend();
  }
  const EpProviderConfig* get() const { return config_; }

 private:
  static size_t RoomFor(const std::map<std::string, std::string>& options) {
    size_t room = 16 << 10;
    for (const auto& [key, value] : options) room += sizeof(EpKeyValue) + key.size() + value.size() + 2;
    return room;
  }

  Arena arena_;
  EpProviderConfig* config_;
};

std::map<std::string, std::string> WithManifest(const Plugin& plugin, const std::map<std::string, std::string>& more) {
  std::map<std::string, std::string> options = more;
  for (const auto& [key, value] : plugin.library().target().options) {
    if (key != "device") options.emplace(key, value);
  }
  return options;
}

}  // namespace

Plugin::Plugin(PluginLibrary& library, const EpPluginDescriptor* descriptor, const EpHostInfo* info)
    : library_(library), descriptor_(descriptor), exceptions_(std::uncaught_exceptions()) {
  const DebugHost::Failure failure = CallPlugin(host(), Rule::kInitializeKeepsExceptions, "Initialize", [&] {
    return descriptor_->Initialize(info, library_.environment(), &plugin_);
  });
  host().journal().Pass(Rule::kInitializeKeepsExceptions);
  // If another plugin object is in use, its presence counts as the cause of the failure.
  if (failure)
    EndWith(host(), alive_ == 0 ? Rule::kInitializeWorks : Rule::kTwoHostsSideBySide, conformance::Describe(failure));
  host().journal().Pass(Rule::kInitializeWorks);
  ++alive_;
}

Plugin::~Plugin() noexcept(false) {
  if (std::uncaught_exceptions() > exceptions_) return;  // the process ends
  Close();
}

void Plugin::Close() {
  if (closed_) return;
  closed_ = true;
  --alive_;
  devices_.reset();
  CallRelease(host(), "Shutdown", [&] { descriptor_->Shutdown(plugin_); });
}

PluginDevices* Plugin::devices() {
  if (has_asked_for_devices_ || descriptor_->GetExtension == nullptr) return devices_.get();
  has_asked_for_devices_ = true;
  const void* table = nullptr;
  CallPlugin(host(), Rule::kExtensionsByName, "GetExtension", [&]() -> EpStatus* {
    table = descriptor_->GetExtension(plugin_, EP_DEVICE_EXTENSION);
    return nullptr;
  });
  if (table != nullptr)
    devices_ = std::make_unique<PluginDevices>(host(), static_cast<const EpDeviceApi*>(table), plugin_);
  return devices_.get();
}

std::vector<std::string> Plugin::sources() const {
  return {descriptor_->sources, descriptor_->sources + descriptor_->source_count};
}

std::vector<const EpDeviceInfo*> Plugin::Devices() {
  constexpr uint32_t kMaxDevices = 4096;
  uint32_t count = UINT32_MAX;
  const auto ask = [&](std::vector<const EpDeviceInfo*>& devices, uint32_t capacity) {
    const DebugHost::Failure failure = CallPlugin(host(), Rule::kGetDevicesKeepsExceptions, "GetDevices", [&] {
      return descriptor_->GetDevices(plugin_, capacity == 0 ? nullptr : devices.data(), capacity, &count);
    });
    host().journal().Pass(Rule::kGetDevicesKeepsExceptions);
    if (failure) EndWith(host(), Rule::kGetDevicesWorks, conformance::Describe(failure));
    Demand(host(), count <= kMaxDevices, Rule::kGetDevicesWorks,
           "GetDevices counts " + std::to_string(count) + " devices, at most " + std::to_string(kMaxDevices) +
               " are allowed");
  };
  std::vector<const EpDeviceInfo*> devices;
  ask(devices, 0);
  host().journal().Pass(Rule::kGetDevicesWorks);
  Demand(host(), count != 0, Rule::kThereIsADevice, "GetDevices counts no device");
  host().journal().Pass(Rule::kThereIsADevice);
  const uint32_t room = count;
  const auto* untouched = reinterpret_cast<const EpDeviceInfo*>(&devices);
  devices.assign(room + 1, untouched);
  ask(devices, room);
  Demand(host(), devices[room] == untouched, Rule::kDevicesFitTheRoom,
         "GetDevices filled more than " + std::to_string(room) + " entries");
  host().journal().Pass(Rule::kDevicesFitTheRoom);
  devices.resize(std::min(room, count));
  for (const EpDeviceInfo* device : devices) {
    Demand(host(), device != nullptr && device != untouched, Rule::kDevicesAreGiven,
           "an entry below the count was not filled, or with null");
    Demand(host(), device->struct_size >= sizeof(EpDeviceInfo), Rule::kDevicesAreGiven,
           "struct_size of a device is " + std::to_string(device->struct_size));
    for (const char* text :
         {device->name, device->vendor, device->driver_version, device->architecture, device->location, device->uuid}) {
      Demand(host(), IsOneLine(text) && std::strlen(text) <= 255, Rule::kDeviceTextsAreSet,
             "a text of a device is null, too long or can't be printed");
    }
    Demand(host(), device->reserved == 0, Rule::kDeviceReservedIsZero,
           "reserved of a device is " + std::to_string(device->reserved));
  }
  for (const Rule rule : {Rule::kDevicesAreGiven, Rule::kDeviceTextsAreSet, Rule::kDeviceReservedIsZero})
    host().journal().Pass(rule);
  return devices;
}

DebugHost::Failure Session::TryCreate(Plugin& plugin, const std::map<std::string, std::string>& options) {
  DebugHost& host = plugin.host();
  EpThreadPool* pool = host.OpenPool();
  EpProvider* provider = nullptr;
  DebugHost::Failure failure;
  {
    const LentConfig config(WithManifest(plugin, options), pool, {});
    failure = CallPlugin(host, Rule::kCreateProviderKeepsExceptions, "CreateProvider",
                         [&] { return plugin.api().CreateProvider(plugin.handle(), config.get(), &provider); });
  }
  if (!failure && provider != nullptr) {
    CallRelease(host, "DestroyProvider", [&] { plugin.api().DestroyProvider(provider); });
  }
  host.ClosePool(pool);
  return failure;
}

Session::Session(Plugin& plugin, Setup setup)
    : plugin_(plugin),
      host_(plugin.host()),
      setup_(std::move(setup)),
      exceptions_(std::uncaught_exceptions()),
      pool_(host_.OpenPool()),
      names_(16 << 10, {"a partition's name", Rule::kPartitionEndsWithTheCall, Rule::kPartitionEndsWithTheCall,
                        Rule::kPartitionEndsWithTheCall}) {
  if (setup_.profiled) profile_ = std::make_unique<DebugProfile>();
  DebugHost::Failure failure;
  {
    const LentConfig config(WithManifest(plugin_, setup_.options), pool_, setup_);
    failure = CallPlugin(host_, Rule::kCreateProviderKeepsExceptions, "CreateProvider",
                         [&] { return plugin_.api().CreateProvider(plugin_.handle(), config.get(), &provider_); });
  }
  host_.journal().Pass(Rule::kCreateProviderKeepsExceptions);
  if (failure)
    EndWith(host_, alive_ == 0 ? Rule::kCreateProviderWorks : Rule::kProvidersSideBySide,
            conformance::Describe(failure));
  host_.journal().Pass(Rule::kCreateProviderWorks);
  Demand(host_, provider_ != nullptr, Rule::kProviderIsGiven, "CreateProvider succeeded and gave no provider");
  host_.journal().Pass(Rule::kProviderIsGiven);
  ++alive_;
}

Session::~Session() noexcept(false) {
  if (std::uncaught_exceptions() > exceptions_) return;  // the process ends
  Close();
}

void Session::ReleaseKernels() {
  free_streams_.clear();
  for (const auto& kernel : kernels_) {
    kernel->info.CheckArrays(host_);
    for (EpKernelState* state : kernel->states) {
      {
        std::lock_guard lock(AllOwned().mutex);
        AllOwned().states.erase(state);
      }
      CallRelease(host_, "ReleaseState", [&] { plugin_.api().ReleaseState(kernel->handle, state); });
    }
    {
      std::lock_guard lock(AllOwned().mutex);
      AllOwned().kernels.erase(kernel->handle);
    }
    CallRelease(host_, "ReleaseKernel", [&] { plugin_.api().ReleaseKernel(kernel->handle); });
  }
  kernels_.clear();
}

void Session::Close() {
  if (provider_ == nullptr) return;
  ReleaseKernels();
  EpProvider* provider = provider_;
  provider_ = nullptr;
  --alive_;
  CallRelease(host_, "DestroyProvider", [&] { plugin_.api().DestroyProvider(provider); });
  host_.ClosePool(pool_);
  profile_.reset();
  setup_.share.reset();  // destroys the workspace, too, if this was the last member of the group
  for (const auto& blob : blobs_) blob->TakeAway();
}

Claims Session::Capability(const GraphSpec& spec) {
  DebugGraph graph(spec, Rule::kGraphEndsWithTheCall);
  Claims claims;
  DebugHost::Failure failure;
  {
    DebugSink sink(graph);
    failure = CallPlugin(host_, Rule::kCapabilityKeepsExceptions, "GetCapability",
                         [&] { return plugin_.api().GetCapability(provider_, graph.handle(), sink.handle()); });
    claims = sink.claims();
  }
  host_.journal().Pass(Rule::kCapabilityKeepsExceptions);
  if (failure) EndWith(host_, Rule::kCapabilityWorks, conformance::Describe(failure));
  for (const Rule rule : {Rule::kCapabilityWorks, Rule::kClaimsNodesOfTheGraph, Rule::kClaimsHaveACount,
                          Rule::kClaimsOnce, Rule::kReasonsAreText, Rule::kSinkStaysOnItsThread, Rule::kInfosHaveASize,
                          Rule::kGroupsAreConvex, Rule::kHostsHandlesAreTheHosts}) {
    host_.journal().Pass(rule);
  }
  return claims;
}

DebugHost::Failure Session::Adopt(const std::string& function, DebugHost::Failure failure,
                                  const std::vector<EpKernel*>& made, const std::vector<GraphSpec>& partitions,
                                  const std::set<uint64_t>& declined) {
  std::set<EpKernel*> seen;
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i] == nullptr) {
      Demand(host_, failure || declined.contains(i), Rule::kOneKernelForEachPartition,
             function + " succeeded and gave no kernel for partition " + std::to_string(i));
      continue;
    }
    Demand(host_, !declined.contains(i), Rule::kDeclinesItsPartitions,
           function + " gave a kernel for partition " + std::to_string(i) + ", which it had declined");
    Demand(host_, seen.insert(made[i]).second, Rule::kEachKernelOnce,
           function + " gave two partitions the same kernel");
    std::lock_guard lock(AllOwned().mutex);
    Demand(host_, AllOwned().kernels.insert(made[i]).second, Rule::kKernelsHaveOneOwner,
           function + " gave a kernel that is in use");
  }
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i] == nullptr) continue;
    auto kernel = std::make_unique<Kernel>();
    kernel->handle = made[i];
    kernel->partition = partitions[i];
    kernels_.push_back(std::move(kernel));
  }
  if (failure) {
    ReleaseKernels();
    return failure;
  }
  for (const auto& kernel : kernels_)
    kernel->info = {host_, plugin_.api(), plugin_.devices(), kDevice, kernel->handle, kernel->partition};
  for (const Rule rule : {Rule::kOneKernelForEachPartition, Rule::kEachKernelOnce, Rule::kKernelsHaveOneOwner})
    host_.journal().Pass(rule);
  return failure;
}

DebugHost::Failure Session::CompileWith(const std::vector<GraphSpec>& partitions, bool cancel, bool* was_told) {
  LentPartitions lent(partitions, partition_names_.size(), names_);
  for (const GraphSpec& partition : partitions) partition_names_.push_back(partition.name);
  std::vector<EpKernel*> made(partitions.size());
  DebugHost::Failure failure;
  std::set<uint64_t> declined;
  {
    DebugTask task(DebugTask::Kind::kCompile, lent.graphs(), constants_);
    task.ProfileWith(profile());
    if (cancel) task.Cancel();
    failure = CallPlugin(host_, Rule::kCompileKeepsExceptions, "Compile", [&] {
      return plugin_.api().Compile(provider_, lent.infos(), partitions.size(), task.handle(), made.data());
    });
    *was_told = task.was_told();
    declined = task.declined();
  }
  host_.journal().Pass(Rule::kCompileKeepsExceptions);
  lent.End();
  return Adopt("Compile", failure, made, partitions, declined);
}

void Session::Compile(const std::vector<GraphSpec>& partitions) {
  bool was_told = false;
  const size_t before = kernels_.size();
  const DebugHost::Failure failure = CompileWith(partitions, false, &was_told);
  if (failure) EndWith(host_, Rule::kCompileWorks, DescribeFor(failure, partitions));
  if (kernels_.size() - before != partitions.size()) {
    host_.journal().NotApplicable(Rule::kCompileWorks, "the plugin gave a partition of the suite's back, as it may");
    throw CheckEnded();
  }
  for (const Rule rule : {Rule::kCompileWorks, Rule::kTaskEndsWithTheCall, Rule::kProgressIsAFraction,
                          Rule::kDeclinesItsPartitions, Rule::kRetainsConstants, Rule::kConstantsReleasedOnce,
                          Rule::kDroppedConstantsAreLeft, Rule::kConstantsAreReadOnly}) {
    host_.journal().Pass(rule);
  }
}

Session::Answer Session::CompileAndCancel(const std::vector<GraphSpec>& partitions) {
  Answer answer;
  answer.failure = CompileWith(partitions, true, &answer.was_told);
  return answer;
}

SavedContext Session::Save(bool embed) {
  SavedContext saved;
  const DebugHost::Failure failure = TrySave(embed, &saved);
  if (failure) EndWith(host_, Rule::kContextNodesWork, conformance::Describe(failure));
  return saved;
}

DebugHost::Failure Session::TrySave(bool embed, SavedContext* saved) {
  DebugContextSink::Setting setting;
  setting.partition_names = partition_names_;
  setting.sources = plugin_.sources();
  setting.embed = embed;
  setting.defers_payload = setup_.share != nullptr && setup_.share->defers_payload();
  DebugContextSink sink(setting);
  DebugHost::Failure failure;
  {
    DebugTask task(DebugTask::Kind::kSave, {}, constants_);
    task.ProfileWith(profile());
    failure = CallPlugin(host_, Rule::kContextNodesKeepExceptions, "GetEpContextNodes",
                         [&] { return plugin_.api().GetEpContextNodes(provider_, sink.handle(), task.handle()); });
  }
  host_.journal().Pass(Rule::kContextNodesKeepExceptions);
  if (failure) return failure;
  *saved = sink.Take(setup_.share != nullptr && setup_.share->writes_payload());
  host_.EndIfViolated();
  for (const Rule rule :
       {Rule::kContextNodesWork, Rule::kANodeForEachPartition, Rule::kPayloadsAreEnded, Rule::kPartitionsByIndex,
        Rule::kSourcesAreOwn, Rule::kContextSinkStaysOnItsThread, Rule::kPrimariesHavePayloads,
        Rule::kMainContextIsAFlag, Rule::kFurtherAttributes, Rule::kNodeReservedIsZero}) {
    host_.journal().Pass(rule);
  }
  return failure;
}

DebugHost::Failure Session::TryLoad(const SavedContext& context, const std::vector<GraphSpec>& partitions,
                                    LentMemory::Place place) {
  const Rule gone = Rule::kContextNodesEndWithTheCall;
  Arena arena(32 << 10, {"an info of LoadContext", gone, gone, gone});
  auto** blobs = arena.New<const EpContextBlob*>(context.payloads.size());
  for (size_t i = 0; i < context.payloads.size(); ++i) {
    const std::string& bytes = context.payloads[i];
    auto* blob = arena.New<EpContextBlob>();
    blob->struct_size = sizeof(EpContextBlob);
    blob->size = bytes.size();
    const auto lend = [&] {
      auto memory = std::make_unique<LentMemory>(
          bytes.size(),
          LentMemory::Rules{"a payload", Rule::kBlobsAreReadOnly, setup_.payload_end, Rule::kBlobsEndWithTheProvider},
          place);
      std::memcpy(memory->data(), bytes.data(), bytes.size());
      memory->MakeReadOnly();
      return memory;
    };
    if (!bytes.empty() && setup_.share != nullptr) {
      blob->data = setup_.share->workspace().Payload(bytes, lend).data();
    } else if (!bytes.empty()) {
      blobs_.push_back(lend());
      blob->data = blobs_.back()->data();
    }
    blobs[i] = blob;
  }
  std::vector<std::shared_ptr<DebugGraph>> graphs;
  auto** infos = arena.New<const EpContextNodeInfo*>(context.nodes.size());
  for (size_t i = 0; i < context.nodes.size(); ++i) {
    const SavedNode& saved = context.nodes[i];
    const GraphSpec& partition = partitions[i];
    GraphSpec graph;
    graph.name = "context";
    std::vector<int> inputs;
    std::vector<int> outputs;
    for (const int input : partition.inputs) {
      const ValueSpec& value = partition.values[static_cast<size_t>(input)];
      inputs.push_back(graph.AddInput(value.name, value.type, value.dims));
    }
    for (const int output : partition.outputs) {
      const ValueSpec& value = partition.values[static_cast<size_t>(output)];
      outputs.push_back(graph.AddOutput(value.name, value.type, value.dims));
    }
    graph.AddNode("EPContext", inputs, outputs).domain = "com.microsoft";
    graphs.push_back(std::make_shared<DebugGraph>(graph, gone));
    auto* info = arena.New<EpContextNodeInfo>();
    info->struct_size = sizeof(EpContextNodeInfo);
    // If there is only one payload, it is the secondary's primary.
    info->blob = saved.payload >= 0 ? saved.payload : context.payloads.size() == 1 ? 0 : -1;
    info->node = graphs.back()->node(0);
    info->source = arena.Copy(saved.source);
    info->partition_name = arena.Copy(context.partition_names[saved.partition]);
    info->ep_sdk_version = arena.Copy(saved.ep_sdk_version);
    info->hardware_architecture = arena.Copy(saved.hardware_architecture);
    info->notes = arena.Copy(saved.notes);
    info->onnx_model_filename = arena.Copy("");
    auto* attributes = arena.New<EpKeyValue>(saved.attributes.size());
    for (size_t k = 0; k < saved.attributes.size(); ++k) {
      attributes[k] = {arena.Copy(saved.attributes[k].first), arena.Copy(saved.attributes[k].second)};
    }
    info->attributes = attributes;
    info->attribute_count = static_cast<uint32_t>(saved.attributes.size());
    info->main_context = saved.main_context;
    info->max_size = saved.max_size;
    infos[i] = info;
  }
  arena.Lend();
  std::vector<EpKernel*> made(context.nodes.size());
  DebugHost::Failure failure;
  {
    DebugTask task(DebugTask::Kind::kLoad, graphs, constants_);
    task.ProfileWith(profile());
    failure = CallPlugin(host_, Rule::kLoadContextKeepsExceptions, "LoadContext", [&] {
      return plugin_.api().LoadContext(provider_, infos, context.nodes.size(), blobs, context.payloads.size(),
                                       task.handle(), made.data());
    });
  }
  host_.journal().Pass(Rule::kLoadContextKeepsExceptions);
  for (const auto& graph : graphs) graph->End();
  return Adopt("LoadContext", failure, made, partitions, {});
}

void Session::Load(const SavedContext& context, const std::vector<GraphSpec>& partitions, LentMemory::Place place) {
  const DebugHost::Failure failure = TryLoad(context, partitions, place);
  if (failure) EndWith(host_, Rule::kLoadsWhatItWrote, DescribeFor(failure, partitions));
  host_.journal().Pass(Rule::kLoadsWhatItWrote);
}

EpKernelState* Session::TakeState(Kernel& kernel) {
  {
    std::lock_guard lock(states_mutex_);
    if (!kernel.free_states.empty()) {
      EpKernelState* state = kernel.free_states.back();
      kernel.free_states.pop_back();
      return state;
    }
  }
  EpKernelState* state = nullptr;
  const DebugHost::Failure failure = CallPlugin(host_, Rule::kCreateStateKeepsExceptions, "CreateState",
                                                [&] { return plugin_.api().CreateState(kernel.handle, &state); });
  if (failure) EndWith(host_, Rule::kStateIsGiven, DescribeFor(failure, {&kernel.partition, 1}));
  Demand(host_, state != nullptr, Rule::kStateIsGiven, "CreateState succeeded and gave no state");
  {
    std::lock_guard lock(AllOwned().mutex);
    Demand(host_, AllOwned().states.insert(state).second, Rule::kStatesAreNotShared,
           "CreateState gave a state that is in use");
  }
  std::lock_guard lock(states_mutex_);
  kernel.states.push_back(state);
  return state;
}

std::unique_ptr<Stream> Session::TakeStream() {
  {
    std::lock_guard lock(streams_mutex_);
    if (!free_streams_.empty()) {
      std::unique_ptr<Stream> stream = std::move(free_streams_.back());
      free_streams_.pop_back();
      return stream;
    }
  }
  return std::make_unique<Stream>(*plugin_.devices(), kDevice);
}

Session::RunAnswer Session::TryRun(size_t index, const std::vector<Tensor>& inputs, const RunSetting& setting) {
  Kernel& kernel = *kernels_[index];
  std::vector<ValueSpec> declared;
  for (const int output : kernel.partition.outputs)
    declared.push_back(kernel.partition.values[static_cast<size_t>(output)]);
  EpKernelState* state = plugin_.api().CreateState == nullptr ? nullptr : TakeState(kernel);
  std::unique_lock<std::mutex> alone(exclusive_mutex_, std::defer_lock);
  std::unique_ptr<Stream> stream;
  std::optional<DeviceRun> on_device;
  if (kernel.info.places().on_device()) {
    stream = TakeStream();
    on_device.emplace(*plugin_.devices(), *stream, kernel.info.places(), inputs, declared,
                      DeviceRun::Setting{setting.input_memory, setting.output_memory, setting.aliases, setting.fill});
  }
  DebugRun run(inputs, std::move(declared), setting.fill, on_device ? &*on_device : nullptr);
  run.ProfileWith(profile());
  if (setting.cancel) run.Cancel();
  if (setting.refuse_memory) run.RefuseMemory();
  RunAnswer answer;
  if (kernel.info.exclusive()) alone.lock();
  answer.failure = CallPlugin(host_, Rule::kExecuteKeepsExceptions, "Execute",
                              [&] { return plugin_.api().Execute(kernel.handle, state, run.handle()); });
  if (alone) alone.unlock();
  run.EndCall();
  if (on_device) {
    const bool succeeded = !answer.failure && !run.has_refused();
    const DebugHost::Failure failure = on_device->Finish(succeeded);
    if (!answer.failure) answer.failure = failure;
    answer.has_adopted = on_device->has_adopted();
    answer.has_aliased = on_device->has_aliased();
    host_.Step("the work that Execute submitted");
  }
  answer.was_told = run.was_told();
  answer.has_refused = run.has_refused();
  if (!answer.failure && !answer.has_refused) answer.outputs = run.TakeOutputs();
  run.End();
  host_.EndIfViolated();
  if (stream != nullptr && !answer.failure) {
    std::lock_guard lock(streams_mutex_);
    free_streams_.push_back(std::move(stream));
  }
  if (state != nullptr) {
    std::lock_guard lock(states_mutex_);
    kernel.free_states.push_back(state);
  }
  return answer;
}

std::vector<Tensor> Session::Run(size_t kernel, const std::vector<Tensor>& inputs, const RunSetting& setting) {
  RunAnswer answer = TryRun(kernel, inputs, setting);
  if (answer.failure)
    EndWith(host_, Rule::kExecuteWorks, DescribeFor(answer.failure, {&kernels_.at(kernel)->partition, 1}));
  return std::move(answer.outputs);
}

}  // namespace epiphyte::conformance
