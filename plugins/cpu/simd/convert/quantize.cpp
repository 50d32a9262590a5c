#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/convert/quantize.cpp"
#include "plugins/cpu/simd/convert/quantize.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/byte_dot-inl.h"
#include "plugins/cpu/simd/inline/math-inl.h"
#include "plugins/cpu/simd/inline/rows-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;

// round(x / scale) + zero, saturated.
template <typename Q, class V = hn::Vec<Floats>>
HWY_INLINE hn::Vec<hn::Rebind<Q, Floats>> Quantized(V x, V scale, V zero) {
  const Floats d;
  const hn::RebindToSigned<Floats> di;
  // The bound is beyond every zero point but, for bytes, within 15 bits: Highway 1.0 drops the highest of 16 bits on
  // the way there.
  constexpr float kBeyond = sizeof(Q) == 1 ? 0x1p14f : 0x1p20f;
  // NaN becomes this lowest number.
  const V lowest = hn::Set(d, -kBeyond);
  const V quotient = hn::Div(x, scale);
#if HWY_ARCH_X86
  const V above = hn::Max(quotient, lowest);  // x86 returns the second operand when there is a NaN
#else
  const V above = hn::IfThenElse(hn::Gt(quotient, lowest), quotient, lowest);
#endif
  // Adding it leaves the nearest integer in the low bits; zero is then added exactly.
  const V round = hn::Set(d, 0x1.8p23f);
  const V sum = hn::Add(hn::Add(hn::Min(above, hn::Set(d, kBeyond)), round), zero);
  return hn::DemoteTo(hn::Rebind<Q, Floats>(), hn::Sub(hn::BitCast(di, sum), hn::BitCast(di, round)));
}

// Quantises whole blocks to bytes with one scale, by multiplying by its inverse. Numbers so near to the middle between
// two results that this may matter are divided, with their neighbours. Returns the number of elements in whole blocks.
template <typename Q>
HWY_INLINE int64_t QuantizeNearly(const float* x, Q* y, int64_t n, float scale, float zero) {
  const Floats d;
  using V = hn::Vec<Floats>;
  const hn::Repartition<Q, Floats> dq;
  constexpr int64_t kStep = 4 * kLanes;
  const float inverse = 1 / scale;
  if (n < kStep || !(std::fabs(inverse) >= std::numeric_limits<float>::min() && std::isfinite(inverse))) return 0;
  // The bound is beyond every zero point. NaN becomes the lowest number.
  constexpr float kBeyond = 512;
  const V by = hn::Set(d, inverse), lowest = hn::Set(d, -kBeyond), highest = hn::Set(d, kBeyond);
  // The inverse, the product and the exact quotient each round by 2^-24 of up to kBeyond.
  const V limit = hn::Set(d, 0.5f - 0x1p-13f);
  const Sum from = hn::Set(Sums(), static_cast<int32_t>(zero));
  const auto order = OrderOfFours();
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    Sum numbers[4];
    V farthest = hn::Zero(d);
    for (int v = 0; v < 4; ++v) {
      const V quotient = hn::Mul(hn::LoadU(d, x + i + v * kLanes), by);
#if HWY_ARCH_X86
      const V above = hn::Max(quotient, lowest);  // x86 returns the second operand when there is a NaN
#else
      const V above = hn::IfThenElse(hn::Gt(quotient, lowest), quotient, lowest);
#endif
      const V within = hn::Min(above, highest);
      const Sum number = NearestSmall(within);
      farthest = GreaterMagnitude(farthest, hn::Sub(within, hn::ConvertTo(d, number)));
      numbers[v] = hn::Add(number, from);
    }
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Lt(farthest, limit)))) {
      const V divisor = hn::Set(d, scale), zeros = hn::Set(d, zero);
      for (int64_t at = i; at < i + kStep; at += kLanes)
        hn::StoreU(Quantized<Q>(hn::LoadU(d, x + at), divisor, zeros), hn::Rebind<Q, Floats>(), y + at);
      continue;
    }
    const Sum fours = hn::TableLookupLanes(hn::BitCast(Sums(), BytesOfSums<Q>(numbers)), order);
    hn::StoreU(hn::BitCast(dq, fours), dq, y + i);
  }
  return i;
}

