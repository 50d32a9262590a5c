// Opens plugin libraries. This is the only place that runs code which the host has not seen before.
//
// Libraries are opened by canonical absolute path. All symbols are resolved at once, and none is visible to other
// libraries. They are never closed: a library may have started threads, registered exit handlers or handed out
// pointers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "epiphyte/ep_plugin.h"

namespace epiphyte::core {

// `depends`: libraries that it needs according to the manifest, for the message when one is missing. Throws Refusal.
EpPluginQueryFunction OpenPluginLibrary(const std::filesystem::path& library, const std::vector<std::string>& depends);

}  // namespace epiphyte::core
