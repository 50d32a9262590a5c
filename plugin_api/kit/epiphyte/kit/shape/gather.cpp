#include "epiphyte/kit/shape/gather.hpp"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"

namespace epiphyte::kit {

Dims GatherDims(const Dims& x, const Dims& indices, size_t axis) {
  Dims dims;
  for (size_t i = 0; i < axis; ++i) dims.push_back(x[i]);
  for (const int64_t dim : indices) dims.push_back(dim);
  for (size_t i = axis + 1; i < x.size(); ++i) dims.push_back(x[i]);
  CheckedCount(dims);
  return dims;
}

void CheckGatherElements(const Dims& x, const Dims& indices, size_t axis) {
  bool fits = indices.size() == x.size();
  for (size_t i = 0; fits && i < x.size(); ++i) fits = i == axis || indices[i] <= x[i];
  if (!fits)
    FailArgument("indices of shape ", ShapeText(indices), " found for data of shape ", ShapeText(x),
                 ", at most that apart from axis ", axis, " expected");
}

GatherNdShape::GatherNdShape(const Dims& x, const Dims& indices, int64_t batch_dims) {
  const auto least = static_cast<int64_t>(std::min(x.size(), indices.size()));
  if (batch_dims < 0 || batch_dims >= least)
    FailArgument("batch_dims ", batch_dims, " found for data of shape ", ShapeText(x), " and indices of shape ",
                 ShapeText(indices), ", less than both ranks expected");
  batch = static_cast<size_t>(batch_dims);
  if (indices.back() < 0 || indices.back() > static_cast<int64_t>(x.size() - batch))
    FailArgument("indices of shape ", ShapeText(indices), " found, tuples of at most ", x.size() - batch, " expected");
  depth = static_cast<size_t>(indices.back());
  for (size_t i = 0; i < batch; ++i)
    if (x[i] != indices[i])
      FailArgument("data of shape ", ShapeText(x), " and indices of shape ", ShapeText(indices), " found, ", batch,
                   " equal dimensions in front expected");
  for (size_t i = 0; i + 1 < indices.size(); ++i) dims.push_back(indices[i]);
  for (size_t i = batch + depth; i < x.size(); ++i) dims.push_back(x[i]);
  CheckedCount(dims);
  tuples = CheckedCount({indices.data(), indices.size() - 1});
  run = CheckedCount({x.data() + batch + depth, x.size() - batch - depth});
}

}  // namespace epiphyte::kit
