// Calls the variant for the chosen target. This replaces HWY_EXPORT and HWY_DYNAMIC_DISPATCH, which need Highway's
// library. That library measures the CPU's timer for milliseconds when it is loaded. It is also called at each
// dispatch, which takes as long as a short row.
//
//     EPIPHYTE_EXPORT(Scale);
//     void Scale(float* x, float by, int64_t n) { EPIPHYTE_DISPATCH(Scale)(x, by, n); }
#pragma once

#include "plugins/cpu/simd/target/per_target.h"

#include <hwy/highway.h>

#if (HWY_TARGETS & (HWY_TARGETS - 1)) == 0
#define EPIPHYTE_EXPORT(function) HWY_EXPORT(function)
#define EPIPHYTE_DISPATCH(function) HWY_STATIC_DISPATCH(function)
#else
namespace epiphyte::cpu::simd {
// Index of the chosen target in tables of variants. targets.cpp sets it when the library is loaded; before that it is
// the baseline. The targets, and so their indices, are the same in all files (per_target.h).
inline size_t g_chosen_index = 0;
}  // namespace epiphyte::cpu::simd
#define EPIPHYTE_EXPORT(function)                                                                                     \
  static decltype(&HWY_STATIC_DISPATCH(function)) const HWY_DISPATCH_TABLE(function)[HWY_MAX_DYNAMIC_TARGETS + 2] = { \
      &HWY_STATIC_DISPATCH(function), HWY_CHOOSE_TARGET_LIST(function), HWY_CHOOSE_FALLBACK(function)}
#define EPIPHYTE_DISPATCH(function) (*(HWY_DISPATCH_TABLE(function)[epiphyte::cpu::simd::g_chosen_index]))
#endif
