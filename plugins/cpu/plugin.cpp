// The cpu plugin's one exported symbol and the trampolines behind it: each turns exceptions into statuses.
#include <cstring>

#include "plugins/cpu/onednn/compat.h"
#include "plugins/cpu/onednn/threading.h"
#include "plugins/cpu/provider.h"

namespace epiphyte::cpu {
namespace {

Plugin* ToPlugin(EpPlugin* plugin) { return reinterpret_cast<Plugin*>(plugin); }
Provider* ToProvider(EpProvider* provider) { return reinterpret_cast<Provider*>(provider); }
CompiledKernel* ToKernel(EpKernel* kernel) { return reinterpret_cast<CompiledKernel*>(kernel); }
FrameSet* ToFrames(EpKernelState* state) { return reinterpret_cast<FrameSet*>(state); }

EpStatus* EP_CALL Initialize(const EpHostInfo* host, const EpPluginEnvironment*, EpPlugin** plugin) {
  return Guarded(host, [&] {
    auto made = std::make_unique<Plugin>();
    made->host = host;
    RegisterAllKernels(made->registry);
    made->architecture = Architecture() + "/" + EffectiveIsa();
    made->device = {sizeof(EpDeviceInfo), EP_DEVICE_CPU, "CPU", "", "", made->architecture.c_str()};
    if (const char* message = BindOneDnnThreads()) LogWarning(host, message);
    *plugin = reinterpret_cast<EpPlugin*>(made.release());
  });
}

void EP_CALL Shutdown(EpPlugin* plugin) { delete ToPlugin(plugin); }

EpStatus* EP_CALL GetDevices(EpPlugin* plugin, const EpDeviceInfo** devices, uint32_t capacity, uint32_t* count) {
  *count = 1;
  if (capacity > 0) devices[0] = &ToPlugin(plugin)->device;
  return nullptr;
}

EpStatus* EP_CALL CheckContext(EpPlugin* plugin, const EpContextHeader* header, EpContextVerdict* verdict, char* reason,
                               uint64_t reason_capacity) {
  return Guarded(ToPlugin(plugin)->host, [&] {
    std::string why;
    *verdict = CheckContextHeader(*header, kSource, ToPlugin(plugin)->registry, &why);
    if (reason != nullptr && reason_capacity > 0) {
      const size_t size = std::min<size_t>(why.size(), reason_capacity - 1);
      std::memcpy(reason, why.data(), size);
      reason[size] = '\0';
    }
  });
}

EpStatus* EP_CALL CreateProvider(EpPlugin* plugin, const EpProviderConfig* config, EpProvider** provider) {
  return Guarded(ToPlugin(plugin)->host,
                 [&] { *provider = reinterpret_cast<EpProvider*>(new Provider(*ToPlugin(plugin), *config)); });
}
void EP_CALL DestroyProvider(EpProvider* provider) { delete ToProvider(provider); }

EpStatus* EP_CALL GetCapability(EpProvider* provider, const EpGraph* graph, EpCapabilitySink* sink) {
  return Guarded(ToProvider(provider)->host(), [&] { ToProvider(provider)->GetCapability(graph, sink); });
}

EpStatus* EP_CALL Compile(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count,
                          EpProgress* progress, EpKernel** kernels) {
  return Guarded(ToProvider(provider)->host(), [&] {
    ToProvider(provider)->Compile({partitions, count}, progress, kernels);
  });
}

EpStatus* EP_CALL GetEpContextNodes(EpProvider* provider, EpContextSink* sink) {
  return Guarded(ToProvider(provider)->host(), [&] { ToProvider(provider)->GetEpContextNodes(sink); });
}

EpStatus* EP_CALL LoadContext(EpProvider* provider, const EpContextNodeInfo* const* nodes, uint64_t node_count,
                              const EpContextBlob* const* blobs, uint64_t blob_count, EpProgress* progress,
                              EpKernel** kernels) {
  return Guarded(ToProvider(provider)->host(), [&] {
    ToProvider(provider)->LoadContext({nodes, node_count}, {blobs, blob_count}, progress, kernels);
  });
}

void EP_CALL ReleaseKernel(EpKernel* kernel) { delete ToKernel(kernel); }

EpStatus* EP_CALL CreateState(EpKernel* kernel, EpKernelState** state) {
  return Guarded(ToKernel(kernel)->host, [&] { *state = reinterpret_cast<EpKernelState*>(new FrameSet); });
}
void EP_CALL ReleaseState(EpKernel*, EpKernelState* state) { delete ToFrames(state); }

EpStatus* EP_CALL Execute(EpKernel* kernel, EpKernelState* state, EpRun* run) {
  return Guarded(ToKernel(kernel)->host, [&] { ToFrames(state)->Execute(*ToKernel(kernel), run); });
}

constexpr EpProviderApi kProviderApi = {
    sizeof(EpProviderApi), 0,
    &CreateProvider,       &DestroyProvider,
    &GetCapability,        &Compile,
    &GetEpContextNodes,    &LoadContext,
    &ReleaseKernel,        &CreateState,
    &ReleaseState,         &Execute,
};
constexpr const char* kSources[] = {kSource};
constexpr EpPluginDescriptor kDescriptor = {
    sizeof(EpPluginDescriptor),
    EP_ABI_VERSION,
    "cpu",
    "Epiphyte",
    EPIPHYTE_CPU_VERSION,
    kSources,
    1,
    0,
    &Initialize,
    &Shutdown,
    &GetDevices,
    &CheckContext,
    &kProviderApi,
    nullptr,
};

}  // namespace
}  // namespace epiphyte::cpu

extern "C" EP_EXPORT const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo* host) {
  if (host == nullptr || host->abi_min > EP_ABI_VERSION || host->abi_max < EP_ABI_VERSION) return nullptr;
  return &epiphyte::cpu::kDescriptor;
}
