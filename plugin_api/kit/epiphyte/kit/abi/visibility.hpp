// Visibility: what the kit keeps for a plugin belongs to that plugin alone.
//
// Two plugins may have provider classes of one name. Their instances of the kit's templates then have one name too, and
// GCC marks static data of templates and of inline functions "unique": the dynamic linker uses the first definition in
// the process for all libraries, also for those opened with RTLD_LOCAL. One plugin would run the other's code. So
// whatever in the kit has static data is hidden, however the plugin is compiled.
//
// The same holds for such data of a plugin's own: add_ep_plugin() compiles with -fvisibility=hidden and
// -fno-gnu-unique; do so in a build of your own.
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#if defined(_WIN32)
#define EPIPHYTE_KIT_HIDDEN
#else
#define EPIPHYTE_KIT_HIDDEN __attribute__((visibility("hidden")))
#endif
