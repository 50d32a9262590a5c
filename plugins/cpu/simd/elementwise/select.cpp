#include "plugins/cpu/simd/elementwise/select.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/elementwise/select.cpp"
#include "plugins/cpu/simd/target/per_target.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/rows-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {

// Converts one byte into each lane.
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

// An operand that is a row, or one element for the whole row.
template <class D, typename T = hn::TFromD<D>>
struct RowOperand {
  const T* row;
  template <class Load>
  HWY_INLINE hn::Vec<D> operator()(const Load& load) const {
    return load(D(), row);
  }
};
template <class D>
struct OneOperand {
  hn::Vec<D> element;
  template <class Load>
  HWY_INLINE hn::Vec<D> operator()(const Load&) const {
    return element;
  }
};

template <class D, typename T, class A, class B>
HWY_INLINE void SelectOperands(D d, const uint8_t* conditions, const A& a, const B& b, T* y, int64_t n) {
  const hn::Rebind<uint8_t, D> bytes;
  Make(d, y, n, [=](const auto& load) EPIPHYTE_INLINE {
    const auto is_a = hn::Ne(Widened(d, load(bytes, conditions)), hn::Zero(d));
    return hn::IfThenElse(is_a, a(load), b(load));
  });
}

template <typename T>
HWY_INLINE void SelectRow(const uint8_t* conditions, const T* a, int64_t a_stride, const T* b, int64_t b_stride, T* y,
                          int64_t n) {
  if (n <= 0) return;
  using D = hn::ScalableTag<T>;
  const D d;
  const RowOperand<D> row_a{a}, row_b{b};
  const OneOperand<D> one_a{hn::Set(d, *a)}, one_b{hn::Set(d, *b)};
  if (a_stride != 0 && b_stride != 0) return SelectOperands(d, conditions, row_a, row_b, y, n);
  if (a_stride != 0) return SelectOperands(d, conditions, row_a, one_b, y, n);
  if (b_stride != 0) return SelectOperands(d, conditions, one_a, row_b, y, n);
  SelectOperands(d, conditions, one_a, one_b, y, n);
}

void Select8(const uint8_t* conditions, const uint8_t* a, int64_t a_stride, const uint8_t* b, int64_t b_stride,
             uint8_t* y, int64_t n) {
  SelectRow(conditions, a, a_stride, b, b_stride, y, n);
}
void Select16(const uint8_t* conditions, const uint16_t* a, int64_t a_stride, const uint16_t* b, int64_t b_stride,
              uint16_t* y, int64_t n) {
  SelectRow(conditions, a, a_stride, b, b_stride, y, n);
}
void Select32(const uint8_t* conditions, const uint32_t* a, int64_t a_stride, const uint32_t* b, int64_t b_stride,
              uint32_t* y, int64_t n) {
  SelectRow(conditions, a, a_stride, b, b_stride, y, n);
}
void Select64(const uint8_t* conditions, const uint64_t* a, int64_t a_stride, const uint64_t* b, int64_t b_stride,
              uint64_t* y, int64_t n) {
  SelectRow(conditions, a, a_stride, b, b_stride, y, n);
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
