// AMX bfloat16 GEMMs (simd/gemm/bfloat16_product.h) on the context's threads, with weights as oneDNN has packed them.
//
//   if (HasBfloat16Panels(packed)) …
//   SplitOperands operands = …;            // from split.h, with these weights
//   MultiplyBfloat16(context, operands);
#pragma once

#include "plugins/cpu/onednn/split.h"

namespace epiphyte::cpu {

// True when weights [k, n] are packed in such panels and the CPU has AMX.
bool HasBfloat16Panels(const PackedWeights& packed);

// y = activation(a W + bias + sum), with a rounded to bfloat16.
void MultiplyBfloat16(OpContext& context, const SplitOperands& operands);

}  // namespace epiphyte::cpu
