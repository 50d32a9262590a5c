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
// To save contexts, override SaveContext and LoadContext as well, declare `static constexpr bool kMakesContexts =
// true;`, and `static constexpr const char* kSdkVersion = "…";`. Each context carries the SDK version and the hardware
// that it was made for, and one that doesn't fit is refused before LoadContext; with kSdkVersion that can be judged
// without a provider too, as `epiphyte verify` does.
//
// A plugin with devices of its own declares `static std::span<const EpDeviceInfo> Devices();` in its provider class,
// which live as long as the process; a session's option `device` chooses one or several. One that brings operators of
// its own declares `static std::span<const kit::Operator> Operators();` (schema.hpp), one that takes options
// `static std::span<const kit::Option> Options();` (options.hpp). One that has tables for other extensions declares
// `static const void* Extension(std::string_view id);`, null for an id that it doesn't know. Devices with memory of
// their own need a plugin class, as below, that overrides Memories() (device_memory.hpp).
//
// A plugin whose providers have something in common (a driver, a registry, devices that are found at run time), or that
// judges contexts itself, has a class of its own for that, of which each host gets one:
//
//   class MyPlugin : public epiphyte::kit::Plugin {
//    public:
//     static constexpr bool kMakesContexts = true;
//     explicit MyPlugin(const epiphyte::kit::PluginConfig& config) : Plugin(config),
//     driver_(config.Parameter("driver")) {} std::span<const EpDeviceInfo> Devices() override { return
//     driver_.devices(); } epiphyte::kit::ContextVerdict CheckContext(const epiphyte::kit::ContextHeader& header)
//     override { … } std::unique_ptr<epiphyte::kit::Provider> CreateProvider(const epiphyte::kit::ProviderConfig&
//     config) override {
//       return std::make_unique<MyProvider>(driver_, config);
//     }
//   };
//   EPIPHYTE_KIT_PLUGIN(MyPlugin, "my-ep", "My Company", "1.0.0", "MySource", "MyOlderSource")
//
// What is wrong with a plugin that can be seen when it is compiled is said then.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "epiphyte/ep_entry.h"
#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/abi/log.hpp"
#include "epiphyte/kit/abi/verdict.hpp"
#include "epiphyte/kit/abi/visibility.hpp"
#include "epiphyte/kit/plugin/context.hpp"
#include "epiphyte/kit/plugin/device.hpp"
#include "epiphyte/kit/plugin/device_memory.hpp"
#include "epiphyte/kit/plugin/options.hpp"
#include "epiphyte/kit/plugin/provider.hpp"
#include "epiphyte/kit/plugin/schema.hpp"

namespace epiphyte::kit {

// The lowest ABI that a plugin of this kit can live with.
inline constexpr uint32_t kLowestAbi = EP_MAKE_ABI_VERSION(0, 2);

// What EPIPHYTE_KIT_PLUGIN says. Lives as long as the process.
struct PluginInfo {
  const char* name;
  const char* vendor;
  const char* version;
  std::span<const char* const> sources;
};

struct PluginConfig {
  const EpHostInfo& host;
  const EpPluginEnvironment& environment;  // as the host: for the life of the process
  const PluginInfo& info;

  // Of the manifest's `parameters`.
  std::optional<std::string_view> Parameter(std::string_view key) const;
};

// The plugin in one host. Devices, CreateProvider and CheckContext are called as ep_plugin.h says.
class Plugin {
 public:
  explicit Plugin(const PluginConfig& config);
  virtual ~Plugin() = default;
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  // They live as long as the plugin. As a default, one that stands for whatever the plugin runs on.
  virtual std::span<const EpDeviceInfo> Devices() { return {&only_device_, 1}; }
  virtual std::unique_ptr<Provider> CreateProvider(const ProviderConfig& config) = 0;

  // What contexts depend on, when that can be said without a provider; see Provider::SdkVersion.
  virtual std::string SdkVersion() const { return {}; }
  // Whether a context can be used; cheap, without device work. [any thread] As a default: its source is one of the
  // plugin's, and its SDK version and hardware are those here, as far as it names any.
  virtual ContextVerdict CheckContext(const ContextHeader& header);

