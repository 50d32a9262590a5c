// BroadcastRows: calls a function of two rows for each row of a broadcast result, on several threads. It knows sizes
// instead of types, so that it is compiled once for all functions of two tensors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

struct BinaryRows {
  const void* function;  // what `run` gets as its first argument
  // Computes n elements of a row. Strides are in elements, 0 or 1.
  void (*run)(const void* function, const void* a, int64_t a_stride, const void* b, int64_t b_stride, void* y,
              int64_t n);
  size_t element_bytes;
  size_t result_bytes;
  int64_t grain;  // number of elements of cost 1 that justify waking a thread
  int64_t cost;   // cost of an element, in additions
};

struct RowsOperand {
  const void* data;
  const Dims& dims;
};

// y = function(a, b). The shapes of a and b must broadcast to `out`.
void BroadcastRows(OpContext& context, const BinaryRows& rows, const Dims& out, const RowsOperand& a,
                   const RowsOperand& b, void* y);

}  // namespace epiphyte::cpu
