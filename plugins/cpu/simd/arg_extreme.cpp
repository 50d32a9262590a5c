#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/arg_extreme.cpp"
#include "plugins/cpu/simd/arg_extreme.h"

#include <algorithm>
#include <cstdint>

#include "plugins/cpu/simd/per_target.h"
// After the policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/dispatch.h"
#include "plugins/cpu/simd/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

template <bool kLargest>
struct Better {
  HWY_INLINE hn::Mask<D> operator()(V a, V b) const { return kLargest ? hn::Gt(a, b) : hn::Lt(a, b); }
  static bool Than(float a, float b) { return kLargest ? a > b : a < b; }
};

// The extreme of a block, and whether it has a NaN; then the block that holds the extreme of all is searched.
template <bool kLargest, bool kLast>
HWY_INLINE int64_t ArgExtremeOf(const float* x, int64_t n) {
  constexpr int64_t kBlock = 1024;
  constexpr int64_t kVectors = 4;
  const D d;
  float best = x[0];
  int64_t from = 0;
  for (int64_t block = 0; block < n; block += kBlock) {
    const int64_t end = std::min(n, block + kBlock);
    float extreme = x[block];
    bool nan = extreme != extreme;
    int64_t i = block;
    if (end - block >= kVectors * kLanes) {
      V lanes[kVectors];
      hn::Mask<D> unordered = hn::FirstN(d, 0);
      for (int64_t v = 0; v < kVectors; ++v) lanes[v] = hn::Set(d, extreme);
      for (; i + kVectors * kLanes <= end; i += kVectors * kLanes) {
        for (int64_t v = 0; v < kVectors; ++v) {
          const V value = hn::LoadU(d, x + i + v * kLanes);
          unordered = hn::Or(unordered, hn::IsNaN(value));
          lanes[v] = kLargest ? hn::Max(lanes[v], value) : hn::Min(lanes[v], value);
        }
      }
      for (int64_t v = 1; v < kVectors; ++v)
        lanes[0] = kLargest ? hn::Max(lanes[0], lanes[v]) : hn::Min(lanes[0], lanes[v]);
      nan |= !hn::AllFalse(d, unordered);
      extreme = hn::GetLane(kLargest ? hn::MaxOfLanes(d, lanes[0]) : hn::MinOfLanes(d, lanes[0]));
    }
    for (; i < end; ++i) {
      nan |= x[i] != x[i];
      if (Better<kLargest>::Than(x[i], extreme)) extreme = x[i];
    }
    if (nan) {
      const auto is_nan = [](float value) { return value != value; };
      if (!kLast) return std::find_if(x + block, x + n, is_nan) - x;
      for (int64_t at = n - 1;; --at)
        if (is_nan(x[at])) return at;
    }
    if (kLast ? !Better<kLargest>::Than(best, extreme) : Better<kLargest>::Than(extreme, best)) {
      best = extreme;
      from = block;
    }
  }
  if (!kLast) return std::find(x + from, x + n, best) - x;
  for (int64_t at = std::min(n, from + kBlock) - 1;; --at)
    if (x[at] == best) return at;
}
int64_t ArgExtreme(const float* x, int64_t n, Extreme which) {
  if (which.largest) return which.last ? ArgExtremeOf<true, true>(x, n) : ArgExtremeOf<true, false>(x, n);
  return which.last ? ArgExtremeOf<false, true>(x, n) : ArgExtremeOf<false, false>(x, n);
}

// Row after row of as many columns as fit beside their extremes into the cache next to the core.
template <bool kLargest, bool kLast>
HWY_INLINE void ArgExtremesOf(const float* x, int64_t n, int64_t stride, int64_t columns, int64_t* indices) {
  constexpr int64_t kTile = 512;
  const D d;
  const hn::RebindToSigned<D> di;
  HWY_ALIGN float best[kTile];
  HWY_ALIGN int32_t where[kTile];
  for (int64_t tile = 0; tile < columns; tile += kTile) {
    const int64_t width = std::min(kTile, columns - tile), whole = width / kLanes * kLanes;
    std::copy_n(x + tile, width, best);
    std::fill_n(where, width, 0);
    for (int64_t r = 1; r < n; ++r) {
      const float* const row = x + r * stride + tile;
      const auto index = hn::Set(di, static_cast<int32_t>(r));
      for (int64_t c = 0; c < whole; c += kLanes) {
        const V a = hn::Load(d, best + c), b = hn::LoadU(d, row + c);
        const auto unordered = hn::IsNaN(b);
        const auto replaces = kLast ? hn::Or(hn::Or(Better<kLargest>()(b, a), hn::Eq(a, b)), unordered)
                                    : hn::Or(Better<kLargest>()(b, a), hn::AndNot(hn::IsNaN(a), unordered));
        hn::Store(hn::IfThenElse(replaces, b, a), d, best + c);
        hn::Store(hn::IfThenElse(hn::RebindMask(di, replaces), index, hn::Load(di, where + c)), di, where + c);
      }
      for (int64_t c = whole; c < width; ++c) {
        const float a = best[c], b = row[c];
        const bool nan = b != b;
        const bool replaces =
            kLast ? Better<kLargest>::Than(b, a) || a == b || nan : Better<kLargest>::Than(b, a) || (nan && a == a);
        if (replaces) best[c] = b, where[c] = static_cast<int32_t>(r);
      }
    }
    std::copy_n(where, width, indices + tile);
  }
}
void ArgExtremes(const float* x, int64_t n, int64_t stride, int64_t columns, Extreme which, int64_t* indices) {
  if (which.largest) {
    which.last ? ArgExtremesOf<true, true>(x, n, stride, columns, indices)
               : ArgExtremesOf<true, false>(x, n, stride, columns, indices);
  } else {
    which.last ? ArgExtremesOf<false, true>(x, n, stride, columns, indices)
               : ArgExtremesOf<false, false>(x, n, stride, columns, indices);
  }
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(ArgExtreme);
EPIPHYTE_EXPORT(ArgExtremes);
int64_t ArgExtreme(const float* x, int64_t n, Extreme which) { return EPIPHYTE_DISPATCH(ArgExtreme)(x, n, which); }
void ArgExtremes(const float* x, int64_t n, int64_t stride, int64_t columns, Extreme which, int64_t* indices) {
  EPIPHYTE_DISPATCH(ArgExtremes)(x, n, stride, columns, which, indices);
}

}  // namespace epiphyte::cpu::simd
#endif
