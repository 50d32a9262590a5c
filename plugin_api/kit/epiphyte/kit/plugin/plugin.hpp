// Plugin: write two classes, get a plugin. The trampolines around them satisfy every rule of the C ABI: no exception
// gets out, nulls are checked, ownership is clear.
//
//   class MyKernel : public epiphyte::kit::Kernel {
//    public:
//     void Execute(const epiphyte::kit::Run& run) override { … }
//   };
//   class MyProvider : public epiphyte::kit::Provider {
//    public:
//     explicit MyProvider(const epiphyte::kit::ProviderConfig& config);
//     bool Supports(const epiphyte::kit::NodeView& node, std::string* why_not) override;
//     std::unique_ptr<epiphyte::kit::Kernel> Compile(const epiphyte::kit::Partition& partition) override;
//   };
//   EPIPHYTE_KIT_PLUGIN(MyProvider, "my-ep", "My Company", "1.0.0", "MySource")
//
// To save contexts, override SaveContext and LoadContext as well and declare `static constexpr bool kMakesContexts =
// true;`. Each context carries the SDK version and the hardware that it was made for, and one that doesn't fit is
// refused before LoadContext. Declare `static constexpr const char* kSdkVersion = "…";` so that this can be judged
// without a provider too, as `epiphyte verify` does.
//
// A plugin with devices of its own declares `static std::span<const EpDeviceInfo> Devices();`, which live as long as
// the process; a session's option `device` chooses one or several. One that brings operators of its own declares
// `static std::span<const kit::Operator> Operators();` (schema.hpp), one that takes options
// `static std::span<const kit::Option> Options();` (options.hpp). One that has tables for other extensions, as that of
// draft/ep_device.h, declares `static const void* Extension(std::string_view id);`, null for an id that it doesn't know.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "epiphyte/ep_entry.h"
#include "epiphyte/kit/plugin/context_origin.hpp"
#include "epiphyte/kit/plugin/options.hpp"
#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/abi/graph_view.hpp"
#include "epiphyte/kit/plugin/schema.hpp"
#include "epiphyte/kit/abi/share.hpp"
#include "epiphyte/kit/abi/visibility.hpp"

namespace epiphyte::kit {

// The lowest ABI that a plugin of this kit can live with.
inline constexpr uint32_t kLowestAbi = EP_MAKE_ABI_VERSION(0, 2);

// A device of which nothing further is known. The strings live as long as the plugin.
constexpr EpDeviceInfo MakeDevice(EpDeviceKind kind, const char* name, const char* vendor, const char* driver_version,
                                  const char* architecture) {
  EpDeviceInfo device = {};
  device.struct_size = sizeof(EpDeviceInfo);
  device.kind = kind;
  device.name = name;
  device.vendor = vendor;
  device.driver_version = driver_version;
  device.architecture = architecture;
  device.location = "";
  device.uuid = "";
  return device;
}

// One Execute, seen by a kernel.
class Run {
 public:
  Run(const EpHostInfo& host, EpRun* run) : host_(host), run_(run) {
    info_.struct_size = sizeof(info_);
    ThrowIfFailed(host, host.run->GetInfo(run, &info_));
  }
  size_t input_count() const { return info_.input_count; }
  // Throws when input i is absent or no tensor.
  const EpTensorView& input(size_t i) const {
    if (i >= info_.input_count || info_.inputs[i] == nullptr || info_.inputs[i]->tensor == nullptr) {
      throw Error(EP_STATUS_INVALID_ARGUMENT, "input " + std::to_string(i) + " is absent or no tensor");
    }
    return *info_.inputs[i]->tensor;
  }
  template <typename T>
  T* Output(uint32_t i, EpElementType type, std::span<const int64_t> dims) const {
    void* data = nullptr;
    ThrowIfFailed(host_,
                  host_.run->AllocateOutput(run_, i, type, dims.data(), static_cast<uint32_t>(dims.size()), &data));
    return static_cast<T*>(data);
  }
  // The application has given the run up: throw soon.
  bool IsCancelled() const { return host_.run->IsCancelled(run_) != 0; }
  const EpRunInfo& info() const { return info_; }
  EpRun* handle() const { return run_; }

