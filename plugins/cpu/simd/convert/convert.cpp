#include "plugins/cpu/simd/convert/convert.h"

#include <cstddef>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/convert/convert.cpp"
#include "plugins/cpu/simd/target/per_target.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/rows-inl.h"
#include "plugins/cpu/simd/inline/small_floats-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {

// A vector of floats, and vectors of as many lanes of other types.
using F32 = hn::ScalableTag<float>;
using I32 = hn::RebindToSigned<F32>;
using U32 = hn::RebindToUnsigned<F32>;
using U16 = hn::Rebind<uint16_t, F32>;
using U8 = hn::Rebind<uint8_t, F32>;
using Floats = hn::Vec<F32>;

// y[i] = f(x[i]), for different types.
template <class From, class To, class F>
HWY_INLINE void MapTo(From from, const hn::TFromD<From>* x, To to, hn::TFromD<To>* y, int64_t n, const F& f) {
  static_assert(hn::MaxLanes(From()) == hn::MaxLanes(To()));
  Make(to, y, n, [=](const auto& load) EPIPHYTE_INLINE { return f(load(from, x)); });
}

#if HWY_ARCH_X86 && !HWY_CAP_GE256
// Converts a whole vector of small integers. Loading as many of them as a vector has floats would take as long. Sign
// bits are interleaved, because shifts compete with conversions for the same execution units.
template <class D>
HWY_INLINE void VectorToFloats(D d, hn::Vec<D> v, float* to) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    hn::StoreU(hn::ConvertTo(F32(), hn::BitCast(I32(), v)), F32(), to);
  } else {
    const hn::RepartitionToWide<D> wide;
    auto above = hn::Zero(d);
    if constexpr (std::is_signed_v<hn::TFromD<D>>) above = hn::VecFromMask(d, hn::Lt(v, above));
    VectorToFloats(wide, hn::BitCast(wide, hn::InterleaveLower(d, v, above)), to);
    VectorToFloats(wide, hn::BitCast(wide, hn::InterleaveUpper(d, v, above)), to + hn::MaxLanes(d) / 2);
  }
}
#endif

template <typename T>
HWY_INLINE void IntegersToFloats(const T* from, float* to, int64_t n) {
#if HWY_ARCH_X86 && !HWY_CAP_GE256
  const hn::ScalableTag<T> d;
  constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(d));
  if (sizeof(T) < 4 && n >= kStep) {
    for (int64_t i = 0; i + kStep <= n; i += kStep) VectorToFloats(d, hn::LoadU(d, from + i), to + i);
    if (n % kStep != 0) VectorToFloats(d, hn::LoadU(d, from + n - kStep), to + n - kStep);
    return;
  }
#endif
  MapTo(hn::Rebind<T, F32>(), from, F32(), to, n, [](auto v) EPIPHYTE_INLINE {
    if constexpr (sizeof(T) < 4) {
      return hn::ConvertTo(F32(), hn::PromoteTo(I32(), v));
    } else {
      return hn::ConvertTo(F32(), v);
    }
  });
}

void I8ToFloats(const int8_t* from, float* to, int64_t n) { IntegersToFloats(from, to, n); }
void I16ToFloats(const int16_t* from, float* to, int64_t n) { IntegersToFloats(from, to, n); }
void I32ToFloats(const int32_t* from, float* to, int64_t n) { IntegersToFloats(from, to, n); }
void U8ToFloats(const uint8_t* from, float* to, int64_t n) { IntegersToFloats(from, to, n); }
void U16ToFloats(const uint16_t* from, float* to, int64_t n) { IntegersToFloats(from, to, n); }
void U32ToFloats(const uint32_t* from, float* to, int64_t n) { IntegersToFloats(from, to, n); }

// NaN and values outside int32 give the lowest integer. x86's instruction does that, but Highway's function doesn't.
HWY_INLINE hn::Vec<I32> Truncated(Floats v) {
#if HWY_ARCH_X86 && HWY_CAP_GE512
  return hn::Vec<I32>{_mm512_cvttps_epi32(v.raw)};
#elif HWY_ARCH_X86 && HWY_CAP_GE256
  return hn::Vec<I32>{_mm256_cvttps_epi32(v.raw)};
#elif HWY_ARCH_X86
  return hn::Vec<I32>{_mm_cvttps_epi32(v.raw)};
#else
  const auto fits = hn::Lt(v, hn::Set(F32(), 0x1p31f));  // too low values give the lowest anyway
  return hn::IfThenElse(hn::RebindMask(I32(), fits), hn::ConvertTo(I32(), v),
                        hn::Set(I32(), std::numeric_limits<int32_t>::min()));
#endif
}
void FloatsToI32(const float* from, int32_t* to, int64_t n) {
  MapTo(F32(), from, I32(), to, n, [](Floats v) EPIPHYTE_INLINE { return Truncated(v); });
}
template <typename T>
HWY_INLINE void FloatsToLowBits(const float* from, T* to, int64_t n) {
  const hn::Rebind<hwy::MakeUnsigned<T>, F32> unsigned_tag;
  const hn::Rebind<T, F32> tag;
  MapTo(F32(), from, tag, to, n, [=](Floats v) EPIPHYTE_INLINE {
    return hn::BitCast(tag, hn::TruncateTo(unsigned_tag, hn::BitCast(U32(), Truncated(v))));
  });
}

