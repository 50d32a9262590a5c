// The kit needs C++20. Each header of the kit includes this one first, so that a compiler with an older standard
// reports one line and stops. An #include that is not found is the only error after which every compiler stops.
#pragma once

#if !defined(__cplusplus) || (defined(_MSVC_LANG) ? _MSVC_LANG < 202002L : __cplusplus < 202002L)
#include "the kit needs C++20: compile with -std=c++20, or target_compile_features(<your plugin> PRIVATE cxx_std_20)"
#endif