 private:
  const EpHostInfo& host_;
  EpRun* run_;
  EpRunInfo info_ = {};
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // Called from many threads at once.
  virtual void Execute(const Run& run) = 0;
  // True: no other Execute of this provider runs at the same time, on this kernel or another. For a device with one
  // queue. Asked once.
  virtual bool IsExclusive() const { return false; }
  // Where its values can be, and whether it is ASYNC; see EpKernelInfo. Asked once; the arrays live as long as the
  // kernel. As a default, values are in host memory, and all is done when Execute returns.
  virtual void Describe(EpKernelInfo* info) const { (void)info; }
};

struct ProviderConfig {
  const EpHostInfo& host;
  std::map<std::string, std::string> options;
  EpThreadPool* thread_pool = nullptr;
  std::vector<uint32_t> devices;  // indices into what Devices() gives; the first is the main one
  bool context_enabled = false;
  EpShareGroup* share_group = nullptr;  // for kit::ShareGroup
};

// A context while it is written: bytes front to back.
class ContextWriter {
 public:
  ContextWriter(const EpHostInfo& host, EpContextWriter* writer) : host_(host), writer_(writer) {}
  void Write(const void* data, uint64_t size) { ThrowIfFailed(host_, host_.context->Write(writer_, data, size)); }

 private:
  const EpHostInfo& host_;
  EpContextWriter* writer_;
};

// A task of the host's: how far compiling is, and what it is told to the user.
class Task {
 public:
  Task(const EpHostInfo& host, EpTask* task) : host_(host), task_(task) {}
  // Throws MODEL_LOAD_CANCELED when the user has cancelled.
  void Report(uint64_t done, uint64_t total, const char* text = nullptr) const {
    if (host_.task->ReportProgress(task_, done, total, text) != 0) {
      throw Error(EP_STATUS_MODEL_LOAD_CANCELED, "compiling was cancelled");
    }
  }
  bool IsCancelled() const { return host_.task->IsCancelled(task_) != 0; }
  EpTask* handle() const { return task_; }

 private:
  const EpHostInfo& host_;
  EpTask* task_;
};

struct Partition {
  std::string_view name;
  GraphView graph;
  Task task;
};

// Throw it in Compile: the host gives the partition to somebody else, and the session goes on.
class Declined : public Error {
 public:
  explicit Declined(std::string reason) : Error(EP_STATUS_NOT_IMPLEMENTED, std::move(reason)) {}
};

class Provider {
 public:
  virtual ~Provider() = default;

  // Can this node run here? The host groups what can. `why_not` is shown in the placement report.
  virtual bool Supports(const NodeView& node, std::string* why_not) = 0;
  // Throws Declined for a partition that is somebody else's after all.
  virtual std::unique_ptr<Kernel> Compile(const Partition& partition) = 0;

  // Contexts: one payload for all partitions, in the order of Compile.
  virtual void SaveContext(const std::vector<std::string>& partitions, ContextWriter& writer) {
    (void)partitions;
    (void)writer;
  }
  // Instead of SaveContext, in a session whose share group goes on: the last session's SaveContext writes these too.
  virtual void KeepContext(const std::vector<std::string>& partitions) {
    (void)partitions;
    throw Error(EP_STATUS_NOT_IMPLEMENTED, "this provider can't put the contexts of several sessions into one payload");
  }
  // What contexts of this provider depend on; written into each, and compared by CheckContext. Empty: on nothing. As a
  // default, kSdkVersion and the architecture of the session's device.
  virtual std::string SdkVersion() const { return sdk_version; }
  virtual std::string Hardware() const { return hardware; }
  // Called for each context node before LoadContext: throws when what made it doesn't fit. Override it to accept more
  // than what is equal.
  virtual void CheckContext(const ContextOrigin& origin) const {
    for (const std::string& why : {SdkMismatch(origin, SdkVersion()), HardwareMismatch(origin, Hardware())}) {
      if (!why.empty()) throw Error(EP_STATUS_INVALID_GRAPH, why);
    }
  }
  // `payload` outlives the kernel.
  virtual std::unique_ptr<Kernel> LoadContext(std::string_view partition, std::span<const std::byte> payload) {
    (void)partition;
    (void)payload;
    throw Error(EP_STATUS_NOT_IMPLEMENTED, "this provider makes no contexts");
  }

