#include "epiphyte/kit/plugin/named_plugin.hpp"

#include <map>
#include <mutex>
#include <utility>

namespace epiphyte::kit::detail {
namespace {

struct NamedPlugin {
  std::string name;
  std::string source;
  const char* sources[1] = {nullptr};
  PluginInfo info = {};
  EpPluginDescriptor descriptor = {};
  bool has_descriptor = false;
};

struct NamedPlugins {
  std::mutex mutex;
  std::map<std::pair<std::string, std::string>, NamedPlugin> by_name;  // no entry is removed: the host keeps pointers
};

// Leaked, because plugins are used until the process ends.
NamedPlugins& ThePlugins() {
  static NamedPlugins* const plugins = new NamedPlugins;
  return *plugins;
}

std::string_view ParameterOf(const EpPluginEnvironment& environment, std::string_view key) {
  for (uint32_t i = 0; i < environment.parameter_count; ++i) {
    if (environment.parameters[i].key == key) return environment.parameters[i].value;
  }
  return {};
}

// Returns the entry of the manifest, and makes it at the first call. The caller holds the lock.
NamedPlugin& Find(NamedPlugins& plugins, const EpPluginEnvironment& environment, const PluginInfo& usual) {
  std::string name = environment.name;
  std::string source(ParameterOf(environment, "source"));
  if (name.empty()) name = usual.name;
  if (source.empty()) source = usual.sources[0];
  NamedPlugin& plugin = plugins.by_name[{name, source}];
  if (plugin.info.name != nullptr) return plugin;
  plugin.name = std::move(name);
  plugin.source = std::move(source);
  plugin.sources[0] = plugin.source.c_str();
  plugin.info = {plugin.name.c_str(), usual.vendor, usual.version, plugin.sources};
  return plugin;
}

}  // namespace

const EpPluginDescriptor* NamedDescriptor(const EpPluginEnvironment& environment, const PluginInfo& usual,
                                          bool makes_contexts,
                                          decltype(EpPluginDescriptor::Initialize) initialize) noexcept {
  try {
    NamedPlugins& plugins = ThePlugins();
    const std::lock_guard lock(plugins.mutex);
    NamedPlugin& plugin = Find(plugins, environment, usual);
    if (!std::exchange(plugin.has_descriptor, true)) {
      plugin.descriptor = MakeDescriptor(plugin.info, makes_contexts, initialize);
    }
    return &plugin.descriptor;
  } catch (...) {
    return nullptr;
  }
}

EpStatus* InitializeNamed(const EpHostInfo* host, const EpPluginEnvironment* environment, const PluginInfo& usual,
                          std::unique_ptr<Plugin> (*make)(const PluginConfig& config), EpPlugin** plugin) noexcept {
  const PluginInfo* info = nullptr;
  try {
    NamedPlugins& plugins = ThePlugins();
    const std::lock_guard lock(plugins.mutex);
    info = &Find(plugins, *environment, usual).info;
  } catch (...) {
    return host->status->Create(EP_STATUS_OUT_OF_MEMORY, "out of memory");
  }
  return Initialize(host, environment, *info, make, plugin);
}

}  // namespace epiphyte::kit::detail
