// Decisions: the state of each manifest before any library is opened.
#pragma once

#include <vector>

#include "core/registry/plugin_entry.h"
#include "core/registry/policy_layers.h"

namespace epiphyte::core {

// `entries` come in search order, BadManifest ones marked. They leave in the total order, each with its state. Checks
// the file system (does the library exist, and who can write it?) and opens nothing.
void DecideAll(std::vector<PluginEntry>* entries, const PolicyLayers& policy, const EpHostInfo& host, bool elevated);

// Decides between usable entries (Ready, Loaded, or Shadowed before): which one has a name, and which a source. The
// others become Shadowed. `entries` are in the total order.
//
// Loaded entries keep what they have. Among the rest, the first in search order has the name, and the first in the
// total order has a source. An unusable entry takes nothing away from others. A disabled manifest does, because hiding
// those behind it is its purpose.
void Shadow(const std::vector<PluginEntry*>& entries);

// Decides about a plugin that the application names: `entry` has the library's path and a manifest without one.
// Decisions by name are left out if it has no name yet: see CheckPolicy.
void DecideOne(PluginEntry* entry, const PolicyLayers& policy, const EpHostInfo& host, bool elevated);
// Applies the policies for the plugin's name: ApplyPolicy sets priority and options, CheckPolicy whether it may be
// used.
void ApplyPolicy(PluginEntry* entry, const PolicyLayers& policy);
void CheckPolicy(PluginEntry* entry, const PolicyLayers& policy);

// The total order: priority, higher first; the fallback provider after others; name; path.
bool ComesBefore(const PluginEntry& a, const PluginEntry& b);

}  // namespace epiphyte::core