  // Set by the trampolines, which make the provider.
  ShareMembership share_membership;
  std::string sdk_version;
  std::string hardware;
};

namespace detail {

// What a plugin's handles are: each knows the host that it belongs to, so that one library serves several.
struct PluginHandle {
  const EpHostInfo* host;
  EpDeviceInfo only_device;  // of a plugin that declares none
};
struct ProviderHandle {
  const EpHostInfo* host;
  std::unique_ptr<Provider> provider;
};
struct KernelHandle {
  const EpHostInfo* host;
  std::unique_ptr<Kernel> kernel;
};

inline PluginHandle& From(EpPlugin* plugin) { return *reinterpret_cast<PluginHandle*>(plugin); }
inline ProviderHandle& From(EpProvider* provider) { return *reinterpret_cast<ProviderHandle*>(provider); }
inline KernelHandle& From(EpKernel* kernel) { return *reinterpret_cast<KernelHandle*>(kernel); }

// No more than there is room for.
inline void Give(const EpKernelInfo& from, EpKernelInfo* to) {
  const uint32_t size = std::min<uint32_t>(to->struct_size, sizeof(from));
  std::memcpy(to, &from, size);
  to->struct_size = size;
}

// What EPIPHYTE_KIT_PLUGIN instantiates. Has no state.
template <typename ProviderClass>
struct EPIPHYTE_KIT_HIDDEN Trampolines {
  static constexpr bool kMakesContexts = requires { ProviderClass::kMakesContexts; };
  // What can't be named here (private, overloaded) was declared by the plugin too.
  static constexpr bool kOverridesSdkVersion = [] {
    if constexpr (requires { &ProviderClass::SdkVersion; }) {
      return !std::is_same_v<decltype(&ProviderClass::SdkVersion), decltype(&Provider::SdkVersion)>;
    } else {
      return true;
    }
  }();
  static constexpr bool kOverridesHardware = [] {
    if constexpr (requires { &ProviderClass::Hardware; }) {
      return !std::is_same_v<decltype(&ProviderClass::Hardware), decltype(&Provider::Hardware)>;
    } else {
      return true;
    }
  }();
  static constexpr bool kOverridesCheck = [] {
    if constexpr (requires { &ProviderClass::CheckContext; }) {
      return !std::is_same_v<decltype(&ProviderClass::CheckContext), decltype(&Provider::CheckContext)>;
    } else {
      return true;
    }
  }();

  static const char* SdkVersion() {
    if constexpr (requires { ProviderClass::kSdkVersion; }) return ProviderClass::kSdkVersion;
    return "";
  }
  static std::span<const EpDeviceInfo> Devices(const PluginHandle& plugin) {
    if constexpr (requires { ProviderClass::Devices(); }) {
      return ProviderClass::Devices();
    } else {
      return {&plugin.only_device, 1};
    }
  }
  static std::string_view Architecture(const EpDeviceInfo& device) {
    return device.architecture == nullptr ? "" : device.architecture;
  }

  static EpKernel* ToAbi(const EpHostInfo* host, std::unique_ptr<Kernel> kernel) {
    return reinterpret_cast<EpKernel*>(new KernelHandle{host, std::move(kernel)});
  }

