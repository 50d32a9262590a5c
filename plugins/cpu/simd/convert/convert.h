// Conversion of rows between float and other types, as ONNX's Cast does it. Conversion to an integer truncates to int32
// and keeps the low bits. It uses int64 for unsigned types of 32 and more bits and for int64. A value outside that
// range counts as the integer with only the sign bit set. Conversion to bool tells whether a value isn't zero.
// Conversion to 16-bit formats rounds to nearest even.
//
//     const simd::ConvertLoop<int64_t, float> convert;
//     convert(integers, floats, n);
#pragma once

#include <cstdint>

#include "epiphyte/kit/shape/float_types.hpp"

namespace epiphyte::cpu::simd {

// One of the types is float. The other one is double, Float16, BFloat16, bool, or an integer of 8 to 64 bits. Runs the
// variant for the target that was chosen when the loop was constructed (targets.h).
template <typename From, typename To>
class ConvertLoop {
 public:
  ConvertLoop();
  void operator()(const From* from, To* to, int64_t n) const { row_(from, to, n); }

 private:
  void (*row_)(const From* from, To* to, int64_t n);
};

}  // namespace epiphyte::cpu::simd
