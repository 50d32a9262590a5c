// The kit needs C++20. Each of its headers begins here, so that a compiler set to less says so in one line and stops:
// an #include that isn't found is the one error after which every compiler does.
#pragma once

#if !defined(__cplusplus) || (defined(_MSVC_LANG) ? _MSVC_LANG < 202002L : __cplusplus < 202002L)
#include "the kit needs C++20: compile with -std=c++20, or target_compile_features(<your plugin> PRIVATE cxx_std_20)"
#endif
