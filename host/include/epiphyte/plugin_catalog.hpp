// PluginCatalog: the plugins that were found, and the reasons why some of them can't be used.
//
//   epiphyte::Environment environment;
//   for (const epiphyte::PluginInfo& plugin : environment.plugins().List()) {
//     std::cout << plugin.name << ": " << plugin.state << ' ' << plugin.message << '\n';
//   }
//
// Listing reads manifests and opens no library; probing opens them. One bad plugin never affects another.
//
// Register a library without a manifest at run time:
//
//   environment.plugins().Add("/opt/acme/libacme_npu.so", {.name = "acme_npu", .priority = 300});
//   options.AddProvider("acme_npu");
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "epiphyte/export.hpp"

namespace epiphyte::core {
class Environment;
}

namespace epiphyte {

struct DeviceInfo {
  std::string kind;  // "cpu", "gpu", "npu", "other"
  std::string name;
  std::string vendor;
  std::string driver_version;
  std::string architecture;  // hardware generation that a compiled context depends on
};

// An option that a plugin declares.
struct OptionInfo {
  std::string name;
  std::string type;  // "string", "int", "float", "bool", "choice"
  std::string default_value;
  std::string help;
  std::string minimum;  // for numbers; "": no bound
  std::string maximum;
  std::vector<std::string> choices;
};

struct PluginInfo {
  std::string name;
  std::string vendor;
  std::string version;
  std::string license;
  std::string description;
  // "Ready" (not opened yet), "Loaded", or the reason why it can't be used: "Disabled", "Shadowed", "Denied",
  // "WrongPlatform", "AbiTooOld", "AbiTooNew", "BadManifest", "ManifestMismatch", "DigestMismatch", "LibraryMissing",
  // "MissingDependency", "SymbolMissing", "InitFailed", "NoDevice".
  std::string state;
  // Reason for the state in one line; empty when the plugin can be used. For a loaded plugin: why sessions refuse the
  // policy file's settings.
  std::string message;
  std::string hint;                            // remedy; may be empty
  std::string abi;                             // lowest ABI version that the plugin needs, "0.2"
  std::filesystem::path manifest;              // empty for a plugin that the application added
  std::filesystem::path library;               // absolute; empty when unknown
  int64_t priority = 0;                        // higher comes first; includes the policy file's setting
  std::vector<std::string> sources;            // EPContext `source` keys that the plugin owns
  std::vector<std::string> device_kinds;       // from the manifest
  std::vector<DeviceInfo> devices;             // from the plugin; empty unless it is loaded
  std::map<std::string, std::string> options;  // from the manifest and the policy file
  std::vector<OptionInfo> declared_options;    // from the plugin; empty unless it is loaded and declares options
  // Warnings: unknown keys in the manifest, other users who could change the plugin, needless exports of its library
  // (only when probed).
  std::vector<std::string> notes;

  bool usable() const { return state == "Ready" || state == "Loaded"; }
};

// Expected properties of a library without a manifest; see PluginCatalog::Add.
struct PluginLibrary {
  std::string name;                            // required plugin name; "": any name
  std::string sha256;                          // 64 hex digits; "": not checked
  std::vector<std::string> depends;            // required libraries; the error names a missing one
  int64_t priority = 0;                        // higher comes first; a policy file overrides it
  bool fallback = false;                       // gets the nodes that no listed provider claims, as the CPU does
  std::map<std::string, std::string> options;  // defaults for the provider's options
};

// A folder that was searched for manifests.
struct SearchedFolder {
  std::filesystem::path path;
  std::string origin;  // "EPIPHYTE_PLUGIN_PATH", "application", "user", "installation", "system"
  bool exists = false;
  size_t manifests = 0;
};

// A policy file (epiphyte.yaml) that was read, or that would be read if it existed.
struct PolicyFile {
  std::filesystem::path path;
  std::string origin;  // "system", "user", "EPIPHYTE_POLICY", "application"
  bool exists = false;
};

// One setting of a plugin in a manifest, a policy file or an environment variable.
struct PolicySetting {
  std::string plugin;
  std::string kind;           // "enabled", "priority", "option", "denied"
  std::string option;         // kind "option": the option's name
  std::string value;          // kind "denied": the reason
  bool pinned = false;        // later policy files and sessions can't change it
  std::string origin;         // "manifest", PolicyFile::origin, "EPIPHYTE_DISABLE"
  std::string place;          // "file:line:column", or the file or variable
  std::string overridden_by;  // `place` of the setting that overrides this one; empty: in effect
};

// All policy settings with their origins.
struct PolicyInfo {
  std::vector<PolicyFile> files;        // system file first; later files win unless earlier ones forbid it
  std::vector<PolicySetting> settings;  // for all plugins that were found
  // Warnings: names that no plugin has, settings without effect, files that other users could change.
  std::vector<std::string> notes;
};

// A handle to an environment's catalog. It keeps the environment alive. Thread-safe.
class EPIPHYTE_API PluginCatalog {
 public:
  // Returns all plugins in order of priority, including the unusable ones.
  std::vector<PluginInfo> List() const;
  std::vector<SearchedFolder> Folders() const;
  // Opens the plugin's library if it isn't open and queries its devices. Failures are in the result's `state`. Throws
  // NOT_FOUND when there is no plugin of that name.
  PluginInfo Probe(std::string_view name) const { return Probe(name, {}); }
  // `step` is called with the next step before each call into the plugin, for example "calling GetDevices". A program
  // that probes in a child process can then report the call in which a plugin ended the process.
  PluginInfo Probe(std::string_view name, const std::function<void(std::string_view step)>& step) const;
  // Opens a plugin's library without using a manifest and registers the plugin for later sessions of this environment.
  // The library gets the same checks as one with a manifest: write permissions, the policy file, the digest, the ABI,
  // the descriptor. The plugin takes precedence over a found plugin with the same name or one of its sources. Returns
  // its entry. Throws EP_FAIL with the problem and its remedy. Throws INVALID_ARGUMENT when the name or a source is in
  // use already. After an error the catalog is unchanged.
  PluginInfo Add(const std::filesystem::path& library, const PluginLibrary& expected = {});
  // Returns the same as List, after probing every plugin that can be probed.
  std::vector<PluginInfo> ProbeAll() const;
  // Returns all settings with the policy file, manifest or variable that set them. Opens no library.
  PolicyInfo Policy() const;

 private:
  friend class Environment;
  explicit PluginCatalog(std::shared_ptr<core::Environment> environment) : environment_(std::move(environment)) {}
  std::shared_ptr<core::Environment> environment_;
};

}  // namespace epiphyte