  static EpStatus* Initialize(const EpHostInfo* host, EpPlugin** plugin, const EpDeviceInfo& only_device) {
    return Guard(*host, [&] { *plugin = reinterpret_cast<EpPlugin*>(new PluginHandle{host, only_device}); });
  }
  static void EP_CALL Shutdown(EpPlugin* plugin) { delete &From(plugin); }

  static EpStatus* EP_CALL GetDevices(EpPlugin* plugin, const EpDeviceInfo** devices, uint32_t capacity,
                                      uint32_t* count) {
    return Guard(*From(plugin).host, [&] {
      const std::span<const EpDeviceInfo> all = Devices(From(plugin));
      *count = static_cast<uint32_t>(all.size());
      for (size_t i = 0; i < all.size() && i < capacity; ++i) devices[i] = &all[i];
    });
  }

  // Without a provider: what only a provider knows is judged when it loads the context. `source` is the plugin's; a
  // context of another's isn't judged.
  static EpStatus* CheckContext(EpPlugin* plugin, const EpContextHeader* header, std::string_view source,
                                EpContextVerdict* verdict, char* reason, uint64_t reason_capacity) {
    return Guard(*From(plugin).host, [&] {
      const ContextOrigin origin = ContextOrigin::Of(*header);
      const bool mine = header->source == nullptr || *header->source == '\0' || header->source == source;
      std::string why;
      *verdict = EP_CONTEXT_OPTIMAL;
      if (!mine) {
        *verdict = EP_CONTEXT_NOT_APPLICABLE;
        why = std::string("its source is '") + header->source + "', this plugin's is '" + std::string(source) + "'";
      } else if (kOverridesCheck || kOverridesSdkVersion || kOverridesHardware) {
        *verdict = EP_CONTEXT_NOT_APPLICABLE;
        why = "the provider judges contexts when it loads them";
      }
      if (mine && !kOverridesCheck && !kOverridesSdkVersion) why = Worse(SdkMismatch(origin, SdkVersion()), why, verdict);
      if (mine && !kOverridesCheck && !kOverridesHardware) {
        const std::vector<const EpDeviceInfo*> asked = AskedDevices(Devices(From(plugin)), *header);
        const bool here = std::any_of(asked.begin(), asked.end(), [&](const EpDeviceInfo* device) {
          return HardwareMismatch(origin, Architecture(*device)).empty();
        });
        if (!here && !asked.empty()) why = Worse(HardwareMismatch(origin, Architecture(*asked[0])), why, verdict);
      }
      if (reason == nullptr || reason_capacity == 0) return;
      const size_t size = std::min<size_t>(why.size(), static_cast<size_t>(reason_capacity - 1));
      std::memcpy(reason, why.data(), size);
      reason[size] = '\0';
    });
  }
  // Those of the session that asks; all without one.
  static std::vector<const EpDeviceInfo*> AskedDevices(std::span<const EpDeviceInfo> all,
                                                       const EpContextHeader& header) {
    std::vector<const EpDeviceInfo*> asked;
    for (uint32_t i = 0; i < header.device_count; ++i) {
      if (header.devices[i] < all.size()) asked.push_back(&all[header.devices[i]]);
    }
    if (header.device_count == 0) {
      for (const EpDeviceInfo& device : all) asked.push_back(&device);
    }
    return asked;
  }
  static std::string Worse(std::string mismatch, std::string why, EpContextVerdict* verdict) {
    if (mismatch.empty()) return why;
    *verdict = EP_CONTEXT_UNSUPPORTED;
    return mismatch;
  }

