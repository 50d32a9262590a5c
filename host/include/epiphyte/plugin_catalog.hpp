// PluginCatalog: the plugins that were found, and what is the matter with those that can't be used.
//
//   epiphyte::Environment environment;
//   for (const epiphyte::PluginInfo& plugin : environment.plugins().List()) {
//     std::cout << plugin.name << ": " << plugin.state << ' ' << plugin.message << '\n';
//   }
//
// Listing reads manifests and opens no library; probing opens them. One bad plugin never affects another.
//
// A library that has no manifest, registered when the program runs:
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
  std::string architecture;  // what a compiled context depends on
};

// An option that a plugin declares.
struct OptionInfo {
  std::string name;
  std::string type;  // "string", "int", "float", "bool", "choice"
  std::string default_value;
  std::string help;
  std::string minimum;  // of numbers; "": no bound
  std::string maximum;
  std::vector<std::string> choices;
};

struct PluginInfo {
  std::string name;
  std::string vendor;
  std::string version;
  std::string license;
  std::string description;
  // "Ready" (not opened yet), "Loaded", or why not: "Disabled", "Shadowed", "Denied", "WrongPlatform", "AbiTooOld",
  // "AbiTooNew", "BadManifest", "ManifestMismatch", "DigestMismatch", "LibraryMissing", "MissingDependency",
  // "SymbolMissing", "InitFailed", "NoDevice".
  std::string state;
  // One line; empty when the plugin can be used. Of a loaded one: why sessions refuse what the policy file sets.
  std::string message;
  std::string hint;                            // what to do about it; may be empty
  std::string abi;                             // lowest ABI version that it needs, "0.2"
  std::filesystem::path manifest;              // empty for a plugin that the application added
  std::filesystem::path library;               // absolute; empty when unknown
  int64_t priority = 0;                        // higher first; the policy file is applied
  std::vector<std::string> sources;            // EPContext `source` keys that it owns
  std::vector<std::string> device_kinds;       // as the manifest says
  std::vector<DeviceInfo> devices;             // as the plugin says; empty unless it is loaded
  std::map<std::string, std::string> options;  // the manifest's, the policy file applied
  std::vector<OptionInfo> declared_options;    // as the plugin says; empty unless it is loaded, or when it doesn't say
  // Unknown keys in the manifest, others who could change the plugin, needless exports of its library (when probed).
  std::vector<std::string> notes;

  bool usable() const { return state == "Ready" || state == "Loaded"; }
};

// What a manifest would say of a library that the application names itself; see PluginCatalog::Add.
struct PluginLibrary {
  std::string name;                            // what it must call itself; "": whatever it does
  std::string sha256;                          // 64 hex digits; "": not checked
  std::vector<std::string> depends;            // libraries that it needs, named in the error if one is missing
  int64_t priority = 0;                        // higher first; the policy file decides in the end
  bool fallback = false;                       // gets what no listed provider takes, as the CPU does
  std::map<std::string, std::string> options;  // defaults of the provider's options
};

// A folder that was searched for manifests.
struct SearchedFolder {
  std::filesystem::path path;
  std::string origin;  // "EPIPHYTE_PLUGIN_PATH", "application", "user", "installation", "system"
  bool exists = false;
  size_t manifests = 0;
};

// A policy file, epiphyte.yaml, that was read, or would be if it existed.
struct PolicyFile {
  std::filesystem::path path;
  std::string origin;  // "system", "user", "EPIPHYTE_POLICY", "application"
  bool exists = false;
};

// One thing that a manifest, a policy file or a variable says about one plugin.
struct PolicySetting {
  std::string plugin;
  std::string kind;           // "enabled", "priority", "option", "denied"
  std::string option;         // of kind "option": its name
  std::string value;          // of kind "denied": why
  bool pinned = false;        // later policy files and sessions can't change it
  std::string origin;         // "manifest", PolicyFile::origin, "EPIPHYTE_DISABLE"
  std::string place;          // "file:line:column", or the file or variable
  std::string overridden_by;  // the place of what takes its place; empty: it is in effect
};

// What policies say, and who says it.
struct PolicyInfo {
  std::vector<PolicyFile> files;        // the system's first; later ones decide where earlier ones don't forbid it
  std::vector<PolicySetting> settings;  // of all plugins that were found
  // Names that no plugin has, settings without effect, files that others could change.
  std::vector<std::string> notes;
};

// A handle to its environment's catalog, which it keeps alive. Thread-safe.
class EPIPHYTE_API PluginCatalog {
 public:
  // In order of priority; those that can't be used keep their place.
  std::vector<PluginInfo> List() const;
  std::vector<SearchedFolder> Folders() const;
  // Opens the plugin's library if need be and asks it for its devices. Whatever goes wrong is in the result's state.
  // Throws NOT_FOUND when there is no plugin of that name.
  PluginInfo Probe(std::string_view name) const { return Probe(name, {}); }
  // `step` is told before each call into the plugin what comes next, "calling GetDevices": a program that probes in a
  // process of its own can say where a plugin ended it.
  PluginInfo Probe(std::string_view name, const std::function<void(std::string_view step)>& step) const;
  // Opens a plugin's library that has no manifest, or another one, and registers its plugin for the sessions that this
  // environment makes from then on. What is checked of a library with a manifest is checked of it: who can write it,
  // the policy file, its digest, the ABI, what it says of itself. It comes before a plugin that was found with the same
  // name or one of its sources. Returns its entry. Throws EP_FAIL with what is wrong and what to do, INVALID_ARGUMENT
  // when its name or one of its sources is in use already; the catalog is then as it was.
  PluginInfo Add(const std::filesystem::path& library, const PluginLibrary& expected = {});
  // As List, with every plugin probed that can be.
  std::vector<PluginInfo> ProbeAll() const;
  // Which policy file, manifest or variable set what. Opens no library.
  PolicyInfo Policy() const;

 private:
  friend class Environment;
  explicit PluginCatalog(std::shared_ptr<core::Environment> environment) : environment_(std::move(environment)) {}
  std::shared_ptr<core::Environment> environment_;
};

}  // namespace epiphyte
