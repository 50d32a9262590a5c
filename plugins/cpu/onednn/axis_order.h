// AxisOrder: the order of a dense tensor's elements in memory, for own kernels that support more than row-major.
//
// oneDNN's convolutions prefer channels last or blocked channels. An operator between two of them that requires
// row-major data costs a copy before and after it. Most operators need not require it: an order lists the dimensions as
// they follow each other in memory, and an operator that depends only on dimensions works on those.
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
  std::array<uint8_t, kMostAxes> axes{};  // from outermost to innermost
  // Block size of axis 1; 1 for no blocks. With blocks, the elements of a block are the innermost dimension, and `axes`
  // has the position of the blocks. The axes are in their natural order then.
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

// Nullopt when the memory has padding, or an order that AxisOrder can't express.
std::optional<AxisOrder> OrderOf(const MemoryDesc& desc);

// True when a tensor of these dimensions can have that order: blocks must be full.
bool Holds(const AxisOrder& order, std::span<const int64_t> dims);

// Dimensions in memory order; one more than the rank when there are blocks.
Dims InMemory(std::span<const int64_t> dims, const AxisOrder& order);
// Position of an axis in memory order; with blocks, axis 1 has the position of the blocks.
size_t PositionOf(const AxisOrder& order, size_t axis);

// InMemory for an operand that is broadcast to a tensor in that order: leading dimensions are added, and dimensions of
// 1 stay 1. `dims` has at most the order's rank. Nullopt when the operand's blocks would not be full.
std::optional<Dims> BroadcastInMemory(std::span<const int64_t> dims, const AxisOrder& order);
// True when row-major data of these dimensions already has that order, as for a broadcast [1,C,1,1].
bool LiesAlike(std::span<const int64_t> dims, const AxisOrder& order);

// Strides in elements, by axis. With blocks, the stride of axis 1 is that between blocks; within a block it is 1.
struct OrderStrides {
  Dims axes;
  int64_t block = 1;
};
OrderStrides StridesOf(std::span<const int64_t> dims, const AxisOrder& order);

}  // namespace epiphyte::cpu
