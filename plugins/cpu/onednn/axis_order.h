// AxisOrder: how the elements of a dense tensor lie in memory, for kernels of our own that take more than row-major.
//
// oneDNN's convolutions like channels last, or channels in blocks; an operator between two of them that insists on
// row-major data costs a copy before and one behind it. Most need not: an order is described by the dimensions as they
// follow each other in memory, and an operator that only looks at dimensions works on those instead.
//
//     const std::optional<AxisOrder> order = OrderOf(desc);     // nullopt: padded, or of a kind not described here
//     const Dims dims = InMemory(x.dims, *order);               // [N,H,W,C] for channels last
//     const size_t channels = PositionOf(*order, 1);            // 3
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "plugins/cpu/kernel/tensor.h"
#include "plugins/cpu/onednn/compat.h"

namespace epiphyte::cpu {

struct AxisOrder {
  static constexpr size_t kMostAxes = 8;

  uint8_t rank = 0;
  std::array<uint8_t, kMostAxes> axes{};  // from the outermost to the innermost
  // More than 1: axis 1 is cut into blocks of that many; `axes` has the place of the blocks, and the elements of a
  // block are innermost of all. The axes are in their natural order then.
  uint8_t block = 1;

  static AxisOrder RowMajor(size_t rank) {
    AxisOrder order;
    order.rank = static_cast<uint8_t>(rank);
    for (size_t i = 0; i < rank; ++i) order.axes[i] = static_cast<uint8_t>(i);
    return order;
  }
  bool row_major() const { return *this == RowMajor(rank); }
  friend bool operator==(const AxisOrder&, const AxisOrder&) = default;
};

// Nullopt when memory holds more than the elements, or in a way that AxisOrder can't say.
std::optional<AxisOrder> OrderOf(const MemoryDesc& desc);

// Whether a tensor of these dimensions can lie in that order: blocks must be full.
bool Holds(const AxisOrder& order, std::span<const int64_t> dims);

// The dimensions as memory has them, one more than the rank when there are blocks.
Dims InMemory(std::span<const int64_t> dims, const AxisOrder& order);
// Where among those an axis is; that of the blocks for axis 1 in blocks.
size_t PositionOf(const AxisOrder& order, size_t axis);

// InMemory for an operand that is broadcast to a tensor in that order: dimensions in front are added, and a dimension
// of one stays one. `dims` has at most the order's rank. Nullopt when its blocks would not be full.
std::optional<Dims> BroadcastInMemory(std::span<const int64_t> dims, const AxisOrder& order);
// Whether row-major data of those dimensions lies in that order as it is: one that is broadcast from [1,C,1,1], say.
bool LiesAlike(std::span<const int64_t> dims, const AxisOrder& order);

// Distances in elements, by axis. With blocks that of axis 1 is between blocks; inside them it is 1.
struct OrderStrides {
  Dims axes;
  int64_t block = 1;
};
OrderStrides StridesOf(std::span<const int64_t> dims, const AxisOrder& order);

}  // namespace epiphyte::cpu