template <typename Q>
HWY_INLINE void Quantize(const float* x, Q* y, int64_t n, const float* scale, const float* zero, int64_t stride) {
  const Floats d;
  const hn::Rebind<Q, Floats> dq;
  if (stride == 0) {
    if constexpr (sizeof(Q) == 1) {
      const int64_t made = QuantizeNearly(x, y, n, scale[0], zero[0]);
      if (made == n) return;
      x += made;
      y += made;
      n -= made;
    }
    const auto by = hn::Set(d, scale[0]), from = hn::Set(d, zero[0]);
    Make(dq, y, n, [=](const auto& load) EPIPHYTE_INLINE { return Quantized<Q>(load(d, x), by, from); });
  } else {
    Make(dq, y, n,
         [=](const auto& load) EPIPHYTE_INLINE { return Quantized<Q>(load(d, x), load(d, scale), load(d, zero)); });
  }
}
void QuantizeU8(const float* x, uint8_t* y, int64_t n, const float* scale, const float* zero, int64_t stride) {
  Quantize(x, y, n, scale, zero, stride);
}
void QuantizeI8(const float* x, int8_t* y, int64_t n, const float* scale, const float* zero, int64_t stride) {
  Quantize(x, y, n, scale, zero, stride);
}
void QuantizeU16(const float* x, uint16_t* y, int64_t n, const float* scale, const float* zero, int64_t stride) {
  Quantize(x, y, n, scale, zero, stride);
}
void QuantizeI16(const float* x, int16_t* y, int64_t n, const float* scale, const float* zero, int64_t stride) {
  Quantize(x, y, n, scale, zero, stride);
}

// (x - from) * by of a vector of integers or floats.
template <class X, class V = hn::Vec<Floats>>
HWY_INLINE V Dequantized(X x, V from, V by) {
  const Floats d;
  if constexpr (std::is_same_v<X, V>) {
    return hn::Mul(hn::Sub(x, from), by);
  } else {
    return hn::Mul(hn::Sub(hn::ConvertTo(d, hn::PromoteTo(hn::RebindToSigned<Floats>(), x)), from), by);
  }
}

#if !HWY_CAP_GE256
// y[i] = (x[i] - from) * by for sixteen elements, as many as a vector of bytes has. Loading four would take as long.
template <typename Q>
HWY_INLINE void DequantizeSixteen(const Q* x, float* y, float from, float by) {
  const hn::CappedTag<float, 4> d;
  const hn::Rebind<int32_t, decltype(d)> di;
  const hn::CappedTag<uint8_t, 16> bytes;
  const hn::Repartition<uint16_t, decltype(bytes)> words;
  const hn::Half<decltype(bytes)> half_of_bytes;
  const hn::Half<decltype(words)> half_of_words;
  const auto store = [&](auto four, float* to) HWY_ATTR {
    const auto value = hn::ConvertTo(d, hn::PromoteTo(di, four));
    hn::StoreU(hn::Mul(hn::Sub(value, hn::Set(d, from)), hn::Set(d, by)), d, to);
  };
  const auto eight = [&](auto half, float* to) HWY_ATTR {
    const auto wide = hn::PromoteTo(words, half);
    store(hn::LowerHalf(half_of_words, wide), to);
    store(hn::UpperHalf(half_of_words, wide), to + 4);
  };
  auto all = hn::LoadU(bytes, reinterpret_cast<const uint8_t*>(x));
  if constexpr (std::is_signed_v<Q>) {  // both get 128 more, because there are instructions for unsigned bytes
    all = hn::Xor(all, hn::Set(bytes, 0x80));
    from += 128;
  }
  eight(hn::LowerHalf(half_of_bytes, all), y);
  eight(hn::UpperHalf(half_of_bytes, all), y + 8);
}
#endif

template <typename Q>
HWY_INLINE void Dequantize(const Q* x, float* y, int64_t n, const float* scale, const float* zero, int64_t stride) {
  const Floats d;
  const hn::Rebind<Q, Floats> dq;
  if (stride == 0) {
    const float by = scale[0], from = zero[0];
#if !HWY_CAP_GE256
    if (n >= 16) {
      for (int64_t i = 0; i + 16 <= n; i += 16) DequantizeSixteen(x + i, y + i, from, by);
      if (n % 16 != 0) DequantizeSixteen(x + n - 16, y + n - 16, from, by);
      return;
    }
#endif
    const auto vector_from = hn::Set(d, from), vector_by = hn::Set(d, by);
    Make(d, y, n, [=](const auto& load) EPIPHYTE_INLINE { return Dequantized(load(dq, x), vector_from, vector_by); });
  } else {
    Make(d, y, n,
         [=](const auto& load) EPIPHYTE_INLINE { return Dequantized(load(dq, x), load(d, zero), load(d, scale)); });
  }
}
void DequantizeU8(const uint8_t* x, float* y, int64_t n, const float* scale, const float* zero, int64_t stride) {
  Dequantize(x, y, n, scale, zero, stride);
}
void DequantizeI8(const int8_t* x, float* y, int64_t n, const float* scale, const float* zero, int64_t stride) {
  Dequantize(x, y, n, scale, zero, stride);
}