  static EpStatus* EP_CALL CreateProvider(EpPlugin* plugin, const EpProviderConfig* config, EpProvider** provider) {
    const EpHostInfo* host = From(plugin).host;
    return Guard(*host, [&] {
      if (config->reserved != 0) throw Error(EP_STATUS_INVALID_ARGUMENT, "EpProviderConfig::reserved is not 0");
      ProviderConfig kit_config{*host,
                                {},
                                config->thread_pool,
                                {config->devices, config->devices + config->device_count},
                                config->context_enabled != 0,
                                config->share_group};
      for (uint32_t i = 0; i < config->option_count; ++i)
        kit_config.options[config->options[i].key] = config->options[i].value;
      std::unique_ptr<Provider> made = std::make_unique<ProviderClass>(kit_config);
      made->share_membership = ShareMembership(*host, config->share_group);
      made->sdk_version = SdkVersion();
      const std::span<const EpDeviceInfo> devices = Devices(From(plugin));
      if (config->device_count != 0 && config->devices[0] < devices.size()) {
        made->hardware = Architecture(devices[config->devices[0]]);
      }
      *provider = reinterpret_cast<EpProvider*>(new ProviderHandle{host, std::move(made)});
    });
  }
  static void EP_CALL DestroyProvider(EpProvider* provider) { delete &From(provider); }

  static EpStatus* EP_CALL GetCapability(EpProvider* provider, const EpGraph* graph, EpCapabilitySink* sink) {
    const EpHostInfo* host = From(provider).host;
    return Guard(*host, [&] {
      GraphView view(*host, graph);
      std::vector<const EpNode*> supported;
      for (size_t i = 0; i < view.node_count(); ++i) {
        NodeView node = view.node(i);
        if (node.placed()) continue;
        std::string why_not;
        if (From(provider).provider->Supports(node, &why_not)) {
          supported.push_back(node.handle());
        } else {
          ThrowIfFailed(*host, host->capability->DeclineNode(sink, node.handle(),
                                                             why_not.empty() ? "not supported" : why_not.c_str()));
        }
      }
      ThrowIfFailed(*host, host->capability->SupportNodes(sink, supported.data(), supported.size()));
    });
  }

  static EpStatus* EP_CALL Compile(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count,
                                   EpTask* task, EpKernel** kernels) {
    const EpHostInfo* host = From(provider).host;
    return Guard(*host, [&] {
      const Task mine(*host, task);
      for (uint64_t i = 0; i < count; ++i) {
        mine.Report(i, count, partitions[i]->name);
        try {
          const Partition partition{partitions[i]->name, GraphView(*host, partitions[i]->graph), mine};
          kernels[i] = ToAbi(host, From(provider).provider->Compile(partition));
        } catch (const Declined& declined) {
          ThrowIfFailed(*host, host->task->DeclinePartition(task, i, declined.what()));
        }
      }
    });
  }

  static EpStatus* EP_CALL GetEpContextNodes(EpProvider* provider, EpContextSink* sink, EpTask*) {
    const EpHostInfo* host = From(provider).host;
    return Guard(*host, [&] {
      Provider& mine = *From(provider).provider;
      EpContextSinkInfo info = {};
      info.struct_size = sizeof(info);
      ThrowIfFailed(*host, host->context->GetSinkInfo(sink, &info));
      std::vector<std::string> names;
      std::vector<uint32_t> places;
      for (uint32_t i = 0; i < info.partition_count; ++i) {
        if (info.partition_names[i] == nullptr) continue;  // declined
        names.push_back(info.partition_names[i]);
        places.push_back(i);
      }
      EpContextWriter* payload = nullptr;
      if (mine.share_membership.defers_payload()) {
        mine.KeepContext(names);
      } else {
        ThrowIfFailed(*host, host->context->BeginPayload(sink, &payload));
        ContextWriter writer(*host, payload);
        mine.SaveContext(names, writer);
        ThrowIfFailed(*host, host->context->EndPayload(payload));
      }
      std::string sdk = mine.SdkVersion();
      std::string hardware = mine.Hardware();
      for (size_t i = 0; i < places.size(); ++i) {
        EpContextNodeDesc node = {};
        node.struct_size = sizeof(node);
        node.partition = places[i];
        node.main_context = i == 0 ? 1 : 0;
        node.payload = i == 0 ? payload : nullptr;
        node.ep_sdk_version = sdk.empty() ? nullptr : sdk.c_str();
        node.hardware_architecture = hardware.empty() ? nullptr : hardware.c_str();
        ThrowIfFailed(*host, host->context->AddNode(sink, &node));
      }
    });
  }

