// FiniteSums: whether all sums of a product are sure to be finite numbers, and how large they are at most.
//
//   if (!state.finite_sums) state.finite_sums.emplace(context, packed_, terms);
//   const float limit = state.finite_sums->Limit(context, NumbersOf(x), NumbersOf(bias), NumbersOf(residual));
//   if (std::isfinite(limit)) …   // with oneDNN's activation
//   y.limit = limit;              // so that the next product need not read y for this
//
// oneDNN's functions behind a product take a NaN for a number (its Relu and Clip by the operands' order of the CPU's
// max and min, its exponential by its limits), and some give another result for an infinity than our loops. They are
// used for finite sums alone. Where one of the operands isn't finite, or so large that a sum might overflow, our loops
// activate what the product left: what an operator gives does not depend on what it was joined with.
//
// Reading the operands takes from 0.3 to 8 percent of a convolution on a Zen 5, and 19 of a depthwise one. The output's
// limit saves it: of a network of convolutions only the first one's input is read, and that of every tenth or so, where
// limits that were multiplied have grown too large. The weights are read when this is made.
#pragma once

#include <cstdint>
#include <limits>

#include "plugins/cpu/onednn/weights.h"

namespace epiphyte::cpu {

// Floats in memory, in whatever layout; bfloat16 where a kernel hands on such (Kernel::kTakesBfloat16Layouts).
struct Numbers {
  const void* data = nullptr;  // null: none
  int64_t count = 0;           // with what a layout adds to fill its blocks, which is zeros
  ElementType type = EP_TYPE_FLOAT;
  float limit = std::numeric_limits<float>::infinity();  // Tensor::limit
};
// All that a tensor's layout has.
Numbers NumbersOf(const Tensor& tensor);

// The limit if it is known, else the largest absolute value; NaN when there is one.
float LargestMagnitude(OpContext& context, const Numbers& numbers);

class FiniteSums {
 public:
  // `terms`: products in each sum.
  FiniteSums(OpContext& context, const PackedWeights& weights, int64_t terms);
  // No sum has a greater absolute value. Infinity when a sum may not be finite.
  float Limit(OpContext& context, const Numbers& factors, const Numbers& bias, const Numbers& residual) const;

 private:
  double most_;  // that a factor of 1 gives; infinity or NaN when a weight is
};

}  // namespace epiphyte::cpu
