#include "epiphyte/kit/shape/reshape.hpp"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/axes.hpp"

namespace epiphyte::kit {
namespace {

[[noreturn]] void FailCount(const Dims& input, std::span<const int64_t> wanted) {
  FailArgument("input of shape ", ShapeText(input), " found, a count of elements that fits shape ", ShapeText(wanted),
               " expected");
}

}  // namespace

Dims ReshapeDims(const Dims& input, std::span<const int64_t> wanted, bool allow_zero) {
  Dims output(wanted);
  size_t left_over = wanted.size();
  // Copied dimensions cancel out on both sides, so [0,-1] works for an empty input.
  int64_t known = 1, available = 1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == -1) {
      if (left_over != wanted.size()) FailArgument("shape ", ShapeText(wanted), " found, at most one -1 expected");
      left_over = i;
    } else if (wanted[i] == 0 && !allow_zero) {
      if (i >= input.size())
        FailArgument("shape ", ShapeText(wanted), " found for an input of rank ", input.size(), ": dimension ", i,
                     " to copy expected");
      output[i] = input[i];
    } else if (wanted[i] < 0) {
      FailArgument("shape ", ShapeText(wanted), " found, dimensions of at least -1 expected");
    } else {
      known = CheckedMultiply(known, wanted[i]);
    }
  }
  if (left_over != wanted.size()) {
    for (size_t i = 0; i < input.size(); ++i)
      if (i >= wanted.size() || wanted[i] != 0 || allow_zero) available = CheckedMultiply(available, input[i]);
    if (known == 0 || available % known != 0) FailCount(input, wanted);
    output[left_over] = available / known;
  }
  if (CheckedCount(output) != CheckedCount(input)) FailCount(input, wanted);
  return output;
}

Dims FlattenDims(const Dims& input, int64_t axis) {
  const auto rank = static_cast<int64_t>(input.size());
  const size_t split =
      axis == rank ? input.size() : std::min(NormalizeAxis(axis, std::max<size_t>(input.size(), 1)), input.size());
  CheckedCount(input);
  return {input.Count(0, split), input.Count(split, input.size())};
}

Dims SqueezeDims(const Dims& input, std::span<const int64_t> axes) {
  const Dims gone = NormalizeAxes(axes, input.size());
  for (const int64_t axis : gone)
    if (input[static_cast<size_t>(axis)] != 1)
      FailArgument("axis ", axis, " of shape ", ShapeText(input), " found, a dimension of 1 expected");
  Dims output;
  for (size_t i = 0; i < input.size(); ++i)
    if (std::find(gone.begin(), gone.end(), static_cast<int64_t>(i)) == gone.end()) output.push_back(input[i]);
  return output;
}

Dims SqueezeDims(const Dims& input) {
  Dims output;
  for (const int64_t dim : input)
    if (dim != 1) output.push_back(dim);
  return output;
}

Dims UnsqueezeDims(const Dims& input, std::span<const int64_t> axes) {
  const size_t rank = input.size() + axes.size();
  const Dims added = NormalizeAxes(axes, rank);
  Dims output(rank, 0);
  for (const int64_t axis : added) output[static_cast<size_t>(axis)] = 1;
  // Remaining zeros of `output` mark dimensions that are not new. An input dimension of 0 fills its own place.
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i)
    if (output[i] == 0) output[i] = input[next++];
  return output;
}

}  // namespace epiphyte::kit
