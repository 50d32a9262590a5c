// Elements of tensors one at a time, whatever their type: for scales, bounds and other parameters, not for data.
//
//   double epsilon = 0;
//   if (!ir::NumberAt(*constant, 0, &epsilon)) return false;   // not a number, or its bytes are gone
#pragma once

#include <cstddef>

#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit::ir {

// The bytes of a constant are there to be read.
bool IsThere(const Constant& constant);
// The constant's elements if they are there, else null; also null for a value that is none.
const Tensor* ElementsOf(const Graph& graph, int32_t value);

// False where there is no such element, for strings, booleans and complex numbers, and where the bytes aren't there.
// 64-bit integers beyond 2^53 are rounded. The bytes may be at any address.
bool NumberAt(const Tensor& tensor, size_t index, double* number);

}  // namespace epiphyte::kit::ir