void DequantizeFloat(const float* x, float* y, int64_t n, const float* scale, const float* zero, int64_t stride) {
  const Floats d;
  using V = hn::Vec<Floats>;
  if (stride == 0) {
    const V by = hn::Set(d, scale[0]), from = hn::Set(d, zero[0]);
    return Map(d, x, y, n, [=](V value) EPIPHYTE_INLINE { return Dequantized(value, from, by); });
  }
  Map(d, x, zero, scale, y, n, [](V value, V from, V by) EPIPHYTE_INLINE { return Dequantized(value, from, by); });
}

struct Extremes {
  using Vector = hn::Vec<Floats>;
  Vector low, high, poison;

  HWY_INLINE void Add(Vector x) {
    low = hn::Min(low, x);
    high = hn::Max(high, x);
    poison = hn::IfThenElse(hn::IsNaN(x), x, poison);  // targets differ in what Min and Max give for a NaN
  }
};

Range RangeWithZero(const float* x, int64_t n) {
  const Floats d;
  const auto zero = hn::Zero(d);
  Extremes even{zero, zero, zero}, odd = even;
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    even.Add(hn::LoadU(d, x + i));
    odd.Add(hn::LoadU(d, x + i + kLanes));
  }
  if (i + kLanes <= n) {
    even.Add(hn::LoadU(d, x + i));
    i += kLanes;
  }
  // Elements that are seen twice, and zeros, don't change the result.
  if (i < n) odd.Add(Remainder<hn::MaxLanes(Floats())>{n}(d, x));
  if (!hn::AllFalse(d, hn::IsNaN(hn::Add(even.poison, odd.poison)))) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    return {nan, nan};
  }
  return {hn::GetLane(hn::MinOfLanes(d, hn::Min(even.low, odd.low))),
          hn::GetLane(hn::MaxOfLanes(d, hn::Max(even.high, odd.high)))};
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(QuantizeU8);
EPIPHYTE_EXPORT(QuantizeI8);
EPIPHYTE_EXPORT(QuantizeU16);
EPIPHYTE_EXPORT(QuantizeI16);
EPIPHYTE_EXPORT(DequantizeU8);
EPIPHYTE_EXPORT(DequantizeI8);
EPIPHYTE_EXPORT(DequantizeFloat);
EPIPHYTE_EXPORT(RangeWithZero);

void QuantizeRow(const float* x, uint8_t* y, int64_t n, const float* scale, const float* zero, int64_t stride) {
  EPIPHYTE_DISPATCH(QuantizeU8)(x, y, n, scale, zero, stride);
}
void QuantizeRow(const float* x, int8_t* y, int64_t n, const float* scale, const float* zero, int64_t stride) {
  EPIPHYTE_DISPATCH(QuantizeI8)(x, y, n, scale, zero, stride);
}
void QuantizeRow(const float* x, uint16_t* y, int64_t n, const float* scale, const float* zero, int64_t stride) {
  EPIPHYTE_DISPATCH(QuantizeU16)(x, y, n, scale, zero, stride);
}
void QuantizeRow(const float* x, int16_t* y, int64_t n, const float* scale, const float* zero, int64_t stride) {
  EPIPHYTE_DISPATCH(QuantizeI16)(x, y, n, scale, zero, stride);
}
void DequantizeRow(const uint8_t* x, float* y, int64_t n, const float* scale, const float* zero, int64_t stride) {
  EPIPHYTE_DISPATCH(DequantizeU8)(x, y, n, scale, zero, stride);
}
void DequantizeRow(const int8_t* x, float* y, int64_t n, const float* scale, const float* zero, int64_t stride) {
  EPIPHYTE_DISPATCH(DequantizeI8)(x, y, n, scale, zero, stride);
}
void DequantizeRow(const float* x, float* y, int64_t n, const float* scale, const float* zero, int64_t stride) {
  EPIPHYTE_DISPATCH(DequantizeFloat)(x, y, n, scale, zero, stride);
}
Range RangeWithZero(const float* x, int64_t n) { return EPIPHYTE_DISPATCH(RangeWithZero)(x, n); }

}  // namespace epiphyte::cpu::simd
#endif
