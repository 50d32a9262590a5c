// Reductions of a tensor in a layout of oneDNN's, as its memory lies: a copy of it in row-major order would take longer
// than the sums.
#pragma once

#include <optional>
#include <vector>

#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/ops/math/reduction.h"

namespace epiphyte::cpu {

// The loops over the memory of `x`. Nullopt where its order is none that can be said, or where the values would not
// come in the order of a row-major result.
inline std::optional<ReductionShape> ReductionInMemory(const Tensor& x, const std::vector<bool>& reduced) {
  if (x.layout == nullptr) return ReductionShape(x.dims, reduced);
  const std::optional<AxisOrder> order = OrderOf(x);
  if (!order) return std::nullopt;
  const Dims dims = InMemory(x.dims, *order);
  std::vector<bool> in_memory;
  int last_kept = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t axis = i < order->rank ? order->axes[i] : 1;  // the elements of a block come last
    in_memory.push_back(reduced[axis]);
    if (reduced[axis] || dims[i] == 1) continue;
    if (static_cast<int>(axis) < last_kept) return std::nullopt;
    last_kept = static_cast<int>(axis);
  }
  return ReductionShape(dims, in_memory);
}

}  // namespace epiphyte::cpu