  static EpStatus* EP_CALL LoadContext(EpProvider* provider, const EpContextNodeInfo* const* nodes, uint64_t node_count,
                                       const EpContextBlob* const* blobs, uint64_t blob_count, EpTask*,
                                       EpKernel** kernels) {
    const EpHostInfo* host = From(provider).host;
    return Guard(*host, [&] {
      Provider& mine = *From(provider).provider;
      for (uint64_t i = 0; i < node_count; ++i) {
        mine.CheckContext(ContextOrigin::Of(*nodes[i]));
        kernels[i] = ToAbi(host, LoadNode(mine, *nodes[i], {blobs, static_cast<size_t>(blob_count)}));
      }
    });
  }
  // Where several payloads fit, the node's graph is in the first that has it.
  static std::unique_ptr<Kernel> LoadNode(Provider& mine, const EpContextNodeInfo& node,
                                          std::span<const EpContextBlob* const> blobs) {
    const auto load = [&](const EpContextBlob& blob) {
      return mine.LoadContext(node.partition_name,
                              {static_cast<const std::byte*>(blob.data), static_cast<size_t>(blob.size)});
    };
    const bool several = node.blob == -1;
    if (several ? blobs.empty() : node.blob < 0 || static_cast<size_t>(node.blob) >= blobs.size()) {
      throw Error(EP_STATUS_INVALID_GRAPH,
                  std::string("EPContext node for partition '") + node.partition_name + "' has no payload");
    }
    if (!several) return load(*blobs[static_cast<size_t>(node.blob)]);
    for (size_t i = 0; i + 1 < blobs.size(); ++i) {
      try {
        return load(*blobs[i]);
      } catch (const Error& error) {
        if (error.code() != EP_STATUS_INVALID_GRAPH) throw;
      }
    }
    return load(*blobs.back());
  }

  static void EP_CALL ReleaseKernel(EpKernel* kernel) { delete &From(kernel); }

  static EpStatus* EP_CALL Execute(EpKernel* kernel, EpKernelState*, EpRun* run) {
    const KernelHandle& mine = From(kernel);
    return Guard(*mine.host, [&] { mine.kernel->Execute(Run(*mine.host, run)); });
  }

  static EpStatus* EP_CALL DescribeKernel(EpKernel* kernel, EpKernelInfo* info) {
    const KernelHandle& mine = From(kernel);
    return Guard(*mine.host, [&] {
      EpKernelInfo described = {};
      mine.kernel->Describe(&described);
      if (mine.kernel->IsExclusive()) described.flags |= EP_KERNEL_EXCLUSIVE;
      Give(described, info);
    });
  }

