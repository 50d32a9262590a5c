// Vectors of floats from memory of floats or of one of the 16-bit formats.
//
//     const hn::ScalableTag<float> d;
//     const auto v = LoadFloats(d, halves + i);   // const kit::Float16* halves
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
  // Right for subnormals too: they are subnormal floats before the multiplication.
  const auto scaled = hn::Mul(hn::BitCast(d, magnitude), hn::Set(d, 0x1p112f));
  const auto finite = hn::Lt(hn::BitCast(d, magnitude), hn::BitCast(d, hn::Set(u, 0x0F800000)));
  const auto infinite = hn::Or(magnitude, hn::Set(u, 0x7F800000));
  const auto sign = hn::ShiftLeft<16>(hn::And(wide, hn::Set(u, 0x8000)));
  return hn::Or(hn::IfThenElse(finite, scaled, hn::BitCast(d, infinite)), hn::BitCast(d, sign));
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

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
