// Trampolines: the functions that the host calls. Each calls a member function of a class that derives from the kit's.
// No exception crosses the boundary, and output arguments are filled on success only.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "epiphyte/kit/abi/extension.hpp"
#include "epiphyte/kit/abi/process_end.hpp"
#include "epiphyte/kit/plugin/handles.hpp"
#include "epiphyte/kit/plugin/plugin.hpp"

namespace epiphyte::kit {
namespace {

// Copies no more bytes than the caller has room for.
void Give(const EpKernelInfo& from, EpKernelInfo* to) {
  const uint32_t size = std::min<uint32_t>(to->struct_size, sizeof(from));
  std::memcpy(to, &from, size);
  to->struct_size = size;
}

void Give(std::string_view text, char* room, uint64_t capacity) {
  if (room == nullptr || capacity == 0) return;
  const size_t size = std::min<size_t>(text.size(), static_cast<size_t>(capacity - 1));
  std::memcpy(room, text.data(), size);
  room[size] = '\0';
}

// Registers with ProcessEnd again at the first call of each step, because libraries make static objects when they first
// do some work.
enum class Step { kCompile, kLoadContext, kExecute };
template <Step>
void NoticeOnce() {
  static constinit std::atomic<bool> noticed{false};
  if (!noticed.load(std::memory_order_relaxed) && !noticed.exchange(true)) ProcessEnd::Notice();
}

// Architecture of the session's main device; "" when it has none.
std::string ArchitectureOf(std::span<const EpDeviceInfo> all, const std::vector<uint32_t>& chosen) {
  if (chosen.empty() || chosen[0] >= all.size() || all[chosen[0]].architecture == nullptr) return {};
  return all[chosen[0]].architecture;
}

}  // namespace

const EpHostInfo& HostOf(EpPlugin* plugin) { return *From(plugin).host; }
Plugin& PluginOf(EpPlugin* plugin) { return *From(plugin).plugin; }

// A friend of the classes that plugins derive from.
class Trampolines {
 public:
  static void EP_CALL Shutdown(EpPlugin* plugin) {
    ReleaseCall([&] { delete &From(plugin); });
  }

  static EpStatus* EP_CALL GetDevices(EpPlugin* plugin, const EpDeviceInfo** devices, uint32_t capacity,
                                      uint32_t* count) {
    return GuardCall(HostOf(plugin), [&] {
      const std::span<const EpDeviceInfo> all = PluginOf(plugin).Devices();
      for (size_t i = 0; i < all.size() && i < capacity; ++i) devices[i] = &all[i];
      *count = static_cast<uint32_t>(all.size());
    });
  }

  static EpStatus* EP_CALL CheckContext(EpPlugin* plugin, const EpContextHeader* header, EpContextVerdict* verdict,
                                        char* reason, uint64_t reason_capacity) {
    return GuardCall(HostOf(plugin), [&] {
      const ContextVerdict judged = PluginOf(plugin).CheckContext(ContextHeader(*header));
      Give(judged.reason, reason, reason_capacity);
      *verdict = judged.verdict;
    });
  }

  static const void* EP_CALL GetExtension(EpPlugin* plugin, const char* id) {
    const ProcessEnd::Call call;
    if (!call) return nullptr;
    try {
      if (std::strcmp(id, EP_SCHEMA_EXTENSION) == 0 && !From(plugin).operators.empty()) return &kSchemaApi;
      if (std::strcmp(id, EP_OPTIONS_EXTENSION) == 0 && From(plugin).options != nullptr) return &kOptionsApi;
      if (std::strcmp(id, EP_DEVICE_EXTENSION) == 0 && PluginOf(plugin).Memories() != nullptr) return &DeviceTable();
      if (std::strcmp(id, EP_EXPLAIN_EXTENSION) == 0) return &kExplainApi;
      return PluginOf(plugin).Extension(id);
    } catch (...) {
      return nullptr;
    }
  }

