#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/window/float_rows.cpp"
#include "plugins/cpu/simd/window/float_rows.h"

#include <cstdint>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/reduce-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct GreaterNumber {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Max(a, b);
  }
};

// `kTaps` is 0 if the number of taps isn't known at compile time.
template <int64_t kTaps, bool kMean, class Join>
HWY_INLINE void PoolOf(const FloatPool& p, const Join& join) {
  const hn::ScalableTag<float> d;
  const int64_t taps = kTaps == 0 ? p.taps : kTaps;
  for (int64_t i = 0; i < p.positions; ++i) {
    const bool in_run = i >= p.run_first && i < p.run_end;
    const float* const* const rows = p.rows + (in_run ? p.run_first : i) * taps;
    const int64_t from = in_run ? (i - p.run_first) * p.run_step : 0;
    const float divisor = kMean ? p.divisors[i] : 1;
    Make(d, p.y + i * p.channels, p.channels, [=](const auto& load) EPIPHYTE_INLINE {
      auto joined = load(d, rows[0] + from);
      for (int64_t t = 1; t < taps; ++t) joined = join(joined, load(d, rows[t] + from));
      return kMean ? hn::Div(joined, hn::Set(hn::DFromV<decltype(joined)>(), divisor)) : joined;
    });
  }
}

template <bool kMean, class Join>
HWY_INLINE void PoolBy(const FloatPool& p, const Join& join) {
  switch (p.taps) {
    case 4: return PoolOf<4, kMean>(p, join);
    case 9: return PoolOf<9, kMean>(p, join);
    default: return PoolOf<0, kMean>(p, join);
  }
}
void PoolFloats(const FloatPool& pool) {
  if (pool.divisors == nullptr)
    return pool.without_nan ? PoolBy<false>(pool, GreaterNumber()) : PoolBy<false>(pool, Greater());
  PoolBy<true>(pool, Plus());
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(PoolFloats);

void RunFloatPool(const FloatPool& pool) { EPIPHYTE_DISPATCH(PoolFloats)(pool); }

}  // namespace epiphyte::cpu::simd
#endif
