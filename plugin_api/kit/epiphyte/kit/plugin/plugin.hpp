// Plugin: write two classes, get a plugin. The kit's trampolines around them satisfy the rules of the C ABI: no
// exception leaves the plugin, nulls are checked, and ownership is clear.
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
// To save contexts, override SaveContext and LoadContext as well, and declare `static constexpr bool kMakesContexts =
// true;` and `static constexpr const char* kSdkVersion = "…";`. Each context carries the SDK version and the hardware
// that it was made for. A context that does not fit is refused before LoadContext. With kSdkVersion, contexts can be
// judged without a provider too, as `epiphyte verify` does.
//
// Optional static members of the provider class declare more:
//   - `static std::span<const EpDeviceInfo> Devices();`: devices of the plugin. They live as long as the process. The
//     session option `device` chooses one or several.
//   - `static std::span<const kit::Operator> Operators();`: operators that the plugin brings (schema.hpp).
//   - `static std::span<const kit::Option> Options();`: options that sessions may give (options.hpp).
//   - `static const void* Extension(std::string_view id);`: tables for other extensions; null for an unknown id.
// Devices with memory of their own need a plugin class, as below, that overrides Memories() (device_memory.hpp).
//
// A plugin class of its own is for providers that share something (a driver, a registry, devices that are found at run
// time), and for a plugin that judges contexts itself. Each host gets one object of it:
//
//   class MyPlugin : public epiphyte::kit::Plugin {
//    public:
//     static constexpr bool kMakesContexts = true;
//     explicit MyPlugin(const epiphyte::kit::PluginConfig& config)
//         : Plugin(config), driver_(config.Parameter("driver")) {}
//     std::span<const EpDeviceInfo> Devices() override { return driver_.devices(); }
//     epiphyte::kit::ContextVerdict CheckContext(const epiphyte::kit::ContextHeader& header) override { … }
//     std::unique_ptr<epiphyte::kit::Provider> CreateProvider(const epiphyte::kit::ProviderConfig& config) override {
//       return std::make_unique<MyProvider>(driver_, config);
//     }
//   };
//   EPIPHYTE_KIT_PLUGIN(MyPlugin, "my-ep", "My Company", "1.0.0", "MySource", "MyOlderSource")
//
// Mistakes of a plugin class that the compiler can see are compile errors.
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

// Lowest ABI version of a host that a plugin built with this kit works with.
inline constexpr uint32_t kLowestAbi = EP_MAKE_ABI_VERSION(0, 2);

// Arguments of EPIPHYTE_KIT_PLUGIN. They live as long as the process.
struct PluginInfo {
  const char* name;
  const char* vendor;
  const char* version;
  std::span<const char* const> sources;
};

struct PluginConfig {
  const EpHostInfo& host;
  const EpPluginEnvironment& environment;  // lives as long as the process, as the host does
  const PluginInfo& info;

  // A value of the manifest's `parameters`; nothing when the manifest has no such key.
  std::optional<std::string_view> Parameter(std::string_view key) const;
};

// The plugin in one host. ep_plugin.h says when Devices, CreateProvider and CheckContext are called.
class Plugin {
 public:
  explicit Plugin(const PluginConfig& config);
  virtual ~Plugin() = default;
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  // The devices live as long as the plugin. Default: one device that stands for the hardware that the plugin runs on.
  virtual std::span<const EpDeviceInfo> Devices() { return {&only_device_, 1}; }
  virtual std::unique_ptr<Provider> CreateProvider(const ProviderConfig& config) = 0;

  // SDK version that contexts depend on, if it is known without a provider; see Provider::SdkVersion.
  virtual std::string SdkVersion() const { return {}; }
  // Judges whether a context can be used. The check is cheap and does no device work. [any thread] Default: the
  // context's source must be one of the plugin's sources. SDK version and hardware must equal the plugin's if the
  // context names them.
  virtual ContextVerdict CheckContext(const ContextHeader& header);

  // Operators that the plugin brings. They live as long as the process.
  virtual std::span<const Operator> Operators() { return {}; }
  // The options that sessions may give. They live as long as the process. Nothing means that the providers check their
  // options themselves.
  virtual std::optional<std::span<const Option>> Options() { return std::nullopt; }
  // Memories and streams of the plugin's devices. The object lives as long as the plugin (device_memory.hpp). Null:
  // values are in host memory.
  virtual DeviceMemories* Memories() { return nullptr; }
  // Tables of other extensions; null for an unknown id.
  virtual const void* Extension(std::string_view id) {
    (void)id;
    return nullptr;
  }

  const EpHostInfo& host() const { return host_; }
  const PluginInfo& info() const { return info_; }
  Log log() const { return Log(host_, info_.name); }

 protected:
  // The default of CheckContext. `judges_sdk` and `judges_hardware` select the parts that are checked.
  ContextVerdict JudgeOrigin(const ContextHeader& header, bool judges_sdk, bool judges_hardware);

 private:
  const EpHostInfo& host_;
  const PluginInfo& info_;
  const EpDeviceInfo only_device_;
};

// Host and plugin behind a handle that Initialize made, for functions in a plugin's own tables, which the host calls.
const EpHostInfo& HostOf(EpPlugin* plugin);
Plugin& PluginOf(EpPlugin* plugin);

namespace detail {

// kDeclares<function><Class, Base>: `Class` declares the member function itself instead of inheriting it. A function
// that can't be named here (private or overloaded) counts as declared.
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

// The plugin of a class that derives from Provider: everything comes from static members of that class.
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
  // SDK version and hardware that only a provider knows are judged when the provider loads the context.
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
    static_assert(
        !kDeclaresSaveContext<Class, Provider> && !kDeclaresSaveContexts<Class, Provider>,
        "contexts are saved, but the host does not ask for them: declare static constexpr bool kMakesContexts = true;");
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

// The descriptor of `Class`, derived from kit::Provider or kit::Plugin. The arguments after the version are the sources
// of its contexts; there may be none. It is for a library that serves several manifests: the EpPluginQuery of that
// library chooses a descriptor by EpPluginEnvironment::name.
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

// Defines EpPluginQuery for a library with one plugin.
#define EPIPHYTE_KIT_PLUGIN(Class, plugin_name, plugin_vendor, plugin_version, ...)                               \
  EP_EXPORT const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo*, const EpPluginEnvironment*) {      \
    return EPIPHYTE_KIT_DESCRIPTOR(Class, plugin_name, plugin_vendor, plugin_version __VA_OPT__(, ) __VA_ARGS__); \
  }