  static const OperatorTable& TheOperators() {
    static const OperatorTable* const table = new OperatorTable(ProviderClass::Operators());
    return *table;
  }
  static EpStatus* EP_CALL GetOperators(EpPlugin* plugin, const EpOperatorInfo** operators, uint32_t capacity,
                                        uint32_t* count) {
    return Guard(*From(plugin).host, [&] { TheOperators().Get(operators, capacity, count); });
  }
  static EpStatus* EP_CALL InferTypes(EpPlugin* plugin, const EpOperatorInfo* op, const EpNode* node,
                                      EpInference* inference) {
    const EpHostInfo& host = *From(plugin).host;
    return Guard(host, [&] {
      const auto* api = static_cast<const EpInferenceApi*>(host.GetExtension(&host, EP_SCHEMA_EXTENSION));
      TheOperators().Infer(host, api, op, node, inference);
    });
  }
  static const OptionTable& TheOptions() {
    static const OptionTable* const table = new OptionTable(ProviderClass::Options());
    return *table;
  }
  static EpStatus* EP_CALL GetOptions(EpPlugin* plugin, const EpOptionInfo** options, uint32_t capacity,
                                      uint32_t* count) {
    return Guard(*From(plugin).host, [&] { TheOptions().Get(options, capacity, count); });
  }
  static const void* EP_CALL GetExtension(EpPlugin*, const char* id) {
    if constexpr (requires { ProviderClass::Options(); }) {
      static constexpr EpOptionsApi kOptionsApi = {sizeof(EpOptionsApi), 0, GetOptions};
      if (std::strcmp(id, EP_OPTIONS_EXTENSION) == 0) return &kOptionsApi;
    }
    if constexpr (requires { ProviderClass::Operators(); }) {
      static constexpr EpSchemaApi kSchemaApi = {sizeof(EpSchemaApi), 0, GetOperators, InferTypes};
      if (std::strcmp(id, EP_SCHEMA_EXTENSION) == 0) return &kSchemaApi;
    }
    if constexpr (requires { ProviderClass::Extension(std::string_view(id)); }) {
      return ProviderClass::Extension(std::string_view(id));
    }
    return nullptr;
  }

  static inline const EpProviderApi provider_api = {sizeof(EpProviderApi),
                                                    0,
                                                    CreateProvider,
                                                    DestroyProvider,
                                                    GetCapability,
                                                    Compile,
                                                    kMakesContexts ? GetEpContextNodes : nullptr,
                                                    kMakesContexts ? LoadContext : nullptr,
                                                    ReleaseKernel,
                                                    nullptr,
                                                    nullptr,
                                                    Execute,
                                                    DescribeKernel};
};

}  // namespace detail

// For functions of a plugin's own tables, which the host calls with what Initialize made.
inline const EpHostInfo& HostOf(EpPlugin* plugin) { return *detail::From(plugin).host; }

}  // namespace epiphyte::kit

// Defines EpPluginQuery. A plugin that needs more than this writes its own descriptor and takes the trampolines from
// detail::Trampolines.
#define EPIPHYTE_KIT_PLUGIN(ProviderClass, plugin_name, plugin_vendor, plugin_version, plugin_source)                 \
  EP_EXPORT const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo*, const EpPluginEnvironment*) {          \
    using T = ::epiphyte::kit::detail::Trampolines<ProviderClass>;                                                    \
    static const char* const kSources[] = {plugin_source};                                                            \
    static const EpPluginDescriptor kDescriptor = {                                                                   \
        sizeof(EpPluginDescriptor),                                                                                   \
        ::epiphyte::kit::kLowestAbi,                                                                                  \
        plugin_name,                                                                                                  \
        plugin_vendor,                                                                                                \
        plugin_version,                                                                                               \
        kSources,                                                                                                     \
        1,                                                                                                            \
        0,                                                                                                            \
        [](const EpHostInfo* host, const EpPluginEnvironment*, EpPlugin** plugin) {                                   \
          return T::Initialize(                                                                                       \
              host, plugin,                                                                                           \
              ::epiphyte::kit::MakeDevice(EP_DEVICE_OTHER, plugin_name, plugin_vendor, plugin_version, plugin_name)); \
        },                                                                                                            \
        T::Shutdown,                                                                                                  \
        T::GetDevices,                                                                                                \
        T::kMakesContexts ? [](EpPlugin* plugin, const EpContextHeader* header, EpContextVerdict* verdict,            \
                               char* reason, uint64_t reason_capacity) {                                              \
          return T::CheckContext(plugin, header, plugin_source, verdict, reason, reason_capacity);                    \
        } : static_cast<decltype(EpPluginDescriptor::CheckContext)>(nullptr),                                         \
        &T::provider_api,                                                                                             \
        T::GetExtension};                                                                                             \
    return &kDescriptor;                                                                                              \
  }
