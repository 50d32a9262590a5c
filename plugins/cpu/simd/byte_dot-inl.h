// What products of bytes share: four products at a time that are added to sums of int32, exactly, with instructions for
// that and without; and the way from sums back to bytes.
#if defined(EPIPHYTE_SIMD_BYTE_DOT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EPIPHYTE_SIMD_BYTE_DOT_INL_H
#undef EPIPHYTE_SIMD_BYTE_DOT_INL_H
#else
#define EPIPHYTE_SIMD_BYTE_DOT_INL_H
#endif

#include <cstdint>

#include "plugins/cpu/simd/math-inl.h"
#include "plugins/cpu/simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Sums = hn::ScalableTag<int32_t>;
using Sum = hn::Vec<Sums>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Sums()));

// Even and odd bytes apart, as 16-bit numbers, so that no product and no sum of two is too large.
struct ByWords {
#if HWY_CAP_GE512
  static constexpr int kRows = 6, kVectors = 2;
#else
  static constexpr int kRows = 4, kVectors = 2;
#endif
  using Words = hn::Repartition<int16_t, Sums>;
  struct Pair {
    // Spelled out: an implicit constructor has not the target that the vectors' own are inlined for (GCC, aarch64).
    HWY_INLINE Pair() {}
    HWY_INLINE Pair(hn::Vec<Words> even_words, hn::Vec<Words> odd_words) : even(even_words), odd(odd_words) {}

    hn::Vec<Words> even, odd;
  };
  static HWY_INLINE Pair Weights(Sum bytes) {
    const auto words = hn::BitCast(Words(), bytes);
    return {hn::ShiftRight<8>(hn::ShiftLeft<8>(words)), hn::ShiftRight<8>(words)};
  }
  static HWY_INLINE Pair Factors(int32_t four) {
    return {hn::BitCast(Words(), hn::Set(Sums(), four & 0x00FF00FF)),
            hn::BitCast(Words(), hn::Set(Sums(), static_cast<int32_t>(static_cast<uint32_t>(four) >> 8 & 0x00FF00FF)))};
  }
  static HWY_INLINE Pair FactorsOf(Sum bytes) {
    const hn::Repartition<uint16_t, Sums> du;
    const auto words = hn::BitCast(du, bytes);
    return {hn::BitCast(Words(), hn::And(words, hn::Set(du, 0xFF))), hn::BitCast(Words(), hn::ShiftRight<8>(words))};
  }
  static HWY_INLINE Sum PairSums(hn::Vec<Words> a, hn::Vec<Words> b) {
#if HWY_ARCH_X86
    Sum none = hn::Zero(Sums());
    return hn::ReorderWidenMulAccumulate(Sums(), a, b, hn::Zero(Sums()), none);  // pmaddwd
#else
    const Sum products = hn::BitCast(Sums(), hn::Mul(a, b));  // -128 * 255 is an int16
    return hn::Add(hn::ShiftRight<16>(hn::ShiftLeft<16>(products)), hn::ShiftRight<16>(products));
#endif
  }
  static HWY_INLINE Sum Add(Sum sum, const Pair& factors, const Pair& weights) {
    return hn::Add(sum, hn::Add(PairSums(factors.even, weights.even), PairSums(factors.odd, weights.odd)));
  }
};

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
struct ByVnni {
  static constexpr int kRows = 6, kVectors = 4;
  static HWY_INLINE Sum Weights(Sum bytes) { return bytes; }
  static HWY_INLINE Sum Factors(int32_t four) { return hn::Set(Sums(), four); }
  static HWY_INLINE Sum FactorsOf(Sum bytes) { return bytes; }
  static HWY_INLINE Sum Add(Sum sum, Sum factors, Sum weights) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(factors.raw), "v"(weights.raw));
    return sum;
  }
};
#else
using ByVnni = ByWords;
#endif

// round(value) + zero, within low and high; halves to even, NaN is the lowest.
HWY_INLINE Sum Rounded(hn::Vec<hn::ScalableTag<float>> value, Sum zero, Sum low, Sum high) {
  const hn::ScalableTag<float> df;
  constexpr float kBeyond = 0x1p20f;
  const auto lowest = hn::Set(df, -kBeyond);
#if HWY_ARCH_X86
  const auto above = hn::Max(value, lowest);  // of which x86 gives the second one when there is a NaN
#else
  const auto above = hn::IfThenElse(hn::Gt(value, lowest), value, lowest);
#endif
  const Sum number = hn::NearestInt(hn::Min(above, hn::Set(df, kBeyond)));
  return hn::Min(hn::Max(hn::Add(number, zero), low), high);
}

// The low byte of each.
HWY_INLINE auto LowBytes(Sum v) {
  const hn::RebindToUnsigned<Sums> du;
  return hn::U8FromU32(hn::And(hn::BitCast(du, v), hn::Set(du, 255u)));
}

// See RequantizeRow.
HWY_INLINE void RequantizeSums(const int32_t* sums, const float* factor, int32_t zero, int32_t low, int32_t high,
                               uint8_t* y, int64_t n) {
  const Sums d;
  const hn::ScalableTag<float> df;
  const Sum vector_zero = hn::Set(d, zero), vector_low = hn::Set(d, low), vector_high = hn::Set(d, high);
  Make(hn::Rebind<uint8_t, Sums>(), y, n, [=](const auto& load) EPIPHYTE_INLINE {
    return LowBytes(
        Rounded(hn::Mul(hn::ConvertTo(df, load(d, sums)), load(df, factor)), vector_zero, vector_low, vector_high));
  });
}

// y[i] = float(sums[i]) * factor[i] + bias[i], rounded twice; a null bias is 0.
HWY_INLINE void ScaleSums(const int32_t* sums, const float* factor, const float* bias, float* y, int64_t n) {
  const Sums d;
  const hn::ScalableTag<float> df;
  if (bias == nullptr) {
    Make(df, y, n,
         [=](const auto& load) EPIPHYTE_INLINE { return hn::Mul(hn::ConvertTo(df, load(d, sums)), load(df, factor)); });
  } else {
    Make(df, y, n, [=](const auto& load) EPIPHYTE_INLINE {
      return hn::Add(InRegister(hn::Mul(hn::ConvertTo(df, load(d, sums)), load(df, factor))), load(df, bias));
    });
  }
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EPIPHYTE_SIMD_BYTE_DOT_INL_H
