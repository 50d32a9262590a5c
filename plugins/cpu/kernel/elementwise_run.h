// Runs the instructions of an element-wise program (epiphyte/kit/fuse/elementwise_program.hpp) on blocks of floats.
//
//   RunBinary(ElementwiseOp::kAdd, a, b, 0, y, n);            // y = a + b
//   RunBinary(ElementwiseOp::kMul, a, nullptr, 0.5f, y, n);   // y = a * 0.5
//   RunUnary(ElementwiseOp::kClip, a, 0, 6, y, n);            // y = a within 0 and 6
#pragma once

#include <cstdint>

#include "epiphyte/kit/fuse/elementwise_program.hpp"

namespace epiphyte::cpu {

using kit::fuse::ElementwiseOp;

// One instruction over n elements; y may be an operand. `b` is null where it is parameter 0, and so is `a`.
void RunBinary(ElementwiseOp op, const float* a, const float* b, float number, float* y, int64_t n);
void RunUnary(ElementwiseOp op, const float* a, float p0, float p1, float* y, int64_t n);

}  // namespace epiphyte::cpu
