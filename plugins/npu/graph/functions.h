// The functions of one number that operators compute.
//
//   size_t operand = 0;
//   const Function f = FunctionOf(lowering, work, &operand);
//   y = f(0.5);
#pragma once

#include "plugins/npu/graph/lookup_table.h"
#include "plugins/npu/graph/lower.h"

namespace epiphyte::npu {

// What the work computes of its one input that isn't constant: an operator of one input, or one of two whose other is a
// constant number. Throws Refused for others. `operand`: the number of that input.
Function FunctionOf(const Lowering& to, const QuantizedOp& work, size_t* operand);

}  // namespace epiphyte::npu
