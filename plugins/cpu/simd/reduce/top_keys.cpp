#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/reduce/top_keys.cpp"
#include "plugins/cpu/simd/reduce/top_keys.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Computes keys of vectors as TopKeyOf does.
template <typename T>
class Keys {
 public:
  using K = TopKey<T>;
  using D = hn::CappedTag<K, kKeyGroups>;
  static constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

  explicit Keys(bool largest) : flip_(hn::Set(D(), largest ? K(0) : K(-1))) {}

  HWY_INLINE hn::Vec<D> operator()(const T* x) const {
    const D d;
    if constexpr (std::is_floating_point_v<T>) {
      const hn::RebindToFloat<D> df;
      const auto v = hn::LoadU(df, x);
      const auto bits = hn::BitCast(d, hn::Add(v, hn::Zero(df)));
      const auto highest = hn::Set(d, std::numeric_limits<K>::max());
      const auto ordered = hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), highest));
      return hn::Xor(hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(v)), highest, ordered), flip_);
    } else {
      return hn::Xor(hn::LoadU(d, x), flip_);
    }
  }

 private:
  hn::Vec<D> flip_;
};

template <typename T>
HWY_INLINE void GroupLargestOf(const T* x, int64_t n, bool largest, TopKey<T>* bounds, int64_t groups) {
  const Keys<T> keys(largest);
  const typename Keys<T>::D d;
  constexpr int64_t kLanes = Keys<T>::kLanes;
  constexpr int64_t kVectors = std::min<int64_t>(4, kKeyGroups / kLanes);
  constexpr int64_t kStep = kVectors * kLanes;
  for (int64_t g = 0; g < groups; g += kStep) {
    hn::Vec<typename Keys<T>::D> best[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) best[v] = keys(x + g + v * kLanes);
    int64_t i = g + groups;
    for (; i + kStep <= n; i += groups) {
      for (int64_t v = 0; v < kVectors; ++v) best[v] = hn::Max(best[v], keys(x + i + v * kLanes));
    }
    for (int64_t v = 0; v < kVectors; ++v) hn::StoreU(best[v], d, bounds + g + v * kLanes);
    for (int64_t at = g; i < n; ++i, ++at)
      bounds[at] = std::max(bounds[at], TopKeyOf(x[i], largest));  // the rest has fewer elements than kStep
  }
}
void GroupLargestFloat(const float* x, int64_t n, bool largest, int32_t* bounds, int64_t groups) {
  GroupLargestOf(x, n, largest, bounds, groups);
}
void GroupLargestDouble(const double* x, int64_t n, bool largest, int64_t* bounds, int64_t groups) {
  GroupLargestOf(x, n, largest, bounds, groups);
}
void GroupLargest32(const int32_t* x, int64_t n, bool largest, int32_t* bounds, int64_t groups) {
  GroupLargestOf(x, n, largest, bounds, groups);
}
void GroupLargest64(const int64_t* x, int64_t n, bool largest, int64_t* bounds, int64_t groups) {
  GroupLargestOf(x, n, largest, bounds, groups);
}

template <typename T>
HWY_INLINE int64_t Collect(const T* x, int64_t n, bool largest, TopKey<T> least, int32_t* indices) {
  const Keys<T> keys(largest);
  const typename Keys<T>::D d;
  using Mask = hn::Mask<typename Keys<T>::D>;
  constexpr int64_t kLanes = Keys<T>::kLanes;
  const auto limit = hn::Set(d, least);
  const auto below = [=](int64_t i) HWY_ATTR { return hn::Gt(limit, keys(x + i)); };
  int64_t count = 0;
  const auto take = [&](int64_t i, Mask missed) HWY_ATTR {
    uint8_t bits[8] = {};
    hn::StoreMaskBits(d, hn::Not(missed), bits);
    for (uint32_t rest = bits[0] | static_cast<uint32_t>(bits[1]) << 8; rest != 0; rest &= rest - 1)
      indices[count++] = static_cast<int32_t>(i) + __builtin_ctz(rest);
  };
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    const Mask a = below(i), b = below(i + kLanes), c = below(i + 2 * kLanes), e = below(i + 3 * kLanes);
    if (HWY_LIKELY(hn::AllTrue(d, hn::And(hn::And(a, b), hn::And(c, e))))) continue;
    take(i, a);
    take(i + kLanes, b);
    take(i + 2 * kLanes, c);
    take(i + 3 * kLanes, e);
  }
  for (; i < n; ++i)
    if (TopKeyOf(x[i], largest) >= least) indices[count++] = static_cast<int32_t>(i);
  return count;
}
int64_t CollectFloat(const float* x, int64_t n, bool largest, int32_t least, int32_t* indices) {
  return Collect(x, n, largest, least, indices);
}
int64_t CollectDouble(const double* x, int64_t n, bool largest, int64_t least, int32_t* indices) {
  return Collect(x, n, largest, least, indices);
}
int64_t Collect32(const int32_t* x, int64_t n, bool largest, int32_t least, int32_t* indices) {
  return Collect(x, n, largest, least, indices);
}
int64_t Collect64(const int64_t* x, int64_t n, bool largest, int64_t least, int32_t* indices) {
  return Collect(x, n, largest, least, indices);
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(GroupLargestFloat);
EPIPHYTE_EXPORT(GroupLargestDouble);
EPIPHYTE_EXPORT(GroupLargest32);
EPIPHYTE_EXPORT(GroupLargest64);
EPIPHYTE_EXPORT(CollectFloat);
EPIPHYTE_EXPORT(CollectDouble);
EPIPHYTE_EXPORT(Collect32);
EPIPHYTE_EXPORT(Collect64);
void GroupLargest(const float* x, int64_t n, bool largest, int32_t* bounds, int64_t groups) {
  EPIPHYTE_DISPATCH(GroupLargestFloat)(x, n, largest, bounds, groups);
}
void GroupLargest(const double* x, int64_t n, bool largest, int64_t* bounds, int64_t groups) {
  EPIPHYTE_DISPATCH(GroupLargestDouble)(x, n, largest, bounds, groups);
}
void GroupLargest(const int32_t* x, int64_t n, bool largest, int32_t* bounds, int64_t groups) {
  EPIPHYTE_DISPATCH(GroupLargest32)(x, n, largest, bounds, groups);
}
void GroupLargest(const int64_t* x, int64_t n, bool largest, int64_t* bounds, int64_t groups) {
  EPIPHYTE_DISPATCH(GroupLargest64)(x, n, largest, bounds, groups);
}
int64_t CollectFrom(const float* x, int64_t n, bool largest, int32_t least, int32_t* indices) {
  return EPIPHYTE_DISPATCH(CollectFloat)(x, n, largest, least, indices);
}
int64_t CollectFrom(const double* x, int64_t n, bool largest, int64_t least, int32_t* indices) {
  return EPIPHYTE_DISPATCH(CollectDouble)(x, n, largest, least, indices);
}
int64_t CollectFrom(const int32_t* x, int64_t n, bool largest, int32_t least, int32_t* indices) {
  return EPIPHYTE_DISPATCH(Collect32)(x, n, largest, least, indices);
}
int64_t CollectFrom(const int64_t* x, int64_t n, bool largest, int64_t least, int32_t* indices) {
  return EPIPHYTE_DISPATCH(Collect64)(x, n, largest, least, indices);
}

}  // namespace epiphyte::cpu::simd
#endif
