// Catalog: every plugin candidate found, each in exactly one state, in one total order.
//
// Building it opens no library. Plugins are loaded one by one, when requested, and stay mapped for the life of the
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

// Everything that policies set.
struct PolicyReport {
  std::vector<PolicyFile> files;        // files in the order of their layers, including files that don't exist
  std::vector<PolicySetting> settings;  // settings of every plugin that was found, in the catalog's order
  std::vector<std::string> notes;       // see PolicyLayers::Notes
};

class Catalog {
 public:
  // Reads the manifests. `host` is handed to the plugins and outlives the process's last plugin call. A bad manifest
  // becomes an entry. A bad policy file is an error, because ignoring it would change where models run:
  // INVALID_ARGUMENT, or NO_SUCHFILE for a file requested by name.
  Catalog(CatalogOptions options, const EpHostInfo* host);
  ~Catalog();
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // All entries in the total order: priority (higher first), the fallback provider after others, name, path. Unusable
  // ones keep their place.
  std::vector<PluginEntry> entries() const;
  const std::vector<SearchedFolder>& folders() const;
  PolicyReport policy() const;

  // Opens the library if needed. A plugin that turns out to be unusable yields its name to the next plugin with that
  // name, with a warning in the log. Throws NOT_FOUND for an unknown name; the message has the nearest and the
  // installed names. Throws EP_FAIL with the first plugin's message and hint when none can be used.
  const LoadedPlugin& Load(std::string_view name);
  // Same as Load, but a failure only changes the entry's state. Returns null when the plugin can't be used.
  const LoadedPlugin* TryLoad(std::string_view name, const StepObserver& observer = {});
  // Registers an already loaded plugin by its query function, for applications that link a plugin statically and for
  // tests. It comes before any found plugin of the same name or sources. Throws EP_FAIL when the plugin can't be used,
  // and INVALID_ARGUMENT when its name or one of its sources belongs to a plugin that is in use already.
  void Register(EpPluginQueryFunction query, int64_t priority);
  // Opens a library and registers its plugin as Register does. All checks of a library with a manifest apply: write
  // access, the policy, the digest, and the plugin's own facts. Throws the errors of Register, and leaves the catalog
  // unchanged then.
  PluginEntry Add(const PluginLibrary& library);
  // Name of the plugin that owns an EPContext source, or "". Opens no library.
  std::string OwnerOfSource(std::string_view source) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace epiphyte::core
