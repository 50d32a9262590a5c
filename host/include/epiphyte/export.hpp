// EPIPHYTE_API marks the exported symbols of libepiphyte.
#pragma once

#if defined(_WIN32)
#if defined(EPIPHYTE_BUILDING_API)
#define EPIPHYTE_API __declspec(dllexport)
#else
#define EPIPHYTE_API __declspec(dllimport)
#endif
#else
#define EPIPHYTE_API __attribute__((visibility("default")))
#endif
