// What `plugins` and `doctor` say about plugins.
#pragma once

#include <vector>

#include "epiphyte/plugin_catalog.hpp"
#include "host/cli/text.h"

namespace epiphyte::cli {

Json ToJson(const PluginInfo& plugin);
// {"plugins": […], "folders": […]}
Json ToJson(const std::vector<PluginInfo>& plugins, const std::vector<SearchedFolder>& folders);

// What probing finds out, {"state", "message", "hint", "devices"}, and back.
Json Findings(const PluginInfo& probed);
void AddFindings(const Json& findings, PluginInfo* plugin);

}  // namespace epiphyte::cli
