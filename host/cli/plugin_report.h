// What `plugins` and `doctor` say about plugins.
#pragma once

#include <vector>

#include "epiphyte/plugin_catalog.hpp"
#include "host/cli/text.h"

namespace epiphyte::cli {

// {"plugins": […], "folders": […]}
Json ToJson(const std::vector<PluginInfo>& plugins, const std::vector<SearchedFolder>& folders);

}  // namespace epiphyte::cli
