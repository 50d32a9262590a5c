// The cpu plugin's one exported symbol and the trampolines behind it: each turns exceptions into statuses.
#include <cstring>

#include "epiphyte/ep_entry.h"
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
    made->device.struct_size = sizeof(EpDeviceInfo);
    made->device.kind = EP_DEVICE_CPU;
    made->device.flags = EP_DEVICE_INTEGRATED;
    made->device.name = "CPU";
    made->device.vendor = made->device.driver_version = made->device.location = made->device.uuid = "";
    made->device.architecture = made->architecture.c_str();
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
    const kit::ContextVerdict found = CheckContextHeader(*header, kSource, ToPlugin(plugin)->registry);
    *verdict = found.verdict;
    if (reason != nullptr && reason_capacity > 0) {
      const size_t size = std::min<size_t>(found.reason.size(), reason_capacity - 1);
      std::memcpy(reason, found.reason.data(), size);
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

EpStatus* EP_CALL Compile(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count, EpTask* task,
                          EpKernel** kernels) {
  return Guarded(ToProvider(provider)->host(), [&] {
    ToProvider(provider)->Compile({partitions, count}, task, kernels);
  });
}

EpStatus* EP_CALL GetEpContextNodes(EpProvider* provider, EpContextSink* sink, EpTask*) {
  return Guarded(ToProvider(provider)->host(), [&] { ToProvider(provider)->GetEpContextNodes(sink); });
}

EpStatus* EP_CALL LoadContext(EpProvider* provider, const EpContextNodeInfo* const* nodes, uint64_t node_count,
                              const EpContextBlob* const* blobs, uint64_t blob_count, EpTask* task,
                              EpKernel** kernels) {
  return Guarded(ToProvider(provider)->host(), [&] {
    ToProvider(provider)->LoadContext({nodes, node_count}, {blobs, blob_count}, task, kernels);
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
    sizeof(EpProviderApi),
    0,
    &CreateProvider,
    &DestroyProvider,
    &GetCapability,
    &Compile,
    &GetEpContextNodes,
    &LoadContext,
    &ReleaseKernel,
    &CreateState,
    &ReleaseState,
    &Execute,
    nullptr,
};
constexpr const char* kSources[] = {kSource};
constexpr EpPluginDescriptor kDescriptor = {
    sizeof(EpPluginDescriptor),
    EP_MAKE_ABI_VERSION(0, 2),
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

extern "C" EP_EXPORT const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo*, const EpPluginEnvironment*) {
  return &epiphyte::cpu::kDescriptor;
}
