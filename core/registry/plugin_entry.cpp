#include "core/registry/plugin_entry.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/text.h"

namespace epiphyte::core {

std::string_view PluginStateName(PluginState state) {
  switch (state) {
    case PluginState::kReady: return "Ready";
    case PluginState::kLoaded: return "Loaded";
    case PluginState::kDisabled: return "Disabled";
    case PluginState::kShadowed: return "Shadowed";
    case PluginState::kDenied: return "Denied";
    case PluginState::kWrongPlatform: return "WrongPlatform";
    case PluginState::kAbiTooOld: return "AbiTooOld";
    case PluginState::kAbiTooNew: return "AbiTooNew";
    case PluginState::kBadManifest: return "BadManifest";
    case PluginState::kManifestMismatch: return "ManifestMismatch";
    case PluginState::kDigestMismatch: return "DigestMismatch";
    case PluginState::kLibraryMissing: return "LibraryMissing";
    case PluginState::kMissingDependency: return "MissingDependency";
    case PluginState::kSymbolMissing: return "SymbolMissing";
    case PluginState::kInitFailed: return "InitFailed";
    case PluginState::kNoDevice: return "NoDevice";
  }
  return "Unknown";
}

void AddEntryOptions(const PluginEntry& entry, std::map<std::string, std::string>* options) {
  for (const auto& [key, value] : entry.options) {
    const auto [given, is_new] = options->emplace(key, value);
    if (is_new || given->second == value || !entry.pinned.contains(key)) continue;
    const auto file = entry.option_files.find(key);
    Fail(StatusCode::kInvalidArgument,
         "provider '{}': option '{}' is '{}'; the policy file '{}' pins it to '{}': leave it out of the session's "
         "options",
         entry.manifest.name, key, PrintableLine(given->second, 80),
         file == entry.option_files.end() ? "" : file->second.string(), value);
  }
}

void LoadedPlugin::RequireUsableHere() const {
  if (IsUsableHere()) return;
  Fail(StatusCode::kFail,
       "plugin '{}' was loaded before fork(), and a child process can't use the devices of its parent; load it "
       "after fork(), or start the child as a new program (spawn instead of fork)",
       name);
}

bool LoadedPlugin::HasOnlyCpus() const {
  return std::all_of(devices.begin(), devices.end(), [](const Device& device) { return device.kind == EP_DEVICE_CPU; });
}

}  // namespace epiphyte::core
