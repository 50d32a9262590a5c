#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/sequence/attention_rows.cpp"
#include "plugins/cpu/simd/sequence/attention_rows.h"

#include <algorithm>
#include <cstdint>
#include <limits>

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

using Tag = hn::ScalableTag<float>;

// The rest of a row behind its whole vectors. It stays in a register from one pass to the next.
template <class D>
struct Rest {
  hn::Vec<D> vector;
  int64_t at;
  size_t count;
};

// Replaces scores by weigh(scores), in place. The rest is returned instead of stored. `most` becomes the largest
// result.
template <class D, class Weigh>
HWY_INLINE Rest<D> WeighScores(D d, float* scores, int64_t n, const Weigh& weigh, float* most) {
  using Vector = hn::Vec<D>;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  const Vector lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  Vector largest = lowest;
  Rest<D> rest{lowest, n / kLanes * kLanes, static_cast<size_t>(n % kLanes)};
  for (int64_t i = 0; i < rest.at; i += kLanes) {
    const Vector score = weigh(hn::LoadU(d, scores + i), i, 0);
    hn::StoreU(score, d, scores + i);
    largest = hn::Max(largest, score);
  }
  if (rest.count != 0) {
    const Vector score = weigh(LoadPart(d, scores + rest.at, rest.count), rest.at, rest.count);
    rest.vector = hn::IfThenElse(hn::FirstN(d, rest.count), score, lowest);
    largest = hn::Max(largest, rest.vector);
  }
  *most = hn::GetLane(hn::MaxOfLanes(d, largest));
  return rest;
}

template <class D>
HWY_INLINE void SoftmaxBy(D d, float* scores, const float* mask, int64_t mask_step, float scale, int64_t n) {
  using Vector = hn::Vec<D>;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  const Vector by = hn::Set(d, scale);
  Rest<D> rest{hn::Zero(d), 0, 0};
  float most;
  if (mask == nullptr) {
    const auto weigh = [&](Vector score, int64_t, size_t) HWY_ATTR { return hn::Mul(score, by); };
    rest = WeighScores(d, scores, n, weigh, &most);
  } else if (mask_step == 0) {
    const Vector shift = hn::Set(d, mask[0]);
    const auto weigh = [&](Vector score, int64_t, size_t) HWY_ATTR { return hn::MulAdd(score, by, shift); };
    rest = WeighScores(d, scores, n, weigh, &most);
  } else {
    const auto weigh = [&](Vector score, int64_t at, size_t count) HWY_ATTR {
      return hn::MulAdd(score, by, count == 0 ? hn::LoadU(d, mask + at) : LoadPart(d, mask + at, count));
    };
    rest = WeighScores(d, scores, n, weigh, &most);
  }
  const Vector base = hn::Set(d, most);
  const auto counts = hn::FirstN(d, rest.count);
  if (rest.count != 0) rest.vector = ExpOfMasked(d, hn::IfThenElseZero(counts, hn::Sub(rest.vector, base)));
  // Sums of runs keep the rounding errors of long sums small.
  constexpr int64_t kRun = 4096;
  Vector total = hn::IfThenElseZero(counts, rest.vector);
  for (int64_t i = 0; i < rest.at;) {
    const int64_t end = std::min(rest.at, i + kRun);
    Vector sum = hn::Zero(d);
    for (; i < end; i += kLanes) {
      const Vector e = ExpOfMasked(d, hn::Sub(hn::LoadU(d, scores + i), base));
      hn::StoreU(e, d, scores + i);
      sum = hn::Add(sum, e);
    }
    total = hn::Add(total, sum);
  }
  const Vector factor = hn::Set(d, 1.0f / hn::GetLane(hn::SumOfLanes(d, total)));
  for (int64_t i = 0; i < rest.at; i += kLanes) hn::StoreU(hn::Mul(hn::LoadU(d, scores + i), factor), d, scores + i);
  if (rest.count != 0) StorePart(d, hn::Mul(rest.vector, factor), scores + rest.at, rest.count);
}

void MaskedSoftmax(float* scores, const float* mask, int64_t mask_step, float scale, int64_t n) {
  if (n == 1) {
    const float score = scores[0] * scale + (mask == nullptr ? 0.0f : mask[0]);
    scores[0] = score - score + 1.0f;  // NaN if the score isn't finite
    return;
  }
  // After a few elements of a vector are written, the CPU waits for them to reach the cache before it loads the vector.
  constexpr int64_t kShort = 4;
  if (n <= kShort) return SoftmaxBy(hn::CappedTag<float, kShort>(), scores, mask, mask_step, scale, n);
  SoftmaxBy(Tag(), scores, mask, mask_step, scale, n);
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(MaskedSoftmax);
void MaskedSoftmax(float* scores, const float* mask, int64_t mask_step, float scale, int64_t n) {
  EPIPHYTE_DISPATCH(MaskedSoftmax)(scores, mask, mask_step, scale, n);
}

}  // namespace epiphyte::cpu::simd
#endif
