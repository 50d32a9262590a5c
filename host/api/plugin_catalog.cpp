#include "epiphyte/plugin_catalog.hpp"

#include <fmt/format.h>

#include "core/registry/catalog.h"
#include "core/registry/exports.h"
#include "epiphyte/ep_plugin.h"
#include "host/api/access.h"

namespace epiphyte {
namespace {

bool MayBeLoaded(const core::PluginEntry& entry) {
  return entry.state == core::PluginState::kReady || entry.state == core::PluginState::kLoaded;
}

std::string_view DeviceKindName(EpDeviceKind kind) {
  switch (kind) {
    case EP_DEVICE_CPU: return "cpu";
    case EP_DEVICE_GPU: return "gpu";
    case EP_DEVICE_NPU: return "npu";
    default: return "other";
  }
}

PluginInfo Describe(const core::PluginEntry& entry) {
  PluginInfo info;
  const core::Manifest& manifest = entry.manifest;
  info.name = manifest.name;
  info.vendor = manifest.vendor;
  info.version = manifest.version;
  info.license = manifest.license;
  info.description = manifest.description;
  info.state = core::PluginStateName(entry.state);
  info.message = entry.message;
  info.hint = entry.hint;
  if (manifest.abi != 0) info.abi = fmt::format("{}.{}", manifest.abi >> 16, manifest.abi & 0xffff);
  info.manifest = manifest.path;
  info.library = entry.library;
  info.priority = entry.priority;
  info.sources = manifest.sources;
  info.device_kinds = manifest.devices;
  info.options = entry.options;
  info.notes = manifest.notes;
  return info;
}

// Adds the declared options and checks the policy file's settings against them: sessions refuse invalid settings.
void AddOptions(const std::vector<core::OptionDeclaration>& declared, const core::PluginEntry& entry,
                PluginInfo* info) {
  for (const core::OptionDeclaration& option : declared) {
    info->declared_options.push_back({option.name, std::string(core::OptionTypeName(option.type)), option.default_value,
                                      option.help, option.minimum, option.maximum, option.choices});
  }
  if (const auto wrong = core::FindWrong(declared, entry.options)) {
    const auto file = entry.option_files.find(wrong->name);
    info->message = fmt::format("{} of the policy file '{}' {}", wrong->subject,
                                file == entry.option_files.end() ? "" : file->second.string(), wrong->problem);
    info->hint = fmt::format("correct providers.{}.{} there", info->name,
                             entry.pinned.contains(wrong->name) ? "pinned" : "options");
  }
}

std::string_view KindName(core::PolicySetting::Kind kind) {
  switch (kind) {
    case core::PolicySetting::Kind::kPriority: return "priority";
    case core::PolicySetting::Kind::kEnabled: return "enabled";
    case core::PolicySetting::Kind::kOption: return "option";
    case core::PolicySetting::Kind::kDenied: return "denied";
  }
  return "";
}

// Adds the properties that only the opened library shows.
void AddFindings(const core::LoadedPlugin& plugin, const core::PluginEntry& entry, PluginInfo* info) {
  for (const core::Device& device : plugin.devices) {
    info->devices.push_back({std::string(DeviceKindName(device.kind)), device.name, device.vendor,
                             device.driver_version, device.architecture});
  }
  if (plugin.options) AddOptions(*plugin.options, entry, info);
  if (info->manifest.empty()) return;  // the plugin may be linked into the application, which may export any symbol
  if (const std::string more = core::NeedlessExports(info->library); !more.empty()) {
    info->notes.push_back(
        fmt::format("the library exports {} beside {}, which may get mixed up with another plugin's; "
                    "build it with add_ep_plugin(), or with -fvisibility=hidden and a version script",
                    more, EP_PLUGIN_QUERY_SYMBOL));
  }
}

}  // namespace

std::vector<PluginInfo> PluginCatalog::List() const {
  return WithPublicErrors([&] {
    std::vector<PluginInfo> plugins;
    for (const core::PluginEntry& entry : environment_->catalog().entries()) plugins.push_back(Describe(entry));
    return plugins;
  });
}

std::vector<SearchedFolder> PluginCatalog::Folders() const {
  return WithPublicErrors([&] {
    std::vector<SearchedFolder> folders;
    for (const core::SearchedFolder& folder : environment_->catalog().folders()) {
      folders.push_back({folder.path, folder.origin, folder.exists, folder.manifests});
    }
    return folders;
  });
}

PluginInfo PluginCatalog::Probe(std::string_view name, const std::function<void(std::string_view)>& step) const {
  return WithPublicErrors([&] {
    core::Catalog& catalog = environment_->catalog();
    const core::LoadedPlugin* plugin = catalog.TryLoad(name, step);
    // If several entries have the name, take the one that shadows the others.
    const std::vector<core::PluginEntry> entries = catalog.entries();
    const core::PluginEntry* found = nullptr;
    for (const core::PluginEntry& entry : entries) {
      if (entry.manifest.name != name) continue;
      if (found == nullptr || found->state == core::PluginState::kShadowed || MayBeLoaded(entry)) found = &entry;
      if (MayBeLoaded(entry)) break;
    }
    if (found == nullptr) {
      catalog.Load(name);  // throws with a list of the existing plugins
      throw Error(StatusCode::kNotFound, fmt::format("plugin '{}' is not in the list of plugins", name));
    }
    PluginInfo info = Describe(*found);
    if (plugin != nullptr) AddFindings(*plugin, *found, &info);
    return info;
  });
}

PluginInfo PluginCatalog::Add(const std::filesystem::path& library, const PluginLibrary& expected) {
  return WithPublicErrors([&] {
    core::Catalog& catalog = environment_->catalog();
    const core::PluginEntry added = catalog.Add({library, expected.name, expected.sha256, expected.depends,
                                                 expected.priority, expected.fallback, expected.options});
    PluginInfo info = Describe(added);
    if (const core::LoadedPlugin* plugin = catalog.TryLoad(info.name)) AddFindings(*plugin, added, &info);
    return info;
  });
}

PolicyInfo PluginCatalog::Policy() const {
  return WithPublicErrors([&] {
    core::PolicyReport report = environment_->catalog().policy();
    PolicyInfo info;
    for (core::PolicyFile& file : report.files) info.files.push_back({file.path, file.origin, file.exists});
    for (core::PolicySetting& setting : report.settings) {
      info.settings.push_back({setting.provider, std::string(KindName(setting.kind)), setting.option, setting.value,
                               setting.pinned, setting.origin, setting.place, setting.overridden_by});
    }
    info.notes = std::move(report.notes);
    return info;
  });
}

std::vector<PluginInfo> PluginCatalog::ProbeAll() const {
  return WithPublicErrors([&] {
    core::Catalog& catalog = environment_->catalog();
    // A plugin that fails may free its name or a source for another plugin, which is then probed too.
    for (bool more = true; more;) {
      more = false;
      for (const core::PluginEntry& entry : catalog.entries()) {
        if (entry.state != core::PluginState::kReady) continue;
        catalog.TryLoad(entry.manifest.name);
        more = true;
      }
    }
    std::vector<PluginInfo> plugins;
    for (const core::PluginEntry& entry : catalog.entries()) {
      plugins.push_back(Describe(entry));
      if (entry.state != core::PluginState::kLoaded) continue;
      if (const core::LoadedPlugin* plugin = catalog.TryLoad(entry.manifest.name))
        AddFindings(*plugin, entry, &plugins.back());
    }
    return plugins;
  });
}

}  // namespace epiphyte
