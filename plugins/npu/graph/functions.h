// Functions of one number: what a lookup table of 256 entries is made of.
//
//   const Function f = FunctionOf(lowering, work);
//   y = f(0.5);
#pragma once

#include <array>
#include <functional>

#include "plugins/npu/graph/lower.h"

namespace epiphyte::npu {

using Function = std::function<double(double)>;

// What the work computes of its one input that isn't constant: an operator of one input, or one of two whose other is a
// constant number. Throws Refused for others. `operand`: the number of that input.
Function FunctionOf(const Lowering& to, const Work& work, size_t* operand);

// The stored results of all 256 stored numbers, by these as unsigned bytes: dequantised, computed, and quantised with
// halves to even, as DequantizeLinear and QuantizeLinear do. What is no number becomes the zero point.
std::array<uint8_t, 256> MakeTable(const Function& function, const qdq::Quantization& x, const qdq::Quantization& y,
                                   int64_t low, int64_t high);

}  // namespace epiphyte::npu
