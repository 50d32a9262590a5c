// Operands of an element-wise operator when the result lies in memory in another order than row-major.
#pragma once

#include <optional>

#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/onednn/axis_order.h"

namespace epiphyte::cpu {

// The input, among the first `count` ones, whose order and dimensions the result of broadcasting all of them can take:
// it is float, not row-major, and has the full shape. Nullopt when there is none.
std::optional<size_t> LeadingInput(OpContext& context, size_t count);

struct OrderedOperand {
  const float* data = nullptr;
  Dims dims;  // as memory has them, broadcast to the order's rank
};
// Float input j for a result in that order: as it lies where it can be, else a copy in scratch memory. Nullopt when its
// dimensions don't fit the order.
std::optional<OrderedOperand> OperandInOrder(OpContext& context, size_t j, const AxisOrder& order);

}  // namespace epiphyte::cpu
