#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/gemm/row_dots.cpp"
#include "plugins/cpu/simd/gemm/row_dots.h"

#include <algorithm>
#include <cstdint>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/rows-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Tag()));
constexpr int kTogether = 4;
using Quad = hn::CappedTag<float, kTogether>;

// The sums of lanes that are 4, 8 … apart.
template <class D>
HWY_INLINE hn::Vec<Quad> Fold(D /*d*/, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) <= kTogether) {
    return v;
  } else {
    const hn::Half<D> half;
    return Fold(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// The sums of four vectors, in order.
HWY_INLINE hn::Vec<Quad> FourSums(const Vector* sums) {
  const Tag d;
  const Quad q;
  const auto pair = [&](int i) HWY_ATTR {
    const auto a = Fold(d, sums[i]), b = Fold(d, sums[i + 1]);
    return hn::Add(hn::InterleaveLower(q, a, b), hn::InterleaveUpper(q, a, b));
  };
  const auto first = pair(0), second = pair(2);
  return hn::Add(hn::ConcatLowerLower(q, second, first), hn::ConcatUpperUpper(q, second, first));
}

void FloatDots(const float* a, const float* rows, int64_t stride, int64_t count, int64_t depth, float* y) {
  const Tag d;
  const Quad q;
  if (depth <= 8) {  // faster than adding lanes up
    for (int64_t i = 0; i < count; ++i) {
      float sum = 0;
      for (int64_t at = 0; at < depth; ++at) sum += a[at] * rows[i * stride + at];
      y[i] = sum;
    }
    return;
  }
  for (int64_t i = 0; i < count; i += kTogether) {
    // Rows beyond the last one repeat it.
    const float* row[kTogether];
    for (int r = 0; r < kTogether; ++r) row[r] = rows + std::min<int64_t>(i + r, count - 1) * stride;
    Vector sums[kTogether], more[kTogether];
    for (int r = 0; r < kTogether; ++r) sums[r] = more[r] = hn::Zero(d);
    int64_t at = 0;
    for (; at + 2 * kLanes <= depth; at += 2 * kLanes) {
      const Vector first = hn::LoadU(d, a + at), second = hn::LoadU(d, a + at + kLanes);
      for (int r = 0; r < kTogether; ++r) {
        sums[r] = hn::MulAdd(first, hn::LoadU(d, row[r] + at), sums[r]);
        more[r] = hn::MulAdd(second, hn::LoadU(d, row[r] + at + kLanes), more[r]);
      }
    }
    if (at + kLanes <= depth) {
      const Vector next = hn::LoadU(d, a + at);
      for (int r = 0; r < kTogether; ++r) sums[r] = hn::MulAdd(next, hn::LoadU(d, row[r] + at), sums[r]);
      at += kLanes;
    }
    if (at < depth) {
      const auto rest = static_cast<size_t>(depth - at);
      const Vector last = LoadPart(d, a + at, rest);
      for (int r = 0; r < kTogether; ++r) more[r] = hn::MulAdd(last, LoadPart(d, row[r] + at, rest), more[r]);
    }
    for (int r = 0; r < kTogether; ++r) sums[r] = hn::Add(sums[r], more[r]);
    const auto four = FourSums(sums);
    if (i + kTogether <= count) {
      hn::StoreU(four, q, y + i);
    } else {
      StorePart(q, four, y + i, static_cast<size_t>(count - i));
    }
  }
}

void DoubleDots(const double* a, const double* rows, int64_t stride, int64_t count, int64_t depth, double* y) {
  const hn::ScalableTag<double> d;
  using V = hn::Vec<decltype(d)>;
  constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<double>()));
  for (int64_t i = 0; i < count; i += kTogether) {
    const double* row[kTogether];
    for (int r = 0; r < kTogether; ++r) row[r] = rows + std::min<int64_t>(i + r, count - 1) * stride;
    V sums[kTogether], more[kTogether];
    for (int r = 0; r < kTogether; ++r) sums[r] = more[r] = hn::Zero(d);
    int64_t at = 0;
    for (; at + 2 * kStep <= depth; at += 2 * kStep) {
      const V first = hn::LoadU(d, a + at), second = hn::LoadU(d, a + at + kStep);
      for (int r = 0; r < kTogether; ++r) {
        sums[r] = hn::MulAdd(first, hn::LoadU(d, row[r] + at), sums[r]);
        more[r] = hn::MulAdd(second, hn::LoadU(d, row[r] + at + kStep), more[r]);
      }
    }
    for (int r = 0; r < std::min<int64_t>(kTogether, count - i); ++r) {
      double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(sums[r], more[r])));
      for (int64_t k = at; k < depth; ++k) sum += a[k] * row[r][k];
      y[i + r] = sum;
    }
  }
}

// The compiler vectorises this.
template <typename T>
HWY_INLINE void IntegerDots(const T* a, const T* rows, int64_t stride, int64_t count, int64_t depth, T* y) {
  for (int64_t i = 0; i < count; ++i) {
    T sum = 0;
    for (int64_t k = 0; k < depth; ++k) sum += a[k] * rows[i * stride + k];
    y[i] = sum;
  }
}
void WordDots(const uint32_t* a, const uint32_t* rows, int64_t stride, int64_t count, int64_t depth, uint32_t* y) {
  IntegerDots(a, rows, stride, count, depth, y);
}
void LongDots(const uint64_t* a, const uint64_t* rows, int64_t stride, int64_t count, int64_t depth, uint64_t* y) {
  IntegerDots(a, rows, stride, count, depth, y);
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

#define EPIPHYTE_DOTS(T, Name)                                                                  \
  EPIPHYTE_EXPORT(Name);                                                                        \
  void RowDots(const T* a, const T* rows, int64_t stride, int64_t count, int64_t depth, T* y) { \
    EPIPHYTE_DISPATCH(Name)(a, rows, stride, count, depth, y);                                  \
  }
EPIPHYTE_DOTS(float, FloatDots)
EPIPHYTE_DOTS(double, DoubleDots)
EPIPHYTE_DOTS(uint32_t, WordDots)
EPIPHYTE_DOTS(uint64_t, LongDots)
#undef EPIPHYTE_DOTS

}  // namespace epiphyte::cpu::simd
#endif
