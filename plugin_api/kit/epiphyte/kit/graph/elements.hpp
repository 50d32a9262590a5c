// NumberAt: reads one element of a tensor of any number type. It is for scales, bounds and other parameters, not for
// bulk data.
//
//   double epsilon = 0;
//   if (!ir::NumberAt(*constant, 0, &epsilon)) return false;   // not a number, or its bytes are gone
#pragma once

#include <cstddef>

#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit::ir {

// True when the bytes of a constant can be read.
bool IsThere(const Constant& constant);
// The elements of a constant if its bytes are available. Null otherwise, and for a value that is not a constant.
const Tensor* ElementsOf(const Graph& graph, int32_t value);

// False for an index out of range, for strings, booleans and complex numbers, and for missing bytes. 64-bit integers
// beyond 2^53 are rounded. The bytes need not be aligned.
bool NumberAt(const Tensor& tensor, size_t index, double* number);

}  // namespace epiphyte::kit::ir