void FloatsToI8(const float* from, int8_t* to, int64_t n) { FloatsToLowBits(from, to, n); }
void FloatsToI16(const float* from, int16_t* to, int64_t n) { FloatsToLowBits(from, to, n); }
void FloatsToU8(const float* from, uint8_t* to, int64_t n) { FloatsToLowBits(from, to, n); }
void FloatsToU16(const float* from, uint16_t* to, int64_t n) { FloatsToLowBits(from, to, n); }

void BoolsToFloats(const bool* from, float* to, int64_t n) {
  const U8 bytes;
  MapTo(bytes, reinterpret_cast<const uint8_t*>(from), F32(), to, n, [=](auto v) EPIPHYTE_INLINE {
    return hn::ConvertTo(F32(), hn::PromoteTo(I32(), hn::Min(v, hn::Set(bytes, 1))));
  });
}
void FloatsToBools(const float* from, bool* to, int64_t n) {
  MakeBools(F32(), to, n, [=](const auto& load) EPIPHYTE_INLINE {
    const Floats v = load(F32(), from);
#if HWY_ARCH_X86 && HWY_CAP_GE512
    // Highway's Ne is false for NaN, and the negation of Eq costs an extra instruction.
    return hn::Mask<F32>{_mm512_cmp_ps_mask(v.raw, _mm512_setzero_ps(), _CMP_NEQ_UQ)};
#else
    return hn::Not(hn::Eq(v, hn::Zero(F32())));
#endif
  });
}

void DoublesToFloats(const double* from, float* to, int64_t n) {
  const hn::ScalableTag<double> doubles;
  const hn::Rebind<float, decltype(doubles)> floats;
  MapTo(doubles, from, floats, to, n, [=](auto v) EPIPHYTE_INLINE { return hn::DemoteTo(floats, v); });
}
void FloatsToDoubles(const float* from, double* to, int64_t n) {
  const hn::ScalableTag<double> doubles;
  const hn::Rebind<float, decltype(doubles)> floats;
  MapTo(floats, from, doubles, to, n, [=](auto v) EPIPHYTE_INLINE { return hn::PromoteTo(doubles, v); });
}

void BFloat16sToFloats(const kit::BFloat16* from, float* to, int64_t n) {
  MapTo(U16(), reinterpret_cast<const uint16_t*>(from), F32(), to, n,
        [](auto v) EPIPHYTE_INLINE { return FloatsOfBFloat16(F32(), v); });
}
void FloatsToBFloat16s(const float* from, kit::BFloat16* to, int64_t n) {
  MapTo(F32(), from, U16(), reinterpret_cast<uint16_t*>(to), n,
        [](Floats v) EPIPHYTE_INLINE { return BFloat16OfFloats(F32(), v); });
}

void Float16sToFloats(const kit::Float16* from, float* to, int64_t n) {
  MapTo(U16(), reinterpret_cast<const uint16_t*>(from), F32(), to, n,
        [](auto v) EPIPHYTE_INLINE { return FloatsOfFloat16(F32(), v); });
}
void FloatsToFloat16s(const float* from, kit::Float16* to, int64_t n) {
  MapTo(F32(), from, U16(), reinterpret_cast<uint16_t*>(to), n,
        [](Floats v) EPIPHYTE_INLINE { return Float16OfFloats(F32(), v); });
}

// 64-bit integers, and unsigned 32-bit integers, which are converted by int64. AVX-512 has instructions that Highway
// 1.0 doesn't know. For other targets nothing is better than one element after the other.
template <typename T>
HWY_INLINE T WideFromFloat(float value) {
  if constexpr (std::numeric_limits<T>::digits == 64) {
    if (value >= 0x1p63f) return value < 0x1p64f ? static_cast<T>(value) : T{1} << 63;
  }
#if HWY_ARCH_X86
  return static_cast<T>(_mm_cvttss_si64(_mm_set_ss(value)));  // gives the lowest if the value doesn't fit
#else
  const bool fits = value < 0x1p63f && value >= -0x1p63f;
  return static_cast<T>(fits ? static_cast<int64_t>(value) : std::numeric_limits<int64_t>::min());
#endif
}

#if HWY_CAP_GE512
using I64 = hn::ScalableTag<int64_t>;
using U64 = hn::ScalableTag<uint64_t>;
using HalfF32 = hn::Rebind<float, I64>;