  static EpStatus* EP_CALL GetOperators(EpPlugin* plugin, const EpOperatorInfo** operators, uint32_t capacity,
                                        uint32_t* count) {
    return GuardCall(HostOf(plugin), [&] { From(plugin).operators.Get(operators, capacity, count); });
  }
  static EpStatus* EP_CALL InferTypes(EpPlugin* plugin, const EpOperatorInfo* op, const EpNode* node,
                                      EpInference* inference) {
    const EpHostInfo& host = HostOf(plugin);
    return GuardCall(host, [&] {
      From(plugin).operators.Infer(host, FindExtension<EpInferenceApi>(host, EP_SCHEMA_EXTENSION), op, node, inference);
    });
  }

  static EpStatus* EP_CALL GetOptions(EpPlugin* plugin, const EpOptionInfo** options, uint32_t capacity,
                                      uint32_t* count) {
    return GuardCall(HostOf(plugin), [&] { From(plugin).options->Get(options, capacity, count); });
  }

  static EpStatus* EP_CALL CreateProvider(EpPlugin* plugin, const EpProviderConfig* config, EpProvider** provider) {
    const EpHostInfo& host = HostOf(plugin);
    return GuardCall(host, [&] {
      if (config->reserved != 0) throw Error(EP_STATUS_INVALID_ARGUMENT, "EpProviderConfig::reserved is not 0");
      ProviderConfig asked{host,
                           {},
                           config->thread_pool,
                           {config->devices, config->devices + config->device_count},
                           config->context_enabled != 0,
                           config->share_group,
                           std::max(1u, config->thread_count),
                           PluginOf(plugin).info().name};
      for (uint32_t i = 0; i < config->option_count; ++i)
        asked.options[config->options[i].key] = config->options[i].value;
      // The kit checks options here because a host that does not know option declarations passes them unchecked.
      if (const auto declared = PluginOf(plugin).Options()) OptionValues(*declared, asked.options);
      auto made = std::make_unique<ProviderHandle>();
      made->host = &host;
      made->provider = PluginOf(plugin).CreateProvider(asked);
      if (made->provider == nullptr) throw Error(EP_STATUS_EP_FAIL, "CreateProvider made no provider; throw instead");
      made->provider->host_ = &host;
      made->provider->plugin_ = &PluginOf(plugin);
      made->provider->share_membership_ = ShareMembership(host, config->share_group);
      made->provider->sdk_version_ = PluginOf(plugin).SdkVersion();
      made->provider->hardware_ = ArchitectureOf(PluginOf(plugin).Devices(), asked.devices);
      *provider = reinterpret_cast<EpProvider*>(made.release());
    });
  }
  static void EP_CALL DestroyProvider(EpProvider* provider) {
    ReleaseCall([&] { delete &From(provider); });
  }

  static EpStatus* EP_CALL GetCapability(EpProvider* provider, const EpGraph* graph, EpCapabilitySink* sink) {
    const EpHostInfo& host = *From(provider).host;
    return GuardCall(host, [&] {
      Claims claims(host, sink);
      From(provider).provider->GetCapability(GraphView(host, graph), claims);
      claims.Flush();
    });
  }

  static EpStatus* EP_CALL Explain(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count,
                                   const EpNoteSink* sink) {
    const EpHostInfo& host = *From(provider).host;
    return GuardCall(host, [&] {
      Explanation explanation(sink);
      for (uint64_t i = 0; i < count; ++i)
        From(provider).provider->Explain(partitions[i]->name, GraphView(host, partitions[i]->graph), explanation);
    });
  }

  static EpStatus* EP_CALL Compile(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count,
                                   EpTask* task, EpKernel** kernels) {
    const EpHostInfo& host = *From(provider).host;
    return GuardCall(host, [&] {
      Compilation compilation(host, partitions, count, task, kernels);
      From(provider).provider->CompileAll(compilation);
      compilation.ThrowUnlessComplete();
      NoticeOnce<Step::kCompile>();
    });
  }

  static EpStatus* EP_CALL GetEpContextNodes(EpProvider* provider, EpContextSink* sink, EpTask* task) {
    const EpHostInfo& host = *From(provider).host;
    return GuardCall(host, [&] {
      Provider& mine = *From(provider).provider;
      ContextSink contexts(host, sink, task, mine.share_membership_);
      mine.SaveContexts(contexts);
    });
  }

