#include "plugins/cpu/simd/select.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/select.cpp"
#include "plugins/cpu/simd/per_target.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/dispatch.h"
#include "plugins/cpu/simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {

// A byte in each lane.
template <class D, class V>
HWY_INLINE hn::Vec<D> Widened(D d, V bytes) {
  if constexpr (sizeof(hn::TFromD<D>) == 1) {
    return bytes;
  } else if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::PromoteTo(d, hn::PromoteTo(hn::Rebind<uint32_t, D>(), bytes));
  } else {
    return hn::PromoteTo(d, bytes);
  }
}

template <typename T>
HWY_INLINE void SelectRow(const uint8_t* conditions, const T* a, const T* b, T* y, int64_t n) {
  const hn::ScalableTag<T> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  Make(d, y, n, [=](const auto& load) EPIPHYTE_INLINE {
    const auto is_a = hn::Ne(Widened(d, load(bytes, conditions)), hn::Zero(d));
    return hn::IfThenElse(is_a, load(d, a), load(d, b));
  });
}

void Select8(const uint8_t* conditions, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) {
  SelectRow(conditions, a, b, y, n);
}
void Select16(const uint8_t* conditions, const uint16_t* a, const uint16_t* b, uint16_t* y, int64_t n) {
  SelectRow(conditions, a, b, y, n);
}
void Select32(const uint8_t* conditions, const uint32_t* a, const uint32_t* b, uint32_t* y, int64_t n) {
  SelectRow(conditions, a, b, y, n);
}
void Select64(const uint8_t* conditions, const uint64_t* a, const uint64_t* b, uint64_t* y, int64_t n) {
  SelectRow(conditions, a, b, y, n);
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(Select8);
EPIPHYTE_EXPORT(Select16);
EPIPHYTE_EXPORT(Select32);
EPIPHYTE_EXPORT(Select64);

template <>
SelectLoop<uint8_t>::SelectLoop() : row_(&EPIPHYTE_DISPATCH(Select8)) {}
template <>
SelectLoop<uint16_t>::SelectLoop() : row_(&EPIPHYTE_DISPATCH(Select16)) {}
template <>
SelectLoop<uint32_t>::SelectLoop() : row_(&EPIPHYTE_DISPATCH(Select32)) {}
template <>
SelectLoop<uint64_t>::SelectLoop() : row_(&EPIPHYTE_DISPATCH(Select64)) {}

}  // namespace epiphyte::cpu::simd
#endif