void I64ToFloats(const int64_t* from, float* to, int64_t n) {
  MapTo(I64(), from, HalfF32(), to, n,
        [](auto v) EPIPHYTE_INLINE { return hn::Vec<HalfF32>{_mm512_cvtepi64_ps(v.raw)}; });
}
void U64ToFloats(const uint64_t* from, float* to, int64_t n) {
  MapTo(U64(), from, HalfF32(), to, n,
        [](auto v) EPIPHYTE_INLINE { return hn::Vec<HalfF32>{_mm512_cvtepu64_ps(v.raw)}; });
}
// Values outside int64 give the lowest.
HWY_INLINE hn::Vec<I64> TruncatedWide(hn::Vec<HalfF32> v) { return hn::Vec<I64>{_mm512_cvttps_epi64(v.raw)}; }
void FloatsToI64(const float* from, int64_t* to, int64_t n) {
  MapTo(HalfF32(), from, I64(), to, n, [](auto v) EPIPHYTE_INLINE { return TruncatedWide(v); });
}
void FloatsToU32(const float* from, uint32_t* to, int64_t n) {
  const hn::Rebind<uint32_t, I64> half;
  MapTo(HalfF32(), from, half, to, n,
        [=](auto v) EPIPHYTE_INLINE { return hn::TruncateTo(half, hn::BitCast(U64(), TruncatedWide(v))); });
}
void FloatsToU64(const float* from, uint64_t* to, int64_t n) {
  MapTo(HalfF32(), from, U64(), to, n, [](auto v) EPIPHYTE_INLINE {
    const __mmask8 high = _mm256_cmp_ps_mask(v.raw, _mm256_set1_ps(0x1p63f), _CMP_GE_OQ) &
                          _mm256_cmp_ps_mask(v.raw, _mm256_set1_ps(0x1p64f), _CMP_LT_OQ);
    return hn::Vec<U64>{_mm512_mask_cvttps_epu64(TruncatedWide(v).raw, high, v.raw)};
  });
}
#else
// Clang would vectorise this by taking vectors apart and putting them together again.
#if HWY_COMPILER_CLANG
#define EPIPHYTE_ONE_BY_ONE HWY_PRAGMA(clang loop vectorize(disable) unroll(disable))
#else
#define EPIPHYTE_ONE_BY_ONE
#endif
void I64ToFloats(const int64_t* from, float* to, int64_t n) {
  EPIPHYTE_ONE_BY_ONE
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
}
// Values that fit int64, which nearly all do, are converted as int64 without a branch.
void U64ToFloats(const uint64_t* from, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const auto number = static_cast<int64_t>(from[i]);
    if (HWY_LIKELY(number >= 0)) {
      to[i] = static_cast<float>(number);
    } else {
      to[i] = static_cast<float>(from[i]);
    }
  }
}
void FloatsToI64(const float* from, int64_t* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = WideFromFloat<int64_t>(from[i]);
}
void FloatsToU32(const float* from, uint32_t* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = WideFromFloat<uint32_t>(from[i]);
}
void FloatsToU64(const float* from, uint64_t* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = WideFromFloat<uint64_t>(from[i]);
}
#endif

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

// Exports both directions of a type.
#define EPIPHYTE_CONVERSIONS(Type, Name)                                                \
  EPIPHYTE_EXPORT(Name##ToFloats);                                                      \
  EPIPHYTE_EXPORT(FloatsTo##Name);                                                      \
  template <>                                                                           \
  ConvertLoop<Type, float>::ConvertLoop() : row_(&EPIPHYTE_DISPATCH(Name##ToFloats)) {} \
  template <>                                                                           \
  ConvertLoop<float, Type>::ConvertLoop() : row_(&EPIPHYTE_DISPATCH(FloatsTo##Name)) {}
EPIPHYTE_CONVERSIONS(double, Doubles)
EPIPHYTE_CONVERSIONS(kit::Float16, Float16s)
EPIPHYTE_CONVERSIONS(kit::BFloat16, BFloat16s)
EPIPHYTE_CONVERSIONS(bool, Bools)
EPIPHYTE_CONVERSIONS(int8_t, I8)
EPIPHYTE_CONVERSIONS(int16_t, I16)
EPIPHYTE_CONVERSIONS(int32_t, I32)
EPIPHYTE_CONVERSIONS(uint8_t, U8)
EPIPHYTE_CONVERSIONS(uint16_t, U16)
EPIPHYTE_CONVERSIONS(uint32_t, U32)
EPIPHYTE_CONVERSIONS(int64_t, I64)
EPIPHYTE_CONVERSIONS(uint64_t, U64)
#undef EPIPHYTE_CONVERSIONS

}  // namespace epiphyte::cpu::simd
#endif
