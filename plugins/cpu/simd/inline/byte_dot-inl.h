// Shared parts of int8 GEMMs: four products at a time that are added exactly to int32 sums, with and without dedicated
// instructions, and the conversion of sums back to bytes.
#if defined(EPIPHYTE_SIMD_BYTE_DOT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EPIPHYTE_SIMD_BYTE_DOT_INL_H
#undef EPIPHYTE_SIMD_BYTE_DOT_INL_H
#else
#define EPIPHYTE_SIMD_BYTE_DOT_INL_H
#endif

#include <cstdint>
#include <type_traits>

#include "plugins/cpu/simd/inline/math-inl.h"
#include "plugins/cpu/simd/inline/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Sums = hn::ScalableTag<int32_t>;
using Sum = hn::Vec<Sums>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Sums()));

// Separates even and odd bytes into 16-bit numbers, so that no product and no sum of two products overflows.
struct ByWords {
#if HWY_CAP_GE512
  static constexpr int kRows = 6, kVectors = 2;
#else
  static constexpr int kRows = 4, kVectors = 2;
#endif
  using Words = hn::Repartition<int16_t, Sums>;
  struct Pair {
    // Written out, because an implicit constructor lacks the target that the vectors' own are inlined for (GCC,
    // aarch64).
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
    const Sum products = hn::BitCast(Sums(), hn::Mul(a, b));  // -128 * 255 fits int16
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

// round(value) + zero, clamped to [low, high], all in the range of bytes. Halves round to even; NaN gives the lowest.
class Rounding {
 public:
  HWY_INLINE Rounding(int32_t zero, int32_t low, int32_t high)
      : low_(hn::Set(Floats(), static_cast<float>(low - zero))),
        high_(hn::Set(Floats(), static_cast<float>(high - zero))),
        offset_(hn::Set(Sums(), zero - static_cast<int32_t>(kIntegerBits))) {}
  HWY_INLINE Sum operator()(hn::Vec<hn::ScalableTag<float>> value) const {
    const Floats d;
#if HWY_ARCH_X86
    const auto above = hn::Max(value, low_);  // x86 returns the second operand when there is a NaN
#else
    const auto above = hn::IfThenElse(hn::Gt(value, low_), value, low_);
#endif
    // A float as large as kInteger has no fraction, so the addition rounds.
    return hn::Add(hn::BitCast(Sums(), hn::Add(hn::Min(above, high_), hn::Set(d, kInteger))), offset_);
  }

 private:
  using Floats = hn::ScalableTag<float>;
  static constexpr float kInteger = 0x1.8p23f;
  static constexpr uint32_t kIntegerBits = 0x4B400000;

