// PluginEntry and LoadedPlugin: the data of a plugin as a candidate, in exactly one state, and as loaded.
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
  kReady,  // the manifest is valid, the library not opened yet
  kLoaded,
  kDisabled,
  kShadowed,  // another plugin of that name or source comes first; this one is used if that one can't be loaded
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
std::string_view PluginStateName(PluginState state);  // Name of the state: "Ready", "Loaded", …

struct PluginEntry {
  Manifest manifest;  // for kBadManifest only path, and the name if it could be read
  PluginState state = PluginState::kReady;
  std::string message;                         // why it can't be used, one line; empty for kReady and kLoaded
  std::string hint;                            // advice for the user; may be empty
  std::filesystem::path library;               // absolute path; empty when unknown
  int64_t priority = 0;                        // priority after applying the policy
  std::map<std::string, std::string> options;  // manifest defaults overridden by the policy
  // The policy file that set each option; options of the manifest have no entry.
  std::map<std::string, std::filesystem::path> option_files;
  std::set<std::string> pinned;  // options that a session can't change
  size_t found = 0;              // place in the search order
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
  bool compile_only = false;  // the device isn't present: contexts can only be compiled for it
  bool integrated = false;
  bool lost = false;
  bool software = false;  // the CPU emulates the device; used only on request
};

// An initialized plugin. Lives as long as the process: the address never changes.
struct LoadedPlugin {
  const EpPluginDescriptor* descriptor = nullptr;
  EpPlugin* plugin = nullptr;
  std::string name;
  std::string vendor;
  std::string version;
  std::vector<std::string> sources;
  std::map<std::string, std::string> parameters;  // parameters in the manifest
  std::vector<Device> devices;
  // Declared options; nullopt when the plugin doesn't declare its options.
  std::optional<std::vector<OptionDeclaration>> options;
  std::filesystem::path library;
  std::filesystem::path manifest;
  ForkMark initialized;

  // Whether this process can use the plugin. False in a child that was forked after the plugin was initialized: a
  // driver, daemon or device of the parent doesn't answer the child. True if all devices of the plugin are CPUs.
  bool IsUsableHere() const { return !initialized.IsInherited() || HasOnlyCpus(); }
  // Throws FAIL when this process can't use the plugin.
  void RequireUsableHere() const;
  bool HasOnlyCpus() const;
};

struct CatalogOptions {
  // Folders or single manifests that the application adds; searched after EPIPHYTE_PLUGIN_PATH.
  std::vector<std::filesystem::path> paths;
  // Whether EPIPHYTE_PLUGIN_PATH, EPIPHYTE_POLICY and EPIPHYTE_DISABLE are read. They are never used in a process with
  // raised privileges.
  bool use_environment = true;
  bool use_user_folder = true;  // the user's plugins and policy file
  // Whether to use plugins of this installation and of the system, and the defaults of the system's policy file. That
  // file's denied, allowed and pinned settings always count.
  bool use_system_folders = true;
  // Folder of the system's policy file and plugins. Only tests change it.
  std::filesystem::path system_folder = "/etc/epiphyte";
  // Replaces the user's epiphyte.yaml. If empty, the file that EPIPHYTE_POLICY names is used, else the user's.
  std::filesystem::path policy_file;
  // Names of plugins to disable, as a policy would.
  std::vector<std::string> disabled;
  // With raised privileges, plugins and policy files that other users could have put there are refused; otherwise there
  // is a note about them.
  bool elevated = IsElevated();
};

// Adds the options of manifest and policy to those that a session gives a provider. Throws INVALID_ARGUMENT when the
// session changes a pinned one.
void AddEntryOptions(const PluginEntry& entry, std::map<std::string, std::string>* options);

// A plugin's library that the application names itself, with the facts that a manifest would have.
struct PluginLibrary {
  std::filesystem::path path;
  std::string name;                  // the name that the library must have; empty: any
  std::string sha256;                // the library's digest, 64 hex digits; empty: not checked
  std::vector<std::string> depends;  // libraries that it needs; the error names one that is missing
  int64_t priority = 0;
  bool fallback = false;
  std::map<std::string, std::string> options;
};

// A folder that was searched (or a single manifest given as a path) and its manifests, for `doctor`.
struct SearchedFolder {
  std::filesystem::path path;
  std::string origin;  // "EPIPHYTE_PLUGIN_PATH", "application", "user", "installation", "system"
  bool exists = false;
  size_t manifests = 0;
};

// Called before each step of loading a plugin with the next step, such as "calling GetDevices". A caller that loads in
// a separate process can tell from it where that process ended.
using StepObserver = std::function<void(std::string_view step)>;

}  // namespace epiphyte::core