  // Operators of its own; they live as long as the process.
  virtual std::span<const Operator> Operators() { return {}; }
  // The options that sessions may give; they live as long as the process. Nothing: the providers look at options
  // themselves.
  virtual std::optional<std::span<const Option>> Options() { return std::nullopt; }
  // The memories and streams of its devices, as long as it lives (device_memory.hpp). Null: values are in host memory.
  virtual DeviceMemories* Memories() { return nullptr; }
  // Tables of other extensions; null for an id that it doesn't know.
  virtual const void* Extension(std::string_view id) {
    (void)id;
    return nullptr;
  }

  const EpHostInfo& host() const { return host_; }
  const PluginInfo& info() const { return info_; }
  Log log() const { return Log(host_, info_.name); }

 protected:
  // CheckContext's default, or parts of it.
  ContextVerdict JudgeOrigin(const ContextHeader& header, bool judges_sdk, bool judges_hardware);

 private:
  const EpHostInfo& host_;
  const PluginInfo& info_;
  const EpDeviceInfo only_device_;
};

// For functions of a plugin's own tables, which the host calls with what Initialize made.
const EpHostInfo& HostOf(EpPlugin* plugin);
Plugin& PluginOf(EpPlugin* plugin);

namespace detail {

// Whether a class declares what it could inherit. What can't be named here (private, overloaded) it declares.
#define EPIPHYTE_KIT_DECLARES(function)                                              \
  template <typename Class, typename Base>                                           \
  inline constexpr bool kDeclares##function = [] {                                   \
    if constexpr (requires { &Class::function; }) {                                  \
      return !std::is_same_v<decltype(&Class::function), decltype(&Base::function)>; \
    } else {                                                                         \
      return true;                                                                   \
    }                                                                                \
  }();
EPIPHYTE_KIT_DECLARES(Supports)
EPIPHYTE_KIT_DECLARES(GetCapability)
EPIPHYTE_KIT_DECLARES(Compile)
EPIPHYTE_KIT_DECLARES(CompileAll)
EPIPHYTE_KIT_DECLARES(SaveContext)
EPIPHYTE_KIT_DECLARES(SaveContexts)
EPIPHYTE_KIT_DECLARES(LoadContext)
EPIPHYTE_KIT_DECLARES(LoadContexts)
EPIPHYTE_KIT_DECLARES(SdkVersion)
EPIPHYTE_KIT_DECLARES(Hardware)
EPIPHYTE_KIT_DECLARES(CheckContext)
#undef EPIPHYTE_KIT_DECLARES

template <typename Class>
constexpr bool MakesContexts() {
  if constexpr (requires { Class::kMakesContexts; }) return Class::kMakesContexts;
  return false;
}

// A plugin that is its provider class and nothing else.
template <typename ProviderClass>
class EPIPHYTE_KIT_HIDDEN PluginOfProvider final : public Plugin {
 public:
  using Plugin::Plugin;

