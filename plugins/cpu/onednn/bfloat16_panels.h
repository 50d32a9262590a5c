// Products in bfloat16 by AMX, as simd/bfloat16_product.h makes them, on the context's threads, with weights as oneDNN
// has packed them.
//
//   if (HasBfloat16Panels(packed)) …
//   SplitOperands operands = …;            // of split.h, whose weights are these
//   MultiplyBfloat16(context, operands);
#pragma once

#include "plugins/cpu/onednn/split.h"

namespace epiphyte::cpu {

// Whether weights [k, n] lie in such panels, and the CPU has AMX.
bool HasBfloat16Panels(const PackedWeights& packed);

// y = activation(a W + bias + sum), where a is rounded to bfloat16.
void MultiplyBfloat16(OpContext& context, const SplitOperands& operands);

}  // namespace epiphyte::cpu