  static EpStatus* EP_CALL LoadContext(EpProvider* provider, const EpContextNodeInfo* const* nodes, uint64_t node_count,
                                       const EpContextBlob* const* blobs, uint64_t blob_count, EpTask* task,
                                       EpKernel** kernels) {
    const EpHostInfo& host = *From(provider).host;
    return GuardCall(host, [&] {
      ContextLoading loading(host, nodes, node_count, blobs, blob_count, task, kernels);
      From(provider).provider->LoadContexts(loading);
      loading.ThrowUnlessComplete();
      NoticeOnce<Step::kLoadContext>();
    });
  }

  static void EP_CALL ReleaseKernel(EpKernel* kernel) {
    ReleaseCall([&] { delete &From(kernel); });
  }

  static EpStatus* EP_CALL CreateState(EpKernel* kernel, EpKernelState** state) {
    return GuardCall(*From(kernel).host, [&] {
      auto made = std::make_unique<StateHandle>();
      made->state = From(kernel).kernel->CreateState();
      *state = reinterpret_cast<EpKernelState*>(made.release());
    });
  }
  static void EP_CALL ReleaseState(EpKernel*, EpKernelState* state) {
    ReleaseCall([&] { delete &From(state); });
  }

  static EpStatus* EP_CALL Execute(EpKernel* kernel, EpKernelState* state, EpRun* run) {
    const KernelHandle& mine = From(kernel);
    KernelState* const held = state == nullptr ? nullptr : From(state).state.get();
    return GuardCall(*mine.host, [&] {
      mine.kernel->ExecuteWithState(Run(*mine.host, run), held);
      NoticeOnce<Step::kExecute>();
    });
  }

  static EpStatus* EP_CALL DescribeKernel(EpKernel* kernel, EpKernelInfo* info) {
    return GuardCall(*From(kernel).host, [&] {
      EpKernelInfo described = {};
      From(kernel).kernel->Describe(&described);
      if (From(kernel).kernel->IsExclusive()) described.flags |= EP_KERNEL_EXCLUSIVE;
      Give(described, info);
    });
  }

  static constexpr EpSchemaApi kSchemaApi = {sizeof(EpSchemaApi), 0, GetOperators, InferTypes};
  static constexpr EpOptionsApi kOptionsApi = {sizeof(EpOptionsApi), 0, GetOptions};
  static constexpr EpExplainApi kExplainApi = {sizeof(EpExplainApi), 0, Explain};
  static constexpr EpProviderApi Table(bool makes_contexts) {
    return {sizeof(EpProviderApi),
            0,
            CreateProvider,
            DestroyProvider,
            GetCapability,
            Compile,
            makes_contexts ? GetEpContextNodes : nullptr,
            makes_contexts ? LoadContext : nullptr,
            ReleaseKernel,
            CreateState,
            ReleaseState,
            Execute,
            DescribeKernel};
  }
};

namespace {

constexpr EpProviderApi kWithContexts = Trampolines::Table(true);
constexpr EpProviderApi kWithoutContexts = Trampolines::Table(false);

}  // namespace

namespace detail {

EpStatus* Initialize(const EpHostInfo* host, const EpPluginEnvironment* environment, const PluginInfo& info,
                     std::unique_ptr<Plugin> (*make)(const PluginConfig& config), EpPlugin** plugin) noexcept {
  return GuardCall(*host, [&] {
    auto made = std::make_unique<PluginHandle>();
    made->host = host;
    made->plugin = make({*host, *environment, info});
    made->operators = OperatorTable(made->plugin->Operators());
    if (const auto options = made->plugin->Options()) made->options = std::make_unique<OptionTable>(*options);
    *plugin = reinterpret_cast<EpPlugin*>(made.release());
    ProcessEnd::Notice();
  });
}

EpPluginDescriptor MakeDescriptor(const PluginInfo& info, bool makes_contexts,
                                  decltype(EpPluginDescriptor::Initialize) initialize) {
  return {sizeof(EpPluginDescriptor),
          kLowestAbi,
          info.name,
          info.vendor,
          info.version,
          info.sources.data(),
          static_cast<uint32_t>(info.sources.size()),
          0,
          initialize,
          Trampolines::Shutdown,
          Trampolines::GetDevices,
          makes_contexts ? Trampolines::CheckContext : nullptr,
          makes_contexts ? &kWithContexts : &kWithoutContexts,
          Trampolines::GetExtension};
}

}  // namespace detail
}  // namespace epiphyte::kit
