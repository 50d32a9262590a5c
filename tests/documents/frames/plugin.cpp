// Frame for the classes of a plugin and the line that exports it.
#include <epiphyte/kit/plugin/plugin.hpp>

namespace kit = epiphyte::kit;

// BLOCK
