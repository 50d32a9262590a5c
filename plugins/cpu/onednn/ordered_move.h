// StridedMove between tensors in any two memory orders (see axis_order.h), or between parts of them.
//
//     MoveOrdered(context, part_dims, x.as<float>() + OffsetOf(from, 1, 16), from, y.as<float>(), to);
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>

#include "plugins/cpu/kernel/strided.h"
#include "plugins/cpu/onednn/axis_order.h"

namespace epiphyte::cpu {

// Offset of index `at` of an axis. With blocks, `at` must be a multiple of the block size for axis 1.
inline int64_t OffsetOf(const OrderStrides& strides, size_t axis, int64_t at) {
  return (axis == 1 ? at / strides.block : at) * strides.axes[axis];
}
// True when MoveOrdered supports the pair: two different block sizes do not fit.
inline bool Fit(const OrderStrides& a, const OrderStrides& b) {
  return a.block == 1 || b.block == 1 || a.block == b.block;
}

// Like WithUnit, for the types that may have an order other than row-major: one, two or four bytes.
template <typename Body>
void WithOrderedUnit(ElementType type, Body&& body) {
  switch (UnitBytes(type)) {
    case 1: return body(std::type_identity<uint8_t>());
    case 2: return body(std::type_identity<uint16_t>());
    case 4: return body(std::type_identity<float>());
    default: NotImplemented("elements of type {} in another order than row-major", TypeName(type));
  }
}

// Source strides may be negative. With blocks on one side, dims[1] is a multiple of the block size.
template <typename T>
void MoveOrdered(OpContext& context, const Dims& dims, const T* from, const OrderStrides& from_strides, T* to,
                 const OrderStrides& to_strides) {
  Dims sizes = dims, source = from_strides.axes, target = to_strides.axes;
  if (const int64_t block = std::max(from_strides.block, to_strides.block); block > 1) {
    const auto split = [&](const OrderStrides& strides, Dims& axes) {
      axes.push_back(strides.block > 1 ? 1 : axes[1]);
      if (strides.block == 1) axes[1] *= block;
    };
    split(from_strides, source);
    split(to_strides, target);
    sizes[1] /= block;
    sizes.push_back(block);
  }
  // Loops follow the target's order from the outermost dimension, so contiguous target memory is written in order.
  std::array<size_t, AxisOrder::kMostAxes + 1> order;
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.begin() + sizes.size(),
                   [&](size_t a, size_t b) { return target[a] > target[b]; });
  Dims sorted_sizes(sizes.size(), 1), sorted_source = sorted_sizes, sorted_target = sorted_sizes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    sorted_sizes[i] = sizes[order[i]];
    sorted_source[i] = source[order[i]];
    sorted_target[i] = target[order[i]];
  }
  StridedMove(context, sorted_sizes, from, sorted_source, to, sorted_target);
}

// Copies a whole tensor from one order to another, several times as fast as oneDNN's reorder. Returns false when an
// order is unknown or MoveOrdered does not support the pair.
template <typename T>
bool CopyOrdered(OpContext& context, const Dims& dims, const std::optional<AxisOrder>& from_order, const T* from,
                 const std::optional<AxisOrder>& to_order, T* to) {
  if (!from_order || !to_order || !Holds(*from_order, dims) || !Holds(*to_order, dims)) return false;
  const OrderStrides source = StridesOf(dims, *from_order), target = StridesOf(dims, *to_order);
  if (!Fit(source, target)) return false;
  MoveOrdered(context, dims, from, source, to, target);
  return true;
}

}  // namespace epiphyte::cpu
