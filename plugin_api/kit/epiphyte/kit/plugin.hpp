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
// true;`.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/ep_plugin.h"
#include "epiphyte/kit/error.hpp"
#include "epiphyte/kit/graph.hpp"
#include "epiphyte/kit/share.hpp"
#include "epiphyte/kit/visibility.hpp"

namespace epiphyte::kit {

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
};

struct ProviderConfig {
  const EpHostInfo& host;
  std::map<std::string, std::string> options;
  EpThreadPool* thread_pool = nullptr;
  uint32_t device = 0;
  bool context_enabled = false;
  EpShareGroup* share_group = nullptr;  // for kit::ShareGroup
};

struct Partition {
  std::string_view name;
  GraphView graph;
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

class Provider {
 public:
  virtual ~Provider() = default;

  // Can this node run here? The host groups what can. `why_not` is shown in the placement report.
  virtual bool Supports(const NodeView& node, std::string* why_not) = 0;
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
  virtual std::string SdkVersion() const { return {}; }
  virtual std::string Hardware() const { return {}; }
  // `payload` outlives the kernel.
  virtual std::unique_ptr<Kernel> LoadContext(std::string_view partition, std::span<const std::byte> payload) {
    (void)partition;
    (void)payload;
    throw Error(EP_STATUS_NOT_IMPLEMENTED, "this provider makes no contexts");
  }

  // Set by the trampolines, which make the provider.
  ShareMembership share_membership;
};

namespace detail {

// What EPIPHYTE_KIT_PLUGIN instantiates. The host pointer is the plugin's only global state; it is set by the query,
// which the host calls first, and is never destroyed.
template <typename ProviderClass>
struct EPIPHYTE_KIT_HIDDEN Trampolines {
  static inline const EpHostInfo* host = nullptr;
  static constexpr bool kMakesContexts = requires { ProviderClass::kMakesContexts; };

  static Provider& From(EpProvider* provider) { return *reinterpret_cast<Provider*>(provider); }
  static Kernel& From(EpKernel* kernel) { return *reinterpret_cast<Kernel*>(kernel); }
  static EpKernel* ToAbi(std::unique_ptr<Kernel> kernel) { return reinterpret_cast<EpKernel*>(kernel.release()); }

  static EpStatus* EP_CALL Initialize(const EpHostInfo*, const EpPluginEnvironment*, EpPlugin** plugin) {
    *plugin = reinterpret_cast<EpPlugin*>(&host);
    return nullptr;
  }
  static void EP_CALL Shutdown(EpPlugin*) {}

  static EpStatus* EP_CALL CreateProvider(EpPlugin*, const EpProviderConfig* config, EpProvider** provider) {
    return Guard(*host, [&] {
      ProviderConfig kit_config{
          *host, {}, config->thread_pool, config->device, config->context_enabled != 0, config->share_group};
      for (uint32_t i = 0; i < config->option_count; ++i)
        kit_config.options[config->options[i].key] = config->options[i].value;
      std::unique_ptr<Provider> made = std::make_unique<ProviderClass>(kit_config);
      made->share_membership = ShareMembership(*host, config->share_group);
      *provider = reinterpret_cast<EpProvider*>(made.release());
    });
  }
  static void EP_CALL DestroyProvider(EpProvider* provider) { delete &From(provider); }

