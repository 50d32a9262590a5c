// Runs the instructions of an element-wise program (epiphyte/kit/fuse/elementwise_program.hpp) on blocks of floats.
//
//   const ElementwiseLoop sum(ElementwiseOp::kAdd, 0, 0, ElementwiseOperands::kBoth), half(ElementwiseOp::kMul, 0.5f);
//   const ElementwiseLoop relu6(ElementwiseOp::kClip, 0, 6);
//   sum(a, b, y, n);            // y = a + b
//   half(a, nullptr, y, n);     // y = a * 0.5
//   relu6(a, nullptr, y, n);    // y = a within 0 and 6
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "epiphyte/kit/fuse/elementwise_program.hpp"
#include "plugins/cpu/simd/elementwise/binary.h"
#include "plugins/cpu/simd/elementwise/unary.h"

namespace epiphyte::cpu {

using kit::fuse::ElementwiseOp;

// Selects the row operands of a binary operation; the other operand is parameter 0.
enum class ElementwiseOperands { kFirst, kSecond, kBoth };

// Returns the SIMD form of a binary operation; nullopt for a unary one.
std::optional<simd::Binary> BinaryOf(ElementwiseOp op);

// One instruction with its parameters.
class ElementwiseLoop {
 public:
  explicit ElementwiseLoop(ElementwiseOp op, float p0 = 0, float p1 = 0,
                           ElementwiseOperands operands = ElementwiseOperands::kFirst);
  // Runs over n elements. y may be one of the operands. An operand that is not a row is not read.
  void operator()(const float* a, const float* b, float* y, int64_t n) const {
    if (const simd::UnaryLoop* unary = std::get_if<simd::UnaryLoop>(&loop_)) return (*unary)(a, y, n);
    if (operands_ == ElementwiseOperands::kFirst) b = &number_;
    if (operands_ == ElementwiseOperands::kSecond) a = &number_;
    if (n > 0) (*std::get_if<simd::BinaryRows<float>::Row>(&loop_))(a, b, y, n);
  }

 private:
  std::variant<simd::UnaryLoop, simd::BinaryRows<float>::Row> loop_;
  ElementwiseOperands operands_;
  float number_;
};

}  // namespace epiphyte::cpu
