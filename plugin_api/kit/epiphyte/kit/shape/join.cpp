#include "epiphyte/kit/shape/join.hpp"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/axes.hpp"

namespace epiphyte::kit {

ConcatShape::ConcatShape(const Dims& first, int64_t axis)
    : first_(first), axis_(NormalizeAxis(axis, first.size())), dims_(first) {}

void ConcatShape::Add(const Dims& next) {
  bool fits = next.size() == first_.size();
  for (size_t i = 0; fits && i < first_.size(); ++i) fits = i == axis_ || next[i] == first_[i];
  if (!fits)
    FailArgument("input ", inputs_, " of shape ", ShapeText(next), " found, ", ShapeText(first_), " apart from axis ",
                 axis_, " expected");
  dims_[axis_] = CheckedAdd(dims_[axis_], next[axis_]);
  ++inputs_;
}

const Dims& ConcatShape::Result() const {
  CheckedCount(dims_);
  return dims_;
}

void CheckSplit(std::span<const int64_t> split, size_t outputs, int64_t dim) {
  if (split.size() != outputs)
    FailArgument("split ", ShapeText(split), " found for ", outputs, " outputs, as many sizes expected");
  int64_t sum = 0;
  for (const int64_t size : split) {
    if (size < 0) FailArgument("split ", ShapeText(split), " found, sizes of at least 0 expected");
    sum = CheckedAdd(sum, size);
  }
  if (sum != dim) FailArgument("split ", ShapeText(split), " found for a dimension of ", dim, ", that sum expected");
}

Dims SplitEvenly(int64_t dim, size_t outputs, bool last_may_be_smaller) {
  const auto count = static_cast<int64_t>(std::max<size_t>(outputs, 1));
  if (!last_may_be_smaller && dim % count != 0)
    FailArgument("a dimension of ", dim, " found, a multiple of ", count, " expected");
  const int64_t part = dim / count + (dim % count != 0 ? 1 : 0);
  Dims sizes;
  for (int64_t left = dim; sizes.size() < static_cast<size_t>(count); left -= sizes.back())
    sizes.push_back(std::min(part, left));
  return sizes;
}

}  // namespace epiphyte::kit
