// Vectors of floats from memory of floats or of one of the 16-bit formats, and back.
//
//     const hn::ScalableTag<float> d;
//     const auto v = LoadFloats(d, halves + i);   // const kit::Float16* halves
//     StoreFloats(d, v, halves + i);
#if defined(EPIPHYTE_SIMD_SMALL_FLOATS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EPIPHYTE_SIMD_SMALL_FLOATS_INL_H
#undef EPIPHYTE_SIMD_SMALL_FLOATS_INL_H
#else
#define EPIPHYTE_SIMD_SMALL_FLOATS_INL_H
#endif

#include <cstdint>

#include "epiphyte/kit/shape/float_types.hpp"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The bits of as many bfloat16s, or float16s, as `d` has lanes.
template <class D>
HWY_INLINE hn::Vec<D> FloatsOfBFloat16(D d, hn::Vec<hn::Rebind<uint16_t, D>> bits) {
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<D>(), bits)));
}
template <class D>
HWY_INLINE hn::Vec<D> FloatsOfFloat16(D d, hn::Vec<hn::Rebind<uint16_t, D>> bits) {
#if HWY_CAP_GE256 || HWY_ARCH_ARM_A64
  return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), bits));
#else
  const hn::RebindToUnsigned<D> u;
  const auto wide = hn::PromoteTo(u, bits);
  const auto magnitude = hn::ShiftLeft<13>(hn::And(wide, hn::Set(u, 0x7FFF)));
  // This is right for subnormals too: they are subnormal floats before the multiplication.
  const auto scaled = hn::Mul(hn::BitCast(d, magnitude), hn::Set(d, 0x1p112f));
  const auto finite = hn::Lt(hn::BitCast(d, magnitude), hn::BitCast(d, hn::Set(u, 0x0F800000)));
  const auto infinite = hn::Or(magnitude, hn::Set(u, 0x7F800000));
  const auto sign = hn::ShiftLeft<16>(hn::And(wide, hn::Set(u, 0x8000)));
  return hn::Or(hn::IfThenElse(finite, scaled, hn::BitCast(d, infinite)), hn::BitCast(d, sign));
#endif
}

// The bits of floats rounded to nearest, halves to even.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> BFloat16OfFloats(D /*d*/, hn::Vec<D> v) {
  const hn::Rebind<uint16_t, D> half;
  const hn::RebindToUnsigned<D> u;
  const auto all = hn::BitCast(u, v);
  const auto high = hn::ShiftRight<16>(all);
  const auto even = hn::And(high, hn::Set(u, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(all, hn::Add(even, hn::Set(u, 0x7FFF))));
  const auto nan = hn::RebindMask(u, hn::IsNaN(v));
  return hn::TruncateTo(half, hn::IfThenElse(nan, hn::Or(high, hn::Set(u, 0x40)), rounded));
}
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> Float16OfFloats(D d, hn::Vec<D> v) {
  const hn::Rebind<uint16_t, D> half;
  const hn::RebindToUnsigned<D> u;
  const auto all = hn::BitCast(u, v);
  const auto sign = hn::And(hn::ShiftRight<16>(all), hn::Set(u, 0x8000));
#if HWY_CAP_GE256 || HWY_ARCH_ARM_A64
  // Every NaN, of either sign, gives the same NaN.
  const auto code = hn::BitCast(half, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
  const auto nan = hn::TruncateTo(half, hn::Or(sign, hn::Set(u, 0x7E00)));
  const auto is_nan = hn::TruncateTo(half, hn::BitCast(u, hn::VecFromMask(d, hn::IsNaN(v))));
  return hn::IfThenElse(hn::MaskFromVec(is_nan), nan, code);
#else
  const auto magnitude = hn::And(all, hn::Set(u, 0x7FFFFFFF));
  const auto size = hn::BitCast(d, magnitude);
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(u, 1));
  const auto rounded = hn::Add(magnitude, hn::Add(odd, hn::Set(u, 0xFFF - (112u << 23))));
  // Adding 0.5 leaves the subnormal's bits, rounded, at the end of the mantissa.
  const auto subnormal = hn::Sub(hn::BitCast(u, hn::Add(size, hn::Set(d, 0.5f))), hn::Set(u, 0x3F000000));
  const auto small = hn::RebindMask(u, hn::Lt(size, hn::Set(d, 0x1p-14f)));
  const auto in_range = hn::RebindMask(u, hn::Lt(size, hn::Set(d, 0x1p16f)));
  const auto is_nan = hn::RebindMask(u, hn::IsNaN(v));
  const auto special = hn::IfThenElse(is_nan, hn::Set(u, 0x7E00), hn::Set(u, 0x7C00));
  const auto finite = hn::IfThenElse(small, subnormal, hn::ShiftRight<13>(rounded));
  return hn::TruncateTo(half, hn::Or(hn::IfThenElse(in_range, finite, special), sign));
#endif
}

template <class D>
HWY_INLINE hn::Vec<D> LoadFloats(D d, const float* p) {
  return hn::LoadU(d, p);
}
template <class D>
HWY_INLINE hn::Vec<D> LoadFloats(D d, const kit::Float16* p) {
  return FloatsOfFloat16(d, hn::LoadU(hn::Rebind<uint16_t, D>(), reinterpret_cast<const uint16_t*>(p)));
}
template <class D>
HWY_INLINE hn::Vec<D> LoadFloats(D d, const kit::BFloat16* p) {
  return FloatsOfBFloat16(d, hn::LoadU(hn::Rebind<uint16_t, D>(), reinterpret_cast<const uint16_t*>(p)));
}

template <class D>
HWY_INLINE void StoreFloats(D d, hn::Vec<D> v, float* p) {
  hn::StoreU(v, d, p);
}
template <class D>
HWY_INLINE void StoreFloats(D d, hn::Vec<D> v, kit::Float16* p) {
  hn::StoreU(Float16OfFloats(d, v), hn::Rebind<uint16_t, D>(), reinterpret_cast<uint16_t*>(p));
}
template <class D>
HWY_INLINE void StoreFloats(D d, hn::Vec<D> v, kit::BFloat16* p) {
  hn::StoreU(BFloat16OfFloats(d, v), hn::Rebind<uint16_t, D>(), reinterpret_cast<uint16_t*>(p));
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
