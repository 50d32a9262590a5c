#include "epiphyte/kit/shape/slice.hpp"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/axes.hpp"

namespace epiphyte::kit {

SliceRange ResolveSlice(int64_t start, int64_t end, int64_t step, int64_t dim) {
  if (step == 0) FailArgument("a step of 0 found, another number expected");
  step = std::max(step, -INT64_MAX);
  if (start < 0) start += dim;
  if (end < 0) end += dim;
  SliceRange range;
  range.step = step;
  if (step > 0) {
    range.start = std::clamp<int64_t>(start, 0, dim);
    end = std::clamp<int64_t>(end, 0, dim);
    if (end > range.start) range.count = 1 + (end - range.start - 1) / step;
  } else {
    // A start before the first element becomes the first element, as ONNX demands.
    range.start = std::clamp<int64_t>(start, std::min<int64_t>(dim - 1, 0), dim - 1);
    end = std::clamp<int64_t>(end, -1, dim - 1);
    if (end < range.start) range.count = 1 + (range.start - end - 1) / -step;
  }
  return range;
}

SliceShape::SliceShape(const Dims& x, std::span<const int64_t> starts, std::span<const int64_t> ends, const Dims* axes,
                       const Dims* steps)
    : dims(x), ranges(x.size()) {
  CheckedCount(x);
  const size_t rank = x.size();
  const size_t count = starts.size();
  if (ends.size() != count || (axes != nullptr && axes->size() != count) ||
      (steps != nullptr && steps->size() != count) || count > rank)
    FailArgument(count, " starts, ", ends.size(), " ends, ", axes != nullptr ? axes->size() : count, " axes and ",
                 steps != nullptr ? steps->size() : count, " steps found for rank ", rank,
                 ", the same number and at most the rank expected");
  Dims which(count, 0);
  for (size_t i = 0; i < count; ++i) which[i] = static_cast<int64_t>(i);
  if (axes != nullptr) which = NormalizeAxes(*axes, rank);
  for (size_t i = 0; i < rank; ++i) ranges[i].count = x[i];
  for (size_t i = 0; i < count; ++i) {
    const auto axis = static_cast<size_t>(which[i]);
    ranges[axis] = ResolveSlice(starts[i], ends[i], steps != nullptr ? (*steps)[i] : 1, x[axis]);
    dims[axis] = ranges[axis].count;
    whole = whole && ranges[axis].count == x[axis] && (ranges[axis].step == 1 || ranges[axis].count <= 1);
  }
}

int64_t ApplySlice(std::span<const SliceRange> ranges, Dims& strides) {
  int64_t base = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    base += ranges[i].start * strides[i];
    // With one element the step is never used, and multiplying by it could overflow.
    if (ranges[i].count > 1) strides[i] *= ranges[i].step;
  }
  return base;
}

}  // namespace epiphyte::kit