  std::span<const EpDeviceInfo> Devices() override {
    if constexpr (requires { ProviderClass::Devices(); }) {
      return ProviderClass::Devices();
    } else {
      return Plugin::Devices();
    }
  }
  std::unique_ptr<Provider> CreateProvider(const ProviderConfig& config) override {
    return std::make_unique<ProviderClass>(config);
  }
  std::string SdkVersion() const override {
    if constexpr (requires { ProviderClass::kSdkVersion; }) return ProviderClass::kSdkVersion;
    return {};
  }
  // What only a provider knows is judged when it loads the context.
  ContextVerdict CheckContext(const ContextHeader& header) override {
    constexpr bool kOwnCheck = kDeclaresCheckContext<ProviderClass, Provider>;
    return JudgeOrigin(header, !kOwnCheck && !kDeclaresSdkVersion<ProviderClass, Provider>,
                       !kOwnCheck && !kDeclaresHardware<ProviderClass, Provider>);
  }
  std::span<const Operator> Operators() override {
    if constexpr (requires { ProviderClass::Operators(); }) return ProviderClass::Operators();
    return {};
  }
  std::optional<std::span<const Option>> Options() override {
    if constexpr (requires { ProviderClass::Options(); }) return ProviderClass::Options();
    return std::nullopt;
  }
  const void* Extension(std::string_view id) override {
    if constexpr (requires { ProviderClass::Extension(id); }) return ProviderClass::Extension(id);
    return nullptr;
  }
};

template <typename Class>
constexpr void CheckProviderClass() {
  static_assert(kDeclaresSupports<Class, Provider> || kDeclaresGetCapability<Class, Provider>,
                "the provider claims no node: override Supports or GetCapability");
  static_assert(kDeclaresCompile<Class, Provider> || kDeclaresCompileAll<Class, Provider>,
                "the provider compiles nothing: override Compile or CompileAll");
  if constexpr (MakesContexts<Class>()) {
    static_assert(kDeclaresSaveContext<Class, Provider> || kDeclaresSaveContexts<Class, Provider>,
                  "kMakesContexts is true, but nothing is saved: override SaveContext or SaveContexts");
    static_assert(kDeclaresLoadContext<Class, Provider> || kDeclaresLoadContexts<Class, Provider>,
                  "kMakesContexts is true, but nothing is loaded: override LoadContext or LoadContexts");
    static_assert(
        requires { Class::kSdkVersion; } || kDeclaresSdkVersion<Class, Provider> ||
            kDeclaresSaveContexts<Class, Provider>,
        "contexts without a version: declare static constexpr const char* kSdkVersion = \"…\";");
  } else if constexpr (!requires { Class::kMakesContexts; }) {
    static_assert(!kDeclaresSaveContext<Class, Provider> && !kDeclaresSaveContexts<Class, Provider>,
                  "contexts are saved, but nobody asks for them: declare static constexpr bool kMakesContexts = true;");
  }
}

template <typename Class>
std::unique_ptr<Plugin> MakePlugin(const PluginConfig& config) {
  if constexpr (std::derived_from<Class, Provider>) {
    CheckProviderClass<Class>();
    return std::make_unique<PluginOfProvider<Class>>(config);
  } else {
    static_assert(std::derived_from<Class, Plugin>,
                  "EPIPHYTE_KIT_PLUGIN takes a class derived from kit::Provider or kit::Plugin");
    return std::make_unique<Class>(config);
  }
}

EpStatus* Initialize(const EpHostInfo* host, const EpPluginEnvironment* environment, const PluginInfo& info,
                     std::unique_ptr<Plugin> (*make)(const PluginConfig& config), EpPlugin** plugin) noexcept;
EpPluginDescriptor MakeDescriptor(const PluginInfo& info, bool makes_contexts,
                                  decltype(EpPluginDescriptor::Initialize) initialize);

}  // namespace detail
}  // namespace epiphyte::kit

// The descriptor of `Class`, derived from kit::Provider or from kit::Plugin, with the sources of its contexts, which
// may be none. For a library that serves several manifests, whose EpPluginQuery chooses one by
// EpPluginEnvironment::name.
#define EPIPHYTE_KIT_DESCRIPTOR(Class, plugin_name, plugin_vendor, plugin_version, ...)                      \
  [] {                                                                                                       \
    static constexpr const char* kSources[] = {__VA_ARGS__ __VA_OPT__(, ) nullptr};                          \
    static constexpr ::epiphyte::kit::PluginInfo kInfo = {                                                   \
        plugin_name, plugin_vendor, plugin_version, {kSources, sizeof(kSources) / sizeof(kSources[0]) - 1}}; \
    static const EpPluginDescriptor kDescriptor = ::epiphyte::kit::detail::MakeDescriptor(                   \
        kInfo, ::epiphyte::kit::detail::MakesContexts<Class>(),                                              \
        [](const EpHostInfo* host, const EpPluginEnvironment* environment, EpPlugin** plugin) {              \
          return ::epiphyte::kit::detail::Initialize(host, environment, kInfo,                               \
                                                     ::epiphyte::kit::detail::MakePlugin<Class>, plugin);    \
        });                                                                                                  \
    return &kDescriptor;                                                                                     \
  }()

// Defines EpPluginQuery.
#define EPIPHYTE_KIT_PLUGIN(Class, plugin_name, plugin_vendor, plugin_version, ...)                               \
  EP_EXPORT const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo*, const EpPluginEnvironment*) {      \
    return EPIPHYTE_KIT_DESCRIPTOR(Class, plugin_name, plugin_vendor, plugin_version __VA_OPT__(, ) __VA_ARGS__); \
  }
