#include "epiphyte/kit/shape/axes.hpp"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"

namespace epiphyte::kit {

size_t NormalizeAxis(int64_t axis, size_t rank, std::string_view name) {
  const auto limit = static_cast<int64_t>(rank);
  if (axis < -limit || axis >= limit)
    FailArgument(name, " ", axis, " found, a value in [", -limit, ", ", limit - 1, "] expected");
  return static_cast<size_t>(axis < 0 ? axis + limit : axis);
}

Dims NormalizeAxes(std::span<const int64_t> axes, size_t rank, std::string_view name) {
  Dims normalized;
  for (const int64_t axis : axes) {
    const auto from_front = static_cast<int64_t>(NormalizeAxis(axis, rank, name));
    if (std::find(normalized.begin(), normalized.end(), from_front) != normalized.end())
      FailArgument(name, " ", ShapeText(axes), " found, each axis once expected");
    normalized.push_back(from_front);
  }
  return normalized;
}

std::vector<bool> AxesMask(std::span<const int64_t> axes, size_t rank) {
  std::vector<bool> mask(rank, false);
  for (const int64_t axis : axes) mask[NormalizeAxis(axis, rank)] = true;
  return mask;
}

bool CheckedKeepDims(int64_t keepdims) {
  if (keepdims != 0 && keepdims != 1) FailArgument("keepdims ", keepdims, " found, 0 or 1 expected");
  return keepdims != 0;
}

Dims ReducedDims(const Dims& dims, const std::vector<bool>& reduced, bool keep) {
  Dims out;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!reduced[i]) out.push_back(dims[i]);
    if (reduced[i] && keep) out.push_back(1);
  }
  return out;
}

Dims NormalizePermutation(std::span<const int64_t> perm, std::span<const int64_t> x) {
  if (perm.size() != x.size())
    FailArgument("perm ", ShapeText(perm), " found for an input of shape ", ShapeText(x), ", ", x.size(),
                 " axes expected");
  return NormalizeAxes(perm, x.size(), "perm");
}

}  // namespace epiphyte::kit
