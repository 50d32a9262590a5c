// Reductions of a tensor in a oneDNN layout, in memory order. Copying it to row-major would take longer than the sums.
#pragma once

#include <optional>
#include <vector>

#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/ops/math/reduction.h"

namespace epiphyte::cpu {

// Loops over the memory of `x`. Nullopt when AxisOrder can't express its order, or when the results would not be in
// row-major order.
inline std::optional<ReductionShape> ReductionInMemory(const Tensor& x, const std::vector<bool>& reduced) {
  if (x.layout == nullptr) return ReductionShape(x.dims, reduced);
  const std::optional<AxisOrder> order = OrderOf(x);
  if (!order) return std::nullopt;
  const Dims dims = InMemory(x.dims, *order);
  std::vector<bool> in_memory;
  int last_kept = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t axis = i < order->rank ? order->axes[i] : 1;  // the elements of a block are innermost
    in_memory.push_back(reduced[axis]);
    if (reduced[axis] || dims[i] == 1) continue;
    if (static_cast<int>(axis) < last_kept) return std::nullopt;
    last_kept = static_cast<int>(axis);
  }
  return ReductionShape(dims, in_memory);
}

}  // namespace epiphyte::cpu
