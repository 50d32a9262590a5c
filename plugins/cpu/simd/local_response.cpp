#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/local_response.cpp"
#include "plugins/cpu/simd/local_response.h"

#include <cstdint>

#include "plugins/cpu/simd/per_target.h"
// After the policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/dispatch.h"
#include "plugins/cpu/simd/math-inl.h"
#include "plugins/cpu/simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void ScaleByPower(const float* x, const float* squares, float* y, int64_t n, float bias, float factor, float beta) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<hn::ScalableTag<float>>;
  const V offset = hn::Set(d, bias), by = hn::Set(d, factor);
  if (beta == 0.75f) {
    Map<kLong>(d, x, squares, y, n, [&](V value, V square) EPIPHYTE_INLINE {
      const V root = hn::Sqrt(hn::MulAdd(by, square, offset));
      return hn::Div(value, hn::Mul(root, hn::Sqrt(root)));
    });
  } else {
    const V exponent = hn::Set(d, -beta);
    Map<kLong>(d, x, squares, y, n, [&](V value, V square) EPIPHYTE_INLINE {
      return hn::Mul(value, Exp(d, hn::Mul(exponent, Log(d, hn::MulAdd(by, square, offset)))));
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