  hn::Vec<Floats> low_, high_;
  Sum offset_;
};

// The low byte of each number.
HWY_INLINE auto LowBytes(Sum v) {
  return hn::TruncateTo(hn::Rebind<uint8_t, Sums>(), hn::BitCast(hn::RebindToUnsigned<Sums>(), v));
}

using Bytes = hn::Repartition<uint8_t, Sums>;

// Converts the numbers of four vectors to bytes by truncation. Vectors are packed block by block: each 128 bits hold
// four adjacent bytes of every vector.
template <typename T>
HWY_INLINE hn::Vec<Bytes> BytesOfWords(hn::Vec<hn::Repartition<int16_t, Sums>> low,
                                       hn::Vec<hn::Repartition<int16_t, Sums>> high) {
#if HWY_ARCH_X86 && HWY_CAP_GE512
  return hn::Vec<Bytes>{std::is_signed_v<T> ? _mm512_packs_epi16(low.raw, high.raw)
                                            : _mm512_packus_epi16(low.raw, high.raw)};
#elif HWY_ARCH_X86 && HWY_CAP_GE256
  return hn::Vec<Bytes>{std::is_signed_v<T> ? _mm256_packs_epi16(low.raw, high.raw)
                                            : _mm256_packus_epi16(low.raw, high.raw)};
#else
  static_assert(kLanes == 4);
  const hn::Repartition<T, Sums> d;
  const hn::Half<decltype(d)> half;
  return hn::BitCast(Bytes(), hn::Combine(d, hn::DemoteTo(half, high), hn::DemoteTo(half, low)));
#endif
}
template <typename T>
HWY_INLINE hn::Vec<Bytes> BytesOfSums(const Sum (&numbers)[4]) {
  const hn::Repartition<int16_t, Sums> dw;
  return BytesOfWords<T>(hn::ReorderDemote2To(dw, numbers[0], numbers[1]),
                         hn::ReorderDemote2To(dw, numbers[2], numbers[3]));
}

// The permutation that brings the result of BytesOfSums into the order of the numbers. It moves groups of four bytes,
// which packing leaves block by block.
HWY_INLINE auto OrderOfFours() {
  HWY_ALIGN int32_t places[kLanes];
  for (int v = 0; v < 4; ++v)
    for (int block = 0; block < kLanes / 4; ++block) places[v * (kLanes / 4) + block] = block * 4 + v;
  return hn::SetTableIndices(Sums(), places);
}

// The greater of `a`, which is a magnitude, and the magnitude of `b`.
template <class V>
HWY_INLINE V GreaterMagnitude(V a, V b) {
#if HWY_ARCH_X86 && HWY_CAP_GE512
  return V{_mm512_range_ps(a.raw, b.raw, 0b1011)};  // this version of Highway has no function for it
#else
  return hn::Max(a, hn::Abs(b));
#endif
}

// As hn::NearestInt, for numbers that fit int32.
HWY_INLINE Sum NearestSmall(hn::Vec<hn::ScalableTag<float>> value) {
#if HWY_ARCH_X86 && HWY_CAP_GE512
  return Sum{_mm512_cvtps_epi32(value.raw)};
#else
  return hn::NearestInt(value);
#endif
}

// Rounds four vectors at once to bytes, in the order of BytesOfSums. With AVX-512 most of the work happens after the
// numbers have become words and bytes.
class FourRounding {
 public:
  using Value = hn::Vec<hn::ScalableTag<float>>;

#if HWY_ARCH_X86 && HWY_CAP_GE512
  HWY_INLINE FourRounding(int32_t zero, int32_t low, int32_t high)
      : high_(hn::Set(hn::ScalableTag<float>(), static_cast<float>(high - zero))),
        zero_(hn::Set(Words(), static_cast<int16_t>(zero))),
        low_(hn::Set(Bytes(), static_cast<uint8_t>(low))),
        is_signed_(low < 0) {}
  HWY_INLINE hn::Vec<Bytes> operator()(const Value (&values)[4]) const {
    Sum numbers[4];
    // x86 returns the second operand when there is a NaN. The conversion then gives the least integer, as for values
    // that are too low.
    for (int j = 0; j < 4; ++j) numbers[j] = Sum{_mm512_cvtps_epi32(hn::Min(high_, values[j]).raw)};
    const auto first = hn::SaturatedAdd(hn::ReorderDemote2To(Words(), numbers[0], numbers[1]), zero_);
    const auto second = hn::SaturatedAdd(hn::ReorderDemote2To(Words(), numbers[2], numbers[3]), zero_);
    if (!is_signed_) return hn::Max(BytesOfWords<uint8_t>(first, second), low_);
    const hn::Repartition<int8_t, Sums> d;
    return hn::BitCast(Bytes(), hn::Max(hn::BitCast(d, BytesOfWords<int8_t>(first, second)), hn::BitCast(d, low_)));
  }

 private:
  using Words = hn::Repartition<int16_t, Sums>;

  Value high_;
  hn::Vec<Words> zero_;
  hn::Vec<Bytes> low_;
  bool is_signed_;
#else
  HWY_INLINE FourRounding(int32_t zero, int32_t low, int32_t high) : each_(zero, low, high), is_signed_(low < 0) {}
  HWY_INLINE hn::Vec<Bytes> operator()(const Value (&values)[4]) const {
    const Sum numbers[4] = {each_(values[0]), each_(values[1]), each_(values[2]), each_(values[3])};
    return is_signed_ ? BytesOfSums<int8_t>(numbers) : BytesOfSums<uint8_t>(numbers);
  }

 private:
  Rounding each_;
  bool is_signed_;
#endif
};

// See RequantizeRow.
HWY_INLINE void RequantizeSums(const int32_t* sums, const float* factor, const Rounding& rounding, uint8_t* y,
                               int64_t n) {
  const Sums d;
  const hn::ScalableTag<float> df;
  Make(hn::Rebind<uint8_t, Sums>(), y, n, [=](const auto& load) EPIPHYTE_INLINE {
    return LowBytes(rounding(hn::Mul(hn::ConvertTo(df, load(d, sums)), load(df, factor))));
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
