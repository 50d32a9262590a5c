// Plugin table: the plugins that this process has initialized, whichever catalog asked first.
//
// A plugin's state is per process, so two catalogs with the same library share it: the first one initializes it, and
// the last one to release it shuts it down. Afterwards it can be initialized again. Thread-safe.
#pragma once

#include <filesystem>
#include <functional>

#include "core/registry/plugin_entry.h"
#include "core/registry/descriptor.h"

namespace epiphyte::core {

// Gets a plugin's facts before it is initialized; an exception refuses the plugin.
using FactsCheck = std::function<void(const PluginFacts& facts)>;

// Opens, queries, checks and initializes a plugin, or adds a user to an initialized one. The reference stays valid for
// the life of the process; its content may be used until ReleasePlugin.
//
// Throws Refusal, or the exception of `check`; the only lasting effect then is that the library stays mapped. A
// manifest without a path belongs to no file: its digest and `depends` count, and `check` decides whether it is the
// right plugin.
const LoadedPlugin& AcquirePlugin(const std::filesystem::path& library, const Manifest& manifest,
                                  const EpHostInfo& host, const StepObserver& observer = {},
                                  const FactsCheck& check = {});
// Same as above for a plugin that is part of the program; there is no manifest to compare with.
const LoadedPlugin& AcquirePlugin(EpPluginQueryFunction query, const EpHostInfo& host, const FactsCheck& check);

// Call it once for each AcquirePlugin.
void ReleasePlugin(const LoadedPlugin& plugin);

}  // namespace epiphyte::core
