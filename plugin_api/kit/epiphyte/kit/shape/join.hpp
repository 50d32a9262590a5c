// ConcatShape, CheckSplit, SplitEvenly: shapes of Concat and Split along one axis.
//
//   kit::ConcatShape concat(first, node.Int("axis", 1));
//   for (const Dims& next : others) concat.Add(next);
//   concat.Result();
//
//   const kit::Dims sizes = kit::SplitEvenly(x[axis], outputs, /*last_may_be_smaller=*/version >= 18);
//
// All throw Error(EP_STATUS_INVALID_ARGUMENT).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

class ConcatShape {
 public:
  // `first` must outlive the object.
  ConcatShape(const Dims& first, int64_t axis);
  // Adds the next input. Its shape must equal the first one's except along the axis.
  void Add(const Dims& next);

  size_t axis() const { return axis_; }
  // Shape of all inputs so far. Throws when no memory could hold such a tensor.
  const Dims& Result() const;

 private:
  const Dims& first_;
  size_t axis_;
  Dims dims_;
  size_t inputs_ = 1;
};

// Checks a node's `split`: one part for each output, which sum up to the dimension.
void CheckSplit(std::span<const int64_t> split, size_t outputs, int64_t dim);
// Sizes of equal parts for `outputs` outputs; there is at least one output. If the last parts may not be smaller, the
// dimension must be a multiple of `outputs`.
Dims SplitEvenly(int64_t dim, size_t outputs, bool last_may_be_smaller);

}  // namespace epiphyte::kit
