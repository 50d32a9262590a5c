// FiniteSums: proves that all sums of a GEMM or convolution are finite, and bounds their size.
//
//   if (!state.finite_sums) state.finite_sums.emplace(context, packed_, terms);
//   const float limit = state.finite_sums->Limit(context, NumbersOf(x), NumbersOf(bias), NumbersOf(residual));
//   if (std::isfinite(limit)) …   // oneDNN's activation may be used
//   y.limit = limit;              // so that the next operator need not read y for this
//
// oneDNN's post-ops turn NaN into a number: its Relu and Clip by the operand order of the CPU's max and min, its
// exponential by its clamps. Some of them give another result for infinity than our loops. They are therefore used only
// for finite sums. If an operand is not finite, or so large that a sum might overflow, our loops apply the activation.
// An operator's result thus does not depend on its fusion.
//
// Cost, measured on a Zen 5: reading the operands takes 0.3 to 8 percent of a convolution, and 19 percent of a
// depthwise one. The output's limit avoids most of it. In a network of convolutions, only the input of the first one is
// read, and that of about every tenth one, because limits grow when they are multiplied. The weights are read when this
// object is made.
#pragma once

#include <cstdint>
#include <limits>

#include "plugins/cpu/onednn/weights.h"

namespace epiphyte::cpu {

// Floats in memory in any layout, or bfloat16 from a kernel with such an output (Kernel::kTakesBfloat16Layouts).
struct Numbers {
  const void* data = nullptr;  // null: no operand
  int64_t count = 0;           // including the zero padding of blocks
  ElementType type = EP_TYPE_FLOAT;
  float limit = std::numeric_limits<float>::infinity();  // Tensor::limit
};
// All elements in a tensor's memory.
Numbers NumbersOf(const Tensor& tensor);

// Returns the limit if it is known, otherwise the largest absolute value; NaN if the numbers contain one.
float LargestMagnitude(OpContext& context, const Numbers& numbers);

class FiniteSums {
 public:
  // `terms`: number of products in each sum.
  FiniteSums(OpContext& context, const PackedWeights& weights, int64_t terms);
  // Upper bound of the sums' absolute values; infinity when a sum may not be finite.
  float Limit(OpContext& context, const Numbers& factors, const Numbers& bias, const Numbers& residual) const;

 private:
  double most_;  // bound for inputs of at most 1; infinity or NaN when a weight is
};

}  // namespace epiphyte::cpu
