// Decisions: what becomes of each manifest before any library is opened.
#pragma once

#include <vector>

#include "core/registry/plugin_entry.h"
#include "core/registry/policy_layers.h"

namespace epiphyte::core {

// `entries` come in search order, BadManifest ones marked; they leave in the total order, each with its state. Looks at
// the file system (is the library there, and who can write it?) and opens nothing.
void DecideAll(std::vector<PluginEntry>* entries, const PolicyLayers& policy, const EpHostInfo& host, bool elevated);

// Decides between those that could be used (Ready, Loaded, or Shadowed before): who has a name and who a source, the
// others become Shadowed. `entries` are in the total order. What is Loaded keeps what it has. Of the rest, the first in
// search order has the name, and a source belongs to the first in the total order. What can't be used takes nothing
// away from others; a manifest that somebody disabled does, because hiding those behind it is what that is for.
void Shadow(const std::vector<PluginEntry*>& entries);

// The same for a plugin that the application names: `entry` has the library's path and a manifest without one. What its
// name decides is left out where it has none yet: see CheckPolicy.
void DecideOne(PluginEntry* entry, const PolicyLayers& policy, const EpHostInfo& host, bool elevated);
// What policies say of the plugin's name: priority and options, and whether it may be used at all.
void ApplyPolicy(PluginEntry* entry, const PolicyLayers& policy);
void CheckPolicy(PluginEntry* entry, const PolicyLayers& policy);

// The total order: priority, higher first; the fallback provider after others; name; path.
bool ComesBefore(const PluginEntry& a, const PluginEntry& b);

}  // namespace epiphyte::core
