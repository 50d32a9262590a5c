// The functions of one number that operators compute.
//
//   size_t operand = 0;
//   const Function f = FunctionOf(lowering, work, &operand);
//   y = f(0.5);
#pragma once

#include "plugins/npu/graph/lookup_table.h"
#include "plugins/npu/graph/lower.h"

namespace epiphyte::npu {

// The function that the op computes of its only input that isn't constant. The op has one input, or two of which the
// other is a constant number. `operand` receives the index of that input. Throws Refused for other ops.
Function FunctionOf(const Lowering& to, const QuantizedOp& work, size_t* operand);

}  // namespace epiphyte::npu
