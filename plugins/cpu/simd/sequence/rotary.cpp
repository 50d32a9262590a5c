#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/sequence/rotary.cpp"
#include "plugins/cpu/simd/sequence/rotary.h"

#include <cstdint>
#include <type_traits>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/small_floats-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The type that numbers of type T are computed in.
template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class D>
HWY_INLINE hn::Vec<D> LoadFloats(D d, const double* p) {
  return hn::LoadU(d, p);
}
template <class D>
HWY_INLINE void StoreFloats(D d, hn::Vec<D> v, double* p) {
  hn::StoreU(v, d, p);
}

// Rotates by vectors of `d` from pair i on, and the rest by shorter vectors.
template <class D, typename T>
HWY_INLINE void TurnHalves(D d, const T* x, const T* cosines, const T* sines, T* y, int64_t half, int64_t i) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  for (; i + kLanes <= half; i += kLanes) {
    const auto first = LoadFloats(d, x + i), second = LoadFloats(d, x + half + i);
    const auto c = LoadFloats(d, cosines + i), s = LoadFloats(d, sines + i);
    StoreFloats(d, hn::NegMulAdd(s, second, hn::Mul(c, first)), y + i);
    StoreFloats(d, hn::MulAdd(s, first, hn::Mul(c, second)), y + half + i);
  }
  if constexpr (hn::MaxLanes(D()) > 1) {
    if (i < half) TurnHalves(hn::Half<D>(), x, cosines, sines, y, half, i);
  }
}

// Rotates interleaved pairs of a 16-bit format. Not every target has interleaved loads of half a vector, so some pairs
// at a time are deinterleaved to memory first.
template <typename T>
HWY_INLINE void TurnNeighbours(const T* x, const T* cosines, const T* sines, T* y, int64_t half) {
  const hn::ScalableTag<Wide<T>> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<Wide<T>>()));
  int64_t i = 0;
  if constexpr (std::is_same_v<T, Wide<T>>) {
    for (; i + kLanes <= half; i += kLanes) {
      hn::Vec<decltype(d)> first, second;
      hn::LoadInterleaved2(d, x + 2 * i, first, second);
      const auto c = hn::LoadU(d, cosines + i), s = hn::LoadU(d, sines + i);
      hn::StoreInterleaved2(hn::NegMulAdd(s, second, hn::Mul(c, first)), hn::MulAdd(s, first, hn::Mul(c, second)), d,
                            y + 2 * i);
    }
  }
  for (; i < half; i += kLanes) {
    T pairs[2 * kLanes] = {}, turned[2 * kLanes], c[kLanes] = {}, s[kLanes] = {};
    const int64_t count = half - i < kLanes ? half - i : kLanes;
    for (int64_t k = 0; k < count; ++k) {
      pairs[k] = x[2 * (i + k)];
      pairs[kLanes + k] = x[2 * (i + k) + 1];
      c[k] = cosines[i + k];
      s[k] = sines[i + k];
    }
    TurnHalves(d, pairs, c, s, turned, kLanes, 0);
    for (int64_t k = 0; k < count; ++k) {
      y[2 * (i + k)] = turned[k];
      y[2 * (i + k) + 1] = turned[kLanes + k];
    }
  }
}

template <typename T>
HWY_INLINE void Turn(const T* x, const T* cosines, const T* sines, T* y, int64_t half, bool interleaved) {
  if (interleaved) return TurnNeighbours(x, cosines, sines, y, half);
  TurnHalves(hn::ScalableTag<Wide<T>>(), x, cosines, sines, y, half, 0);
}

void TurnFloats(const float* x, const float* c, const float* s, float* y, int64_t half, bool interleaved) {
  Turn(x, c, s, y, half, interleaved);
}
void TurnDoubles(const double* x, const double* c, const double* s, double* y, int64_t half, bool interleaved) {
  Turn(x, c, s, y, half, interleaved);
}
void TurnFloat16s(const kit::Float16* x, const kit::Float16* c, const kit::Float16* s, kit::Float16* y, int64_t half,
                  bool interleaved) {
  Turn(x, c, s, y, half, interleaved);
}
void TurnBFloat16s(const kit::BFloat16* x, const kit::BFloat16* c, const kit::BFloat16* s, kit::BFloat16* y,
                   int64_t half, bool interleaved) {
  Turn(x, c, s, y, half, interleaved);
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

#define EPIPHYTE_TURN(Type, Name)                                                                                  \
  EPIPHYTE_EXPORT(Name);                                                                                           \
  void TurnPairs(const Type* x, const Type* cosines, const Type* sines, Type* y, int64_t half, bool interleaved) { \
    EPIPHYTE_DISPATCH(Name)(x, cosines, sines, y, half, interleaved);                                              \
  }
EPIPHYTE_TURN(float, TurnFloats)
EPIPHYTE_TURN(double, TurnDoubles)
EPIPHYTE_TURN(kit::Float16, TurnFloat16s)
EPIPHYTE_TURN(kit::BFloat16, TurnBFloat16s)
#undef EPIPHYTE_TURN

}  // namespace epiphyte::cpu::simd
#endif
