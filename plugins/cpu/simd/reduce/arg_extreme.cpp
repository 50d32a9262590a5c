#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/reduce/arg_extreme.cpp"
#include "plugins/cpu/simd/reduce/arg_extreme.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/reduce-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
constexpr int64_t kLanesOf = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));

template <bool kLargest>
struct Better {
  template <class V>
  HWY_INLINE auto operator()(V a, V b) const {
    return kLargest ? hn::Gt(a, b) : hn::Lt(a, b);
  }
  template <typename T>
  static bool Than(T a, T b) {
    return kLargest ? a > b : a < b;
  }
};
// Finds the extreme of each block and whether it has a NaN. Then it searches the block that holds the extreme of all.
template <bool kLargest, bool kLast, typename T>
HWY_INLINE int64_t ArgExtremeOf(const T* x, int64_t n) {
  constexpr int64_t kBlock = 4096 / static_cast<int64_t>(sizeof(T));
  constexpr int64_t kVectors = 4, kLanes = kLanesOf<T>;
  const hn::ScalableTag<T> d;
  using V = hn::Vec<hn::ScalableTag<T>>;
  T best = x[0];
  int64_t from = 0;
  for (int64_t block = 0; block < n; block += kBlock) {
    const int64_t end = std::min(n, block + kBlock);
    T extreme = x[block];
    bool nan = extreme != extreme;
    int64_t i = block;
    if (end - block >= kVectors * kLanes) {
      V lanes[kVectors];
      auto unordered = hn::FirstN(d, 0);
      for (int64_t v = 0; v < kVectors; ++v) lanes[v] = hn::Set(d, extreme);
      for (; i + kVectors * kLanes <= end; i += kVectors * kLanes) {
        for (int64_t v = 0; v < kVectors; ++v) {
          const V value = hn::LoadU(d, x + i + v * kLanes);
          if constexpr (std::is_floating_point_v<T>) unordered = hn::Or(unordered, hn::IsNaN(value));
          lanes[v] = kLargest ? hn::Max(lanes[v], value) : hn::Min(lanes[v], value);
        }
      }
      for (int64_t v = 1; v < kVectors; ++v)
        lanes[0] = kLargest ? hn::Max(lanes[0], lanes[v]) : hn::Min(lanes[0], lanes[v]);
      nan |= !hn::AllFalse(d, unordered);
      HWY_ALIGN T values[kLanes];
      hn::Store(lanes[0], d, values);
      for (const T value : values)
        if (Better<kLargest>::Than(value, extreme)) extreme = value;
    }
    for (; i < end; ++i) {
      nan |= x[i] != x[i];
      if (Better<kLargest>::Than(x[i], extreme)) extreme = x[i];
    }
    if (nan) {
      const auto is_nan = [](T value) { return value != value; };
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
template <typename T>
int64_t ArgExtremeIn(const T* x, int64_t n, Extreme which) {
  if (which.largest) return which.last ? ArgExtremeOf<true, true>(x, n) : ArgExtremeOf<true, false>(x, n);
  return which.last ? ArgExtremeOf<false, true>(x, n) : ArgExtremeOf<false, false>(x, n);
}

// Goes row after row over as many columns as fit into the first-level cache beside their extremes.
template <bool kLargest, bool kLast, typename T>
HWY_INLINE void ArgExtremesOf(const T* x, int64_t n, int64_t stride, int64_t columns, int64_t* indices) {
  constexpr int64_t kTile = 512, kLanes = kLanesOf<T>;
  using Index = hwy::MakeSigned<T>;
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  HWY_ALIGN T best[kTile];
  HWY_ALIGN Index where[kTile];
  for (int64_t tile = 0; tile < columns; tile += kTile) {
    const int64_t width = std::min(kTile, columns - tile), whole = width / kLanes * kLanes;
    std::copy_n(x + tile, width, best);
    std::fill_n(where, width, Index{0});
    for (int64_t r = 1; r < n; ++r) {
      const T* const row = x + r * stride + tile;
      const auto index = hn::Set(di, static_cast<Index>(r));
      for (int64_t c = 0; c < whole; c += kLanes) {
        const auto a = hn::Load(d, best + c), b = hn::LoadU(d, row + c);
        auto replaces = Better<kLargest>()(b, a);
        if constexpr (kLast) replaces = hn::Or(replaces, hn::Eq(a, b));
        if constexpr (std::is_floating_point_v<T>) {
          const auto unordered = hn::IsNaN(b);
          replaces = hn::Or(replaces, kLast ? unordered : hn::AndNot(hn::IsNaN(a), unordered));
        }
        hn::Store(hn::IfThenElse(replaces, b, a), d, best + c);
        hn::Store(hn::IfThenElse(hn::RebindMask(di, replaces), index, hn::Load(di, where + c)), di, where + c);
      }
      for (int64_t c = whole; c < width; ++c) {
        const T a = best[c], b = row[c];
        const bool nan = b != b;
        const bool replaces =
            kLast ? Better<kLargest>::Than(b, a) || a == b || nan : Better<kLargest>::Than(b, a) || (nan && a == a);
        if (replaces) best[c] = b, where[c] = static_cast<Index>(r);
      }
    }
    std::copy_n(where, width, indices + tile);
  }
}
template <typename T>
void ArgExtremesIn(const T* x, int64_t n, int64_t stride, int64_t columns, Extreme which, int64_t* indices) {
  if (which.largest) {
    which.last ? ArgExtremesOf<true, true>(x, n, stride, columns, indices)
               : ArgExtremesOf<true, false>(x, n, stride, columns, indices);
  } else {
    which.last ? ArgExtremesOf<false, true>(x, n, stride, columns, indices)
               : ArgExtremesOf<false, false>(x, n, stride, columns, indices);
  }
}

#define EPIPHYTE_ROW(Name, T) \
  int64_t ArgExtreme##Name(const T* x, int64_t n, Extreme which) { return ArgExtremeIn(x, n, which); }
#define EPIPHYTE_COLUMNS(Name, T)                                                                                   \
  void ArgExtremes##Name(const T* x, int64_t n, int64_t stride, int64_t columns, Extreme which, int64_t* indices) { \
    ArgExtremesIn(x, n, stride, columns, which, indices);                                                           \
  }
#define EPIPHYTE_WIDE_TYPES(_) _(Float, float) _(Double, double) _(Int32, int32_t) _(Int64, int64_t)
#define EPIPHYTE_TYPES(_) EPIPHYTE_WIDE_TYPES(_) _(Int8, int8_t) _(Uint8, uint8_t)
EPIPHYTE_TYPES(EPIPHYTE_ROW)
EPIPHYTE_WIDE_TYPES(EPIPHYTE_COLUMNS)
#undef EPIPHYTE_ROW
#undef EPIPHYTE_COLUMNS

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

#define EPIPHYTE_ROW(Name, T)                                   \
  EPIPHYTE_EXPORT(ArgExtreme##Name);                            \
  template <>                                                   \
  int64_t ArgExtreme<T>(const T* x, int64_t n, Extreme which) { \
    return EPIPHYTE_DISPATCH(ArgExtreme##Name)(x, n, which);    \
  }
#define EPIPHYTE_COLUMNS(Name, T)                                                                                \
  EPIPHYTE_EXPORT(ArgExtremes##Name);                                                                            \
  template <>                                                                                                    \
  void ArgExtremes<T>(const T* x, int64_t n, int64_t stride, int64_t columns, Extreme which, int64_t* indices) { \
    EPIPHYTE_DISPATCH(ArgExtremes##Name)(x, n, stride, columns, which, indices);                                 \
  }
EPIPHYTE_TYPES(EPIPHYTE_ROW)
EPIPHYTE_WIDE_TYPES(EPIPHYTE_COLUMNS)
#undef EPIPHYTE_ROW
#undef EPIPHYTE_COLUMNS

}  // namespace epiphyte::cpu::simd
#endif
#undef EPIPHYTE_TYPES
#undef EPIPHYTE_WIDE_TYPES
