// MaxOp and SumOp: what pooling does with the taps of a window, with the value that padding has because it changes no
// result.
//
//     hn::Set(d, MaxOp::kIdentity);
//     v = MaxOp()(v, hn::LoadU(d, tap));
#if defined(EPIPHYTE_SIMD_WINDOW_OPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EPIPHYTE_SIMD_WINDOW_OPS_INL_H
#undef EPIPHYTE_SIMD_WINDOW_OPS_INL_H
#else
#define EPIPHYTE_SIMD_WINDOW_OPS_INL_H
#endif

#include <limits>

#include "plugins/cpu/simd/inline/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {

struct MaxOp : Greater {
  static constexpr float kIdentity = -std::numeric_limits<float>::infinity();
};
struct SumOp : Plus {
  static constexpr float kIdentity = 0;
};

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
