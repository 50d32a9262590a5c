// Plugin table: the plugins that this process has initialized, whichever catalog asked first.
//
// A plugin's state is per process, so two catalogs that use the same library share it: the first initializes, the last
// to let go shuts it down. Afterwards it can be initialized again. Thread-safe.
#pragma once

#include <filesystem>
#include <functional>

#include "core/registry/plugin_entry.h"
#include "core/registry/descriptor.h"

namespace epiphyte::core {

// Given what a plugin says of itself before it is initialized; what it throws refuses the plugin.
using FactsCheck = std::function<void(const PluginFacts& facts)>;

// Opens, queries, checks and initializes, or adds a user to what is initialized already. The reference stays valid for
// the life of the process; its content may be used until ReleasePlugin. Throws Refusal, or what `check` throws, and
// then has no lasting effect but that the library stays mapped. A manifest without a path is no file's: its digest and
// `depends` count, and whether the plugin is the one that was meant is for `check` to say.
const LoadedPlugin& AcquirePlugin(const std::filesystem::path& library, const Manifest& manifest,
                                  const EpHostInfo& host, const StepObserver& observer = {},
                                  const FactsCheck& check = {});
// The same for a plugin that is part of the program; there is no manifest to compare with.
const LoadedPlugin& AcquirePlugin(EpPluginQueryFunction query, const EpHostInfo& host, const FactsCheck& check);

// Once for each AcquirePlugin.
void ReleasePlugin(const LoadedPlugin& plugin);

}  // namespace epiphyte::core
