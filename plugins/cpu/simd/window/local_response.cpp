#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/window/local_response.cpp"
#include "plugins/cpu/simd/window/local_response.h"

#include <cstdint>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/math-inl.h"
#include "plugins/cpu/simd/inline/rows-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void ScaleByPower(const float* x, const float* squares, float* y, int64_t n, float bias, float factor, float beta) {
  const hn::ScalableTag<float> d;
  const auto base = [=](auto square) EPIPHYTE_INLINE {
    const hn::DFromV<decltype(square)> few;
    return hn::MulAdd(hn::Set(few, factor), square, hn::Set(few, bias));
  };
  if (beta == 0.75f) {
    Map<kLong>(d, x, squares, y, n, [&](auto value, auto square) EPIPHYTE_INLINE {
      const auto root = hn::Sqrt(base(square));
      return hn::Div(value, hn::Mul(root, hn::Sqrt(root)));
    });
  } else {
    Map<kLong>(d, x, squares, y, n, [&](auto value, auto square) EPIPHYTE_INLINE {
      const hn::DFromV<decltype(value)> few;
      return hn::Mul(value, Exp(few, hn::Mul(hn::Set(few, -beta), Log(few, base(square)))));
    });
  }
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(ScaleByPower);
void ScaleByPower(const float* x, const float* squares, float* y, int64_t n, float bias, float factor, float beta) {
  EPIPHYTE_DISPATCH(ScaleByPower)(x, squares, y, n, bias, factor, beta);
}

}  // namespace epiphyte::cpu::simd
#endif
