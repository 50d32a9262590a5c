// Concat and Split: tensors that differ along one axis.
//
//   kit::ConcatShape concat(first, node.Int("axis", 1));
//   for (const Dims& next : others) concat.Add(next);
//   concat.Result();
//
//   const kit::Dims sizes = kit::SplitEvenly(x[axis], outputs, /*last_may_be_smaller=*/version >= 18);
//
// They throw Error(EP_STATUS_INVALID_ARGUMENT).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

class ConcatShape {
 public:
  // `first` outlives the object.
  ConcatShape(const Dims& first, int64_t axis);
  // The shape of the next input: as the first apart from the axis.
  void Add(const Dims& next);

  size_t axis() const { return axis_; }
  // Of all inputs so far; throws when no memory could hold such a tensor.
  const Dims& Result() const;

 private:
  const Dims& first_;
  size_t axis_;
  Dims dims_;
  size_t inputs_ = 1;
};

// The parts of a dimension that a node's `split` gives: one for each output, that sum up to the dimension.
void CheckSplit(std::span<const int64_t> split, size_t outputs, int64_t dim);
// Equal parts for `outputs` outputs, at least one. Where they may not differ the dimension must be a multiple; else the
// last ones are smaller.
Dims SplitEvenly(int64_t dim, size_t outputs, bool last_may_be_smaller);

}  // namespace epiphyte::kit
