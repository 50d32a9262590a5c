// One of two rows, element by element. Elements are moved, never computed with, so their size is all that matters.
//
//     const simd::SelectLoop<uint32_t> select;
//     select(conditions, a, b, y, n);   // y[i] = conditions[i] != 0 ? a[i] : b[i]; y may be a or b
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

// T: uint8_t, uint16_t, uint32_t or uint64_t. In the variant for the target that was chosen when it was made
// (targets.h).
template <typename T>
class SelectLoop {
 public:
  SelectLoop();
  void operator()(const uint8_t* conditions, const T* a, const T* b, T* y, int64_t n) const {
    row_(conditions, a, b, y, n);
  }

 private:
  void (*row_)(const uint8_t* conditions, const T* a, const T* b, T* y, int64_t n);
};

}  // namespace epiphyte::cpu::simd
