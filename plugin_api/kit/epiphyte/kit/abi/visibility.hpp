// Visibility: keeps the static data of the kit private to each plugin.
//
// Two plugins may have provider classes of the same name. Then their instances of the kit's templates have the same
// name too. GCC marks static data of templates and of inline functions "unique": the dynamic linker uses the first
// definition in the process for all libraries, even for those opened with RTLD_LOCAL. One plugin would run the other's
// code. So everything in the kit that has static data is hidden, however the plugin is compiled.
//
// The same holds for such data in a plugin itself. add_ep_plugin() compiles with -fvisibility=hidden and
// -fno-gnu-unique; do the same in your own build.
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#if defined(_WIN32)
#define EPIPHYTE_KIT_HIDDEN
#else
#define EPIPHYTE_KIT_HIDDEN __attribute__((visibility("hidden")))
#endif
