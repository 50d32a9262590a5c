#include "plugins/cpu/onednn/ordered_operand.h"

#include "epiphyte/kit/shape/broadcast.hpp"
#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/onednn/ordered_move.h"

namespace epiphyte::cpu {

std::optional<size_t> LeadingInput(OpContext& context, size_t count) {
  std::optional<size_t> lead;
  for (size_t i = 0; i < count; ++i) {
    const Tensor& x = context.AnyLayoutInput(i);
    if (x.type != EP_TYPE_FLOAT) return std::nullopt;
    if (x.layout != nullptr && x.layout->order && x.Count() != 0 &&
        (!lead || x.Count() > context.AnyLayoutInput(*lead).Count()))
      lead = i;
  }
  if (!lead) return std::nullopt;
  // All other shapes must broadcast to this one.
  const Dims& full = context.AnyLayoutInput(*lead).dims;
  for (size_t i = 0; i < count; ++i) {
    const Dims& dims = context.AnyLayoutInput(i).dims;
    if (dims.size() > full.size() || !(kit::BroadcastShape(full, dims) == full)) return std::nullopt;
  }
  return lead;
}

std::optional<OrderedOperand> OperandInOrder(OpContext& context, size_t j, const AxisOrder& order) {
  const Tensor& x = context.AnyLayoutInput(j);
  const std::optional<AxisOrder> own = OrderOf(x);
  if (x.type != EP_TYPE_FLOAT || !own || x.rank() > order.rank) return std::nullopt;
  std::optional<Dims> dims = BroadcastInMemory(x.dims, order);
  if (!dims) return std::nullopt;
  if (*own == order || (x.layout == nullptr && LiesAlike(x.dims, order)))
    return OrderedOperand{x.as<float>(), std::move(*dims)};
  if (!Holds(order, x.dims)) return std::nullopt;
  const OrderStrides from = StridesOf(x.dims, *own), to = StridesOf(x.dims, order);
  if (!Fit(from, to)) return std::nullopt;
  auto* copy = static_cast<float*>(context.Scratch(x.Bytes()));
  MoveOrdered(context, x.dims, x.as<float>(), from, copy, to);
  return OrderedOperand{copy, std::move(*dims)};
}

}  // namespace epiphyte::cpu
