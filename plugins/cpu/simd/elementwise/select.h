// Selects from two rows, element by element. Elements are only moved, so only their size matters.
//
//     const simd::SelectLoop<uint32_t> select;
//     select(conditions, a, 1, b, 1, y, n);   // y[i] = conditions[i] != 0 ? a[i] : b[i]; y may be a or b
//
// Either operand may be one element for the whole row; its stride is then 0.
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

// T: uint8_t, uint16_t, uint32_t or uint64_t. Runs the variant for the target that was chosen when the loop was
// constructed (targets.h).
template <typename T>
class SelectLoop {
 public:
  SelectLoop();
  void operator()(const uint8_t* conditions, const T* a, int64_t a_stride, const T* b, int64_t b_stride, T* y,
                  int64_t n) const {
    row_(conditions, a, a_stride, b, b_stride, y, n);
  }

 private:
  void (*row_)(const uint8_t* conditions, const T* a, int64_t a_stride, const T* b, int64_t b_stride, T* y, int64_t n);
};

}  // namespace epiphyte::cpu::simd
