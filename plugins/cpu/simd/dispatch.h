// A call of the variant for the chosen target, of a function that HWY_EXPORT lists: HWY_DYNAMIC_DISPATCH without the
// call into Highway's library that it begins with, which takes as long as a short row.
//
//     HWY_EXPORT(Scale);
//     void Scale(float* x, float by, int64_t n) { EPIPHYTE_DISPATCH(Scale)(x, by, n); }
#pragma once

#include "plugins/cpu/simd/per_target.h"

#include <hwy/highway.h>

#if (HWY_TARGETS & (HWY_TARGETS - 1)) == 0
#define EPIPHYTE_DISPATCH(function) HWY_STATIC_DISPATCH(function)
#else
namespace epiphyte::cpu::simd {
inline const hwy::ChosenTarget& Chosen() {
  static const hwy::ChosenTarget& chosen = hwy::GetChosenTarget();
  return chosen;
}
}  // namespace epiphyte::cpu::simd
#define EPIPHYTE_DISPATCH(function) (*(HWY_DISPATCH_TABLE(function)[epiphyte::cpu::simd::Chosen().GetIndex()]))
#endif
