// Runs the instructions of an element-wise program (epiphyte/kit/fuse/elementwise_program.hpp) on blocks of floats.
//
//   const ElementwiseLoop sum(ElementwiseOp::kAdd), half(ElementwiseOp::kMul, 0.5f), relu6(ElementwiseOp::kClip, 0, 6);
//   sum(a, b, y, n);            // y = a + b
//   half(a, nullptr, y, n);     // y = a * 0.5
//   relu6(a, nullptr, y, n);    // y = a within 0 and 6
#pragma once

#include <cstdint>
#include <variant>

#include "epiphyte/kit/fuse/elementwise_program.hpp"
#include "plugins/cpu/simd/binary.h"
#include "plugins/cpu/simd/unary.h"

namespace epiphyte::cpu {

using kit::fuse::ElementwiseOp;

// One instruction with its parameters.
class ElementwiseLoop {
 public:
  explicit ElementwiseLoop(ElementwiseOp op, float p0 = 0, float p1 = 0);
  // Over n elements; y may be an operand. Of a binary operation `a` or `b` is null where it is parameter 0.
  void operator()(const float* a, const float* b, float* y, int64_t n) const {
    if (const simd::UnaryLoop* unary = std::get_if<simd::UnaryLoop>(&loop_)) return (*unary)(a, y, n);
    const simd::BinaryLoop& binary = *std::get_if<simd::BinaryLoop>(&loop_);
    binary(a != nullptr ? a : &number_, a != nullptr, b != nullptr ? b : &number_, b != nullptr, y, n);
  }

 private:
  std::variant<simd::UnaryLoop, simd::BinaryLoop> loop_;
  float number_;
};

}  // namespace epiphyte::cpu
