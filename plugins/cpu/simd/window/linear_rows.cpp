#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/window/linear_rows.cpp"
#include "plugins/cpu/simd/window/linear_rows.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/rows-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void SampleRow(const LinearTaps& taps, const float* x, float* y) {
  const int64_t count = taps.count();
  const int32_t* const lower = taps.lower.data();
  const int32_t* const upper = taps.upper.data();
  const float* const lower_weights = taps.lower_weights.data();
  const float* const upper_weights = taps.upper_weights.data();
  int64_t i = 0;
#if HWY_ARCH_X86 && HWY_CAP_GE512
  // Two vectors form a table of kReach floats. This version of Highway has no function for that.
  const hn::CappedTag<float, LinearTaps::kBlock> d;
  const hn::RebindToSigned<decltype(d)> di;
  constexpr int64_t kBlock = LinearTaps::kBlock;
  for (; i + kBlock <= count; i += kBlock) {
    const int32_t base = taps.bases[static_cast<size_t>(i / kBlock)];
    if (base < 0) {
      for (int64_t k = i; k < i + kBlock; ++k) y[k] = lower_weights[k] * x[lower[k]] + upper_weights[k] * x[upper[k]];
      continue;
    }
    const int64_t left = taps.in_width - base;
    const auto low = left >= kBlock ? hn::LoadU(d, x + base) : LoadPart(d, x + base, static_cast<size_t>(left));
    const auto high = left >= 2 * kBlock ? hn::LoadU(d, x + base + kBlock)
                      : left > kBlock    ? LoadPart(d, x + base + kBlock, static_cast<size_t>(left - kBlock))
                                         : hn::Zero(d);
    const auto start = hn::Set(di, base);
    const auto from = [&](const int32_t* indices) HWY_ATTR {
      const auto at = hn::Sub(hn::LoadU(di, indices + i), start);
      return hn::Vec<decltype(d)>{_mm512_permutex2var_ps(low.raw, at.raw, high.raw)};
    };
    const auto part = hn::Mul(from(lower), hn::LoadU(d, lower_weights + i));
    hn::StoreU(hn::MulAdd(from(upper), hn::LoadU(d, upper_weights + i), part), d, y + i);
  }
#endif
  for (; i < count; ++i) y[i] = lower_weights[i] * x[lower[i]] + upper_weights[i] * x[upper[i]];
}

void BlendRows(const float* a, const float* b, float a_weight, float b_weight, float* y, int64_t n) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V of_a = hn::Set(d, a_weight), of_b = hn::Set(d, b_weight);
  Map(d, a, b, y, n, [=](V u, V v) EPIPHYTE_INLINE { return hn::MulAdd(v, of_b, hn::Mul(u, of_a)); });
}

void BlendFourRows(const float* const* rows, const float* weights, float* y, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto w0 = hn::Set(d, weights[0]), w1 = hn::Set(d, weights[1]);
  const auto w2 = hn::Set(d, weights[2]), w3 = hn::Set(d, weights[3]);
  const float *const a = rows[0], *const b = rows[1], *const c = rows[2], *const e = rows[3];
  Make(d, y, n, [=](const auto& load) EPIPHYTE_INLINE {
    const auto upper = hn::MulAdd(load(d, b), w1, hn::Mul(load(d, a), w0));
    return hn::MulAdd(load(d, e), w3, hn::MulAdd(load(d, c), w2, upper));
  });
}

void BlendManyRows(const float* const* rows, const float* weights, int64_t count, float* y, int64_t n) {
  const hn::ScalableTag<float> d;
  Make(d, y, n, [=](const auto& load) EPIPHYTE_INLINE {
    auto sum = hn::Zero(d);
    for (int64_t i = 0; i < count; ++i) sum = hn::MulAdd(load(d, rows[i]), hn::Set(d, weights[i]), sum);
    return sum;
  });
}

// Works by vectors of `d`, of which the last one reaches back, or for shorter rows by shorter vectors.
template <class D, typename T>
HWY_INLINE void DoubleBy(D d, const T* x, T* y, int64_t n) {
  constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(D()));
  if (n < kStep) {
    if constexpr (kStep * sizeof(T) > 16) {
      DoubleBy(hn::Half<D>(), x, y, n);
    } else {
      for (int64_t i = 0; i < n; ++i) y[2 * i] = y[2 * i + 1] = x[i];
    }
    return;
  }
  const auto store = [=](int64_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    hn::StoreInterleaved2(v, v, d, y + 2 * i);
  };
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) store(i);
  if (i < n) store(n - kStep);
}
template <typename T>
HWY_INLINE void Double(const T* x, T* y, int64_t n) {
  DoubleBy(hn::ScalableTag<T>(), x, y, n);
}
void Double8(const uint8_t* x, uint8_t* y, int64_t n) { Double(x, y, n); }
void Double16(const uint16_t* x, uint16_t* y, int64_t n) { Double(x, y, n); }
void Double32(const uint32_t* x, uint32_t* y, int64_t n) { Double(x, y, n); }

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

LinearTaps::LinearTaps(int64_t width, std::vector<int32_t> lower_indices, std::vector<int32_t> upper_indices,
                       std::vector<float> weights_of_lower, std::vector<float> weights_of_upper)
    : in_width(width),
      lower(std::move(lower_indices)),
      upper(std::move(upper_indices)),
      lower_weights(std::move(weights_of_lower)),
      upper_weights(std::move(weights_of_upper)) {
  for (int64_t i = 0; i < count(); i += kBlock) {
    int32_t first = INT32_MAX, last = 0;
    for (auto k = static_cast<size_t>(i); k < static_cast<size_t>(std::min(i + kBlock, count())); ++k) {
      first = std::min({first, lower[k], upper[k]});
      last = std::max({last, lower[k], upper[k]});
    }
    bases.push_back(last - first < kReach ? first : -1);
  }
}

EPIPHYTE_EXPORT(SampleRow);
EPIPHYTE_EXPORT(BlendRows);
EPIPHYTE_EXPORT(BlendFourRows);
EPIPHYTE_EXPORT(BlendManyRows);
void SampleRow(const LinearTaps& taps, const float* x, float* y) { EPIPHYTE_DISPATCH(SampleRow)(taps, x, y); }
void BlendRows(const float* a, const float* b, float a_weight, float b_weight, float* y, int64_t n) {
  EPIPHYTE_DISPATCH(BlendRows)(a, b, a_weight, b_weight, y, n);
}
void BlendFourRows(const float* const* rows, const float* weights, float* y, int64_t n) {
  EPIPHYTE_DISPATCH(BlendFourRows)(rows, weights, y, n);
}
void BlendManyRows(const float* const* rows, const float* weights, int64_t count, float* y, int64_t n) {
  EPIPHYTE_DISPATCH(BlendManyRows)(rows, weights, count, y, n);
}

EPIPHYTE_EXPORT(Double8);
EPIPHYTE_EXPORT(Double16);
EPIPHYTE_EXPORT(Double32);
void DoubleRow(const uint8_t* x, uint8_t* y, int64_t n) { EPIPHYTE_DISPATCH(Double8)(x, y, n); }
void DoubleRow(const uint16_t* x, uint16_t* y, int64_t n) { EPIPHYTE_DISPATCH(Double16)(x, y, n); }
void DoubleRow(const uint32_t* x, uint32_t* y, int64_t n) { EPIPHYTE_DISPATCH(Double32)(x, y, n); }

}  // namespace epiphyte::cpu::simd
#endif
