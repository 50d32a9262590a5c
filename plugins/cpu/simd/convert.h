// Floats from numbers of other types, and numbers of other types from floats, over rows, as ONNX's Cast converts them:
// to integers by truncation, of what int32 (int64 for 32 and more bits without sign, and 64) holds the low bits, of
// what it doesn't the integer with only the sign bit set; to bool whether it isn't zero; to formats of 16 bits to
// nearest even.
//
//     const simd::ConvertLoop<int64_t, float> convert;
//     convert(integers, floats, n);
#pragma once

#include <cstdint>

#include "epiphyte/kit/shape/float_types.hpp"

namespace epiphyte::cpu::simd {

// One of the types is float, the other one double, Float16, BFloat16, bool, or an integer of 8 to 64 bits. In the
// variant for the target that was chosen when it was made (targets.h).
template <typename From, typename To>
class ConvertLoop {
 public:
  ConvertLoop();
  void operator()(const From* from, To* to, int64_t n) const { row_(from, to, n); }

 private:
  void (*row_)(const From* from, To* to, int64_t n);
};

}  // namespace epiphyte::cpu::simd
