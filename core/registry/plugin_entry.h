// What is known of a plugin: as a candidate, in exactly one state, and loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file_trust.h"
#include "core/base/fork_mark.h"
#include "core/registry/manifest.h"
#include "core/registry/option_declaration.h"
#include "epiphyte/ep_plugin.h"

namespace epiphyte::core {

enum class PluginState {
  kReady,  // manifest fine, library not opened yet
  kLoaded,
  kDisabled,
  kShadowed,  // another plugin of that name, or source, comes first; its turn comes when that one can't be loaded
  kDenied,
  kWrongPlatform,
  kAbiTooOld,
  kAbiTooNew,
  kBadManifest,
  kManifestMismatch,
  kDigestMismatch,
  kLibraryMissing,
  kMissingDependency,
  kSymbolMissing,
  kInitFailed,
  kNoDevice,
};
std::string_view PluginStateName(PluginState state);  // "Ready", "Loaded", …

struct PluginEntry {
  Manifest manifest;  // of kBadManifest: only path, and name if it could be read
  PluginState state = PluginState::kReady;
  std::string message;                                        // one line; empty for kReady and kLoaded
  std::string hint;                                           // what to do; may be empty
  std::filesystem::path library;                              // absolute; empty when unknown
  int64_t priority = 0;                                       // after the policy
  std::map<std::string, std::string> options;                 // manifest defaults overridden by the policy
  std::map<std::string, std::filesystem::path> option_files;  // the policy file that set each; none: the manifest
  std::set<std::string> pinned;                               // options that a session can't change
  size_t found = 0;                                           // place in the search order
};

// A device as the plugin described it, copied.
struct Device {
  EpDeviceKind kind = EP_DEVICE_OTHER;
  std::string name;
  std::string vendor;
  std::string driver_version;
  std::string architecture;
  std::string location;
  std::string uuid;
  uint32_t vendor_id = 0;
  uint32_t device_id = 0;
  uint64_t memory_bytes = 0;
  bool compile_only = false;  // not here: contexts can be compiled for it
  bool integrated = false;
  bool lost = false;
  bool software = false;  // the CPU stands in for it: for those who ask for it
};

// A plugin that answered. Lives as long as the process: the address never changes.
struct LoadedPlugin {
  const EpPluginDescriptor* descriptor = nullptr;
  EpPlugin* plugin = nullptr;
  std::string name;
  std::string vendor;
  std::string version;
  std::vector<std::string> sources;
  std::map<std::string, std::string> parameters;  // the manifest's
  std::vector<Device> devices;
  std::optional<std::vector<OptionDeclaration>> options;  // that it takes; none: it doesn't say
  std::filesystem::path library;
  std::filesystem::path manifest;
  ForkMark initialized;

  // False in a child that was forked since the plugin was initialized, unless all of its devices are CPUs: a driver, a
  // daemon or a device of the parent's answers no child.
  bool IsUsableHere() const { return !initialized.IsInherited() || HasOnlyCpus(); }
  // Throws FAIL when it isn't.
  void RequireUsableHere() const;
  bool HasOnlyCpus() const;
};

struct CatalogOptions {
  // Folders, or single manifests; given by the application; searched after EPIPHYTE_PLUGIN_PATH.
  std::vector<std::filesystem::path> paths;
  // EPIPHYTE_PLUGIN_PATH, EPIPHYTE_POLICY, EPIPHYTE_DISABLE; never used in a process with raised privileges.
  bool use_environment = true;
  bool use_user_folder = true;  // the user's plugins and policy file
  // Plugins of this installation and of the system, and the defaults of the system's policy file. What that file
  // denies, allows and pins counts in any case.
  bool use_system_folders = true;
  // The system's policy file and plugins are there. Not for applications: tests have one of their own.
  std::filesystem::path system_folder = "/etc/epiphyte";
  // Takes the place of the user's epiphyte.yaml; empty: what EPIPHYTE_POLICY names, else the user's.
  std::filesystem::path policy_file;
  // Names of plugins that are not to be used, as if a policy disabled them.
  std::vector<std::string> disabled;
  // With raised privileges, plugins and policy files that others could have put there are refused; else there is a note
  // about them.
  bool elevated = IsElevated();
};

// Adds to the options that a session gives a provider what manifest and policy set. Throws INVALID_ARGUMENT when the
// session changes one that is pinned.
void AddEntryOptions(const PluginEntry& entry, std::map<std::string, std::string>* options);

// A plugin's library that the application names itself, with what a manifest would say of it.
struct PluginLibrary {
  std::filesystem::path path;
  std::string name;                  // what the library must say; empty: whatever it says
  std::string sha256;                // of the library, 64 hex digits; empty: not checked
  std::vector<std::string> depends;  // libraries, named in the error if missing
  int64_t priority = 0;
  bool fallback = false;
  std::map<std::string, std::string> options;
};

// A folder searched (or a single manifest given as a path) and what was found there, for `doctor`.
struct SearchedFolder {
  std::filesystem::path path;
  std::string origin;  // "EPIPHYTE_PLUGIN_PATH", "application", "user", "installation", "system"
  bool exists = false;
  size_t manifests = 0;
};

// Told before each step of loading a plugin what comes next, "calling GetDevices": who loads in a process of its own
// can say where that process ended.
using StepObserver = std::function<void(std::string_view step)>;

}  // namespace epiphyte::core
