#include "plugins/cpu/onednn/axis_order.h"

#include <algorithm>

namespace epiphyte::cpu {

std::optional<AxisOrder> OrderOf(const MemoryDesc& desc) {
  const BlockedDesc d = Describe(desc);
  const size_t rank = d.dims.size();
  if (!d.blocked || d.extra || d.dims != d.padded || rank == 0 || rank > AxisOrder::kMostAxes) return std::nullopt;
  AxisOrder order = AxisOrder::RowMajor(rank);
  if (d.block_sizes.size() == 1 && d.block_dims[0] == 1 && d.block_sizes[0] <= 16) {
    order.block = static_cast<uint8_t>(d.block_sizes[0]);
  } else if (d.block_sizes.empty()) {
    std::stable_sort(order.axes.begin(), order.axes.begin() + rank,
                     [&](uint8_t a, uint8_t b) { return d.strides[a] > d.strides[b]; });
  } else {
    return std::nullopt;
  }
  int64_t stride = order.block;
  for (size_t i = rank; i-- > 0;) {
    const size_t axis = order.axes[i];
    const int64_t dim = axis == 1 ? d.dims[axis] / order.block : d.dims[axis];
    if (dim != 1 && d.strides[axis] != stride) return std::nullopt;
    stride *= dim;
  }
  return order;
}

bool Holds(const AxisOrder& order, std::span<const int64_t> dims) {
  return dims.size() == order.rank && (order.block == 1 || (order.rank > 1 && dims[1] % order.block == 0));
}

Dims InMemory(std::span<const int64_t> dims, const AxisOrder& order) {
  Dims result;
  for (size_t i = 0; i < order.rank; ++i) {
    const size_t axis = order.axes[i];
    result.push_back(axis == 1 ? dims[axis] / order.block : dims[axis]);
  }
  if (order.block > 1) result.push_back(order.block);
  return result;
}

size_t PositionOf(const AxisOrder& order, size_t axis) {
  return static_cast<size_t>(std::find(order.axes.begin(), order.axes.begin() + order.rank, axis) - order.axes.begin());
}

std::optional<Dims> BroadcastInMemory(std::span<const int64_t> dims, const AxisOrder& order) {
  Dims full(order.rank, 1);
  std::copy(dims.begin(), dims.end(), full.end() - static_cast<std::ptrdiff_t>(dims.size()));
  if (order.block == 1) return InMemory(full, order);
  if (full[1] != 1 && full[1] % order.block != 0) return std::nullopt;
  const bool one = full[1] == 1;
  if (one) full[1] = order.block;
  Dims result = InMemory(full, order);
  if (one) result.back() = 1;
  return result;
}

bool LiesAlike(std::span<const int64_t> dims, const AxisOrder& order) {
  const size_t lead = order.rank - dims.size();
  const auto size = [&](size_t axis) { return axis < lead ? 1 : dims[axis - lead]; };
  int last = -1;
  for (size_t i = 0; i < order.rank; ++i) {
    const int axis = order.axes[i];
    if (size(static_cast<size_t>(axis)) == 1) continue;
    if (axis < last) return false;
    // With blocked channels, no dimension behind them may vary.
    if (order.block > 1 && last == 1) return false;
    last = axis;
  }
  return order.block == 1 || last != 1 || size(1) % order.block == 0;
}

OrderStrides StridesOf(std::span<const int64_t> dims, const AxisOrder& order) {
  OrderStrides strides{Dims(order.rank, 1), order.block};
  int64_t stride = order.block;
  for (size_t i = order.rank; i-- > 0;) {
    const size_t axis = order.axes[i];
    strides.axes[axis] = stride;
    stride *= axis == 1 ? dims[axis] / order.block : dims[axis];
  }
  return strides;
}

}  // namespace epiphyte::cpu
