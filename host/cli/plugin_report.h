// The reports of `plugins`, `doctor` and `policy` about plugins.
#pragma once

#include <vector>

#include "epiphyte/plugin_catalog.hpp"
#include "host/cli/text.h"

namespace epiphyte::cli {

Json ToJson(const PluginInfo& plugin);
// Returns {"files": […], "settings": […], "notes": […]}.
Json ToJson(const PolicyInfo& policy);
// Returns {"plugins": […], "folders": […]}.
Json ToJson(const std::vector<PluginInfo>& plugins, const std::vector<SearchedFolder>& folders);

// Returns the findings of a probe: {"state", "message", "hint", "devices", "notes"}.
Json Findings(const PluginInfo& probed);
// Adds the output of Findings to `plugin`. Returns false and adds nothing when `findings` have another form, because
// the plugin may have changed them.
bool AddFindings(const Json& findings, PluginInfo* plugin);

}  // namespace epiphyte::cli
