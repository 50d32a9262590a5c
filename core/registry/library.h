// Opens plugin libraries. The only place that runs code it has not seen before.
//
// By canonical absolute path, all symbols resolved at once, none made visible to others. Never closed: a library may
// have started threads, registered exit handlers or handed out pointers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "epiphyte/ep_plugin.h"

namespace epiphyte::core {

// `depends`: what the manifest says the library needs, for the message when something is missing. Throws Refusal.
EpPluginQueryFunction OpenPluginLibrary(const std::filesystem::path& library, const std::vector<std::string>& depends);

}  // namespace epiphyte::core
