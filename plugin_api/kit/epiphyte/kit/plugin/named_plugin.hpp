// EPIPHYTE_KIT_NAMED_PLUGIN: EpPluginQuery for a library that serves any number of manifests, each as a provider of its
// own. It is for plugins that run a vendor's SDK, which the manifest names.
//
//   EPIPHYTE_KIT_NAMED_PLUGIN(MyPlugin, "my-ep", "My Company", "1.0.0", "MySource")
//
//   name: acme                                                       # a manifest over that library
//   sources: [AcmeNPU]
//   parameters: { source: AcmeNPU, sdk: libacme_sdk.so }
//
// The provider has the manifest's name, and the source that the manifest's parameter `source` names. The macro's name
// and source are the defaults.
#pragma once

#include "epiphyte/kit/plugin/plugin.hpp"

namespace epiphyte::kit::detail {

// The descriptor for one manifest. It lives as long as the process. Null when memory is exhausted.
const EpPluginDescriptor* NamedDescriptor(const EpPluginEnvironment& environment, const PluginInfo& usual,
                                          bool makes_contexts,
                                          decltype(EpPluginDescriptor::Initialize) initialize) noexcept;
// Does what Initialize does, with the name and source of the manifest's descriptor.
EpStatus* InitializeNamed(const EpHostInfo* host, const EpPluginEnvironment* environment, const PluginInfo& usual,
                          std::unique_ptr<Plugin> (*make)(const PluginConfig& config), EpPlugin** plugin) noexcept;

}  // namespace epiphyte::kit::detail

#define EPIPHYTE_KIT_NAMED_PLUGIN(Class, plugin_name, plugin_vendor, plugin_version, plugin_source)                 \
  EP_EXPORT const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo*,                                      \
                                                            const EpPluginEnvironment* environment) {               \
    static constexpr const char* kSources[] = {plugin_source};                                                      \
    static constexpr ::epiphyte::kit::PluginInfo kUsual = {plugin_name, plugin_vendor, plugin_version, {kSources}}; \
    return ::epiphyte::kit::detail::NamedDescriptor(                                                                \
        *environment, kUsual, ::epiphyte::kit::detail::MakesContexts<Class>(),                                      \
        [](const EpHostInfo* host, const EpPluginEnvironment* own, EpPlugin** plugin) {                             \
          return ::epiphyte::kit::detail::InitializeNamed(host, own, kUsual,                                        \
                                                          ::epiphyte::kit::detail::MakePlugin<Class>, plugin);      \
        });                                                                                                         \
  }
