// Operands of an element-wise operator with a result that is not row-major.
#pragma once

#include <optional>

#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/onednn/axis_order.h"

namespace epiphyte::cpu {

// Among the first `count` inputs, finds one that can give the broadcast result its order and dimensions: it is float,
// not row-major, and has the full shape. Nullopt when there is none.
std::optional<size_t> LeadingInput(OpContext& context, size_t count);

struct OrderedOperand {
  const float* data = nullptr;
  Dims dims;  // in memory order, broadcast to the order's rank
};
// Float input j for a result in that order: in place where possible, otherwise a copy in scratch memory. Nullopt when
// its dimensions do not fit the order.
std::optional<OrderedOperand> OperandInOrder(OpContext& context, size_t j, const AxisOrder& order);

}  // namespace epiphyte::cpu
