// The reports of `plugins`, `doctor` and `policy` about plugins.
#pragma once

#include <vector>

#include "epiphyte/plugin_catalog.hpp"
#include "host/cli/text.h"

namespace epiphyte::cli {

Json ToJson(const PluginInfo& plugin);
// {"files": […], "settings": […], "notes": […]}
Json ToJson(const PolicyInfo& policy);
// {"plugins": […], "folders": […]}
Json ToJson(const std::vector<PluginInfo>& plugins, const std::vector<SearchedFolder>& folders);

// Findings of a probe: {"state", "message", "hint", "devices", "notes"}.
Json Findings(const PluginInfo& probed);
// And back. False, and nothing added, when `findings` aren't what Findings makes: a plugin may have had its hand in
// them.
bool AddFindings(const Json& findings, PluginInfo* plugin);

}  // namespace epiphyte::cli
