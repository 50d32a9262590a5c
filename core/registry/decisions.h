// Decisions: what becomes of each manifest before any library is opened.
#pragma once

#include <vector>

#include "core/registry/catalog.h"
#include "core/registry/policy.h"

namespace epiphyte::core {

// `entries` come in search order, BadManifest ones marked; they leave in the total order, each with its state. Looks at
// the file system (is the library there?) and opens nothing.
//
// A manifest that can't be used here whatever one does (unreadable, another platform, another ABI) takes no name away
// from others; of the rest, the first in search order has the name. A source belongs to the first usable plugin in the
// total order.
void DecideAll(std::vector<PluginEntry>* entries, const Policy& policy, const EpHostInfo& host);

// The total order: priority, higher first; name; path.
bool ComesBefore(const PluginEntry& a, const PluginEntry& b);

}  // namespace epiphyte::core
