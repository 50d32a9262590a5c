#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/window/channel_scale.cpp"
#include "plugins/cpu/simd/window/channel_scale.h"

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
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Tag()));

HWY_INLINE void ScaleRow(const float* x, const float* scale, const float* shift, float* y, int64_t n) {
  const Tag d;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    hn::StoreU(hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, scale + i), hn::LoadU(d, shift + i)), d, y + i);
  if (i == n) return;
  const auto rest = static_cast<size_t>(n - i);
  const auto factor = LoadPart(d, scale + i, rest), offset = LoadPart(d, shift + i, rest);
  StorePart(d, hn::MulAdd(LoadPart(d, x + i, rest), factor, offset), y + i, rest);
}

// Scales channels that fill a whole number of vectors, few enough for their parameters to stay in registers.
template <int kVectors, class D>
HWY_INLINE void ScaleVectors(D d, const float* x, const float* scale, const float* shift, float* y, int64_t points) {
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  hn::Vec<D> factor[kVectors], offset[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    factor[v] = hn::LoadU(d, scale + v * kLanes);
    offset[v] = hn::LoadU(d, shift + v * kLanes);
  }
  for (int64_t p = 0; p < points; ++p, x += kVectors * kLanes, y += kVectors * kLanes) {
    for (int v = 0; v < kVectors; ++v)
      hn::StoreU(hn::MulAdd(hn::LoadU(d, x + v * kLanes), factor[v], offset[v]), d, y + v * kLanes);
  }
}

void ScaleChannels(const float* x, const float* scale, const float* shift, float* y, int64_t points, int64_t width) {
  if constexpr (kLanes > 8)
    if (width == 8) return ScaleVectors<1>(hn::CappedTag<float, 8>(), x, scale, shift, y, points);
  if (width == kLanes) return ScaleVectors<1>(Tag(), x, scale, shift, y, points);
  if (width == 2 * kLanes) return ScaleVectors<2>(Tag(), x, scale, shift, y, points);
  if (width == 4 * kLanes) return ScaleVectors<4>(Tag(), x, scale, shift, y, points);
  // As many points as make whole vectors are treated as one row of more channels, with repeated parameters.
  constexpr int64_t kMostWidth = 32;
  if (width < kMostWidth && width % kLanes != 0 && points >= 8 * kLanes) {
    float factors[kMostWidth * kLanes], offsets[kMostWidth * kLanes];
    for (int64_t p = 0; p < kLanes; ++p) {
      for (int64_t c = 0; c < width; ++c) {
        factors[p * width + c] = scale[c];
        offsets[p * width + c] = shift[c];
      }
    }
    int64_t p = 0;
    for (; p + kLanes <= points; p += kLanes) ScaleRow(x + p * width, factors, offsets, y + p * width, width * kLanes);
    return ScaleRow(x + p * width, factors, offsets, y + p * width, (points - p) * width);
  }
  for (int64_t p = 0; p < points; ++p) ScaleRow(x + p * width, scale, shift, y + p * width, width);
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(ScaleChannels);
void ScaleChannels(const float* x, const float* scale, const float* shift, float* y, int64_t points, int64_t width) {
  EPIPHYTE_DISPATCH(ScaleChannels)(x, scale, shift, y, points, width);
}

}  // namespace epiphyte::cpu::simd
#endif