  static EpStatus* EP_CALL GetCapability(EpProvider* provider, const EpGraph* graph, EpCapabilitySink* sink) {
    return Guard(*host, [&] {
      GraphView view(*host, graph);
      std::vector<const EpNode*> supported;
      for (size_t i = 0; i < view.node_count(); ++i) {
        NodeView node = view.node(i);
        if (node.placed()) continue;
        std::string why_not;
        if (From(provider).Supports(node, &why_not)) {
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
                                   EpProgress* progress, EpKernel** kernels) {
    return Guard(*host, [&] {
      for (uint64_t i = 0; i < count; ++i) {
        if (host->services->ReportProgress(progress, i, count, partitions[i]->name) != 0) {
          throw Error(EP_STATUS_MODEL_LOAD_CANCELED, "compiling was cancelled");
        }
        kernels[i] = ToAbi(From(provider).Compile({partitions[i]->name, GraphView(*host, partitions[i]->graph)}));
      }
    });
  }

  static EpStatus* EP_CALL GetEpContextNodes(EpProvider* provider, EpContextSink* sink) {
    return Guard(*host, [&] {
      Provider& mine = From(provider);
      EpContextSinkInfo info = {};
      info.struct_size = sizeof(info);
      ThrowIfFailed(*host, host->context->GetSinkInfo(sink, &info));
      const std::vector<std::string> names(info.partition_names, info.partition_names + info.partition_count);
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
      for (uint32_t i = 0; i < info.partition_count; ++i) {
        EpContextNodeDesc node = {};
        node.struct_size = sizeof(node);
        node.partition = i;
        node.main_context = i == 0 ? 1 : 0;
        node.payload = i == 0 ? payload : nullptr;
        node.ep_sdk_version = sdk.empty() ? nullptr : sdk.c_str();
        node.hardware_architecture = hardware.empty() ? nullptr : hardware.c_str();
        ThrowIfFailed(*host, host->context->AddNode(sink, &node));
      }
    });
  }

  static EpStatus* EP_CALL LoadContext(EpProvider* provider, const EpContextNodeInfo* const* nodes, uint64_t node_count,
                                       const EpContextBlob* const* blobs, uint64_t blob_count, EpProgress*,
                                       EpKernel** kernels) {
    return Guard(*host, [&] {
      for (uint64_t i = 0; i < node_count; ++i) {
        kernels[i] = ToAbi(LoadNode(From(provider), *nodes[i], {blobs, static_cast<size_t>(blob_count)}));
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
    return Guard(*host, [&] { From(kernel).Execute(Run(*host, run)); });
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
                                                    Execute};
};

}  // namespace detail
}  // namespace epiphyte::kit

// Defines EpPluginQuery for one CPU-like device. A plugin with real devices writes its own descriptor and takes the
// trampolines from detail::Trampolines.
#define EPIPHYTE_KIT_PLUGIN(ProviderClass, plugin_name, plugin_vendor, plugin_version, plugin_source)        \
  EP_EXPORT const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo* host) {                        \
    using T = ::epiphyte::kit::detail::Trampolines<ProviderClass>;                                           \
    static const char* const kSources[] = {plugin_source};                                                   \
    static const EpDeviceInfo kDevice = {sizeof(EpDeviceInfo), EP_DEVICE_OTHER, plugin_name,                 \
                                         plugin_vendor,        plugin_version,  plugin_name};                \
    static const EpPluginDescriptor kDescriptor = {                                                          \
        sizeof(EpPluginDescriptor),                                                                          \
        EP_ABI_VERSION,                                                                                      \
        plugin_name,                                                                                         \
        plugin_vendor,                                                                                       \
        plugin_version,                                                                                      \
        kSources,                                                                                            \
        1,                                                                                                   \
        0,                                                                                                   \
        T::Initialize,                                                                                       \
        T::Shutdown,                                                                                         \
        [](EpPlugin*, const EpDeviceInfo** devices, uint32_t capacity, uint32_t* count) -> EpStatus* {       \
          *count = 1;                                                                                        \
          if (capacity > 0) devices[0] = &kDevice;                                                           \
          return nullptr;                                                                                    \
        },                                                                                                   \
        nullptr,                                                                                             \
        &T::provider_api,                                                                                    \
        nullptr};                                                                                            \
    if (host == nullptr || host->abi_min > EP_ABI_VERSION || host->abi_max < EP_ABI_VERSION) return nullptr; \
    T::host = host;                                                                                          \
    return &kDescriptor;                                                                                     \
  }
