#include "core/registry/plugin_entry.h"

#include <algorithm>

#include "core/base/error.h"

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
