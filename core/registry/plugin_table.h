// Plugin table: the plugins that this process has initialized, whichever catalog asked first.
//
// A plugin's state is per process, so two catalogs that use the same library share it: the first initializes, the last
// to let go shuts it down. Afterwards it can be initialized again. Thread-safe.
#pragma once

#include <filesystem>

#include "core/registry/catalog.h"

namespace epiphyte::core {

// Opens, queries, checks and initializes, or adds a user to what is initialized already. The reference stays valid for
// the life of the process; its content may be used until ReleasePlugin. Throws Refusal, and then has no lasting effect
// but that the library stays mapped.
const LoadedPlugin& AcquirePlugin(const std::filesystem::path& library, const Manifest& manifest,
                                  const EpHostInfo& host, const StepObserver& observer = {});
// The same for a plugin that is part of the program; there is no manifest to compare with.
const LoadedPlugin& AcquirePlugin(EpPluginQueryFunction query, const EpHostInfo& host);

// Once for each AcquirePlugin.
void ReleasePlugin(const LoadedPlugin& plugin);

}  // namespace epiphyte::core
