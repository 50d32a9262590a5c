// Catalog: every plugin candidate found, each in exactly one state, in one total order.
//
// Building it opens no library. Plugins are loaded one by one, when asked for, and stay mapped for the life of the
// process. One bad plugin never affects another.
//
//   Catalog catalog(CatalogOptions{}, host_info);
//   for (const PluginEntry& entry : catalog.entries()) …
//   const LoadedPlugin& cpu = catalog.Load("cpu");
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry/plugin_entry.h"
#include "core/registry/policy_layers.h"
#include "epiphyte/ep_plugin.h"

namespace epiphyte::core {

// What policies say.
struct PolicyReport {
  std::vector<PolicyFile> files;        // in the order of their layers, also those that don't exist
  std::vector<PolicySetting> settings;  // of every plugin that was found, in the catalog's order
  std::vector<std::string> notes;       // see PolicyLayers::Notes
};

class Catalog {
 public:
  // Reads the manifests. `host` is handed to the plugins and outlives the process's last plugin call. A bad manifest is
  // an entry; a bad policy file is an error (INVALID_ARGUMENT, NO_SUCHFILE for one asked for by name), because going on
  // without it would change where models run.
  Catalog(CatalogOptions options, const EpHostInfo* host);
  ~Catalog();
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // In the total order: priority (higher first), the fallback provider after others, name, path; unusable ones keep
  // their place.
  std::vector<PluginEntry> entries() const;
  const std::vector<SearchedFolder>& folders() const;
  PolicyReport policy() const;

  // Opens the library if need be. One that can't be used after all leaves its name to the next that has it, with a
  // warning in the log. Throws NOT_FOUND (no such name; names the nearest and the installed ones) or EP_FAIL with the
  // first one's message and hint when none can be used.
  const LoadedPlugin& Load(std::string_view name);
  // As Load, but a failure only changes the entry's state. Null when it can't be used.
  const LoadedPlugin* TryLoad(std::string_view name, const StepObserver& observer = {});
  // Registers an already loaded plugin by its query function: for applications that link a plugin statically and for
  // tests. It comes before any found plugin of the same name or sources. Throws EP_FAIL when the plugin can't be used,
  // INVALID_ARGUMENT when its name or one of its sources belongs to a plugin that is in use already.
  void Register(EpPluginQueryFunction query, int64_t priority);
  // Opens a library and registers its plugin as Register does. What is checked of a library with a manifest is checked
  // of this one: who can write it, the policy, its digest, what it says of itself. Throws what Register throws, and
  // leaves the catalog as it was then.
  PluginEntry Add(const PluginLibrary& library);
  // The name of the plugin that owns an EPContext source, or "". Opens no library.
  std::string OwnerOfSource(std::string_view source) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace epiphyte::core
