#include "epiphyte/kit/shape/repeat.hpp"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/strides.hpp"

namespace epiphyte::kit {

ExpandShape::ExpandShape(const Dims& x, const Dims& wanted) {
  CheckedCount(x);
  const size_t rank = std::max(x.size(), wanted.size());
  dims = Dims(rank, 1);
  strides = Dims(rank, 0);
  const Dims from = RowMajorStrides(x);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t have = i + x.size() >= rank ? x[i + x.size() - rank] : 1;
    const int64_t want = i + wanted.size() >= rank ? wanted[i + wanted.size() - rank] : 1;
    if (want < 0 || (have != want && have != 1 && want != 1))
      FailArgument("shape ", ShapeText(wanted), " found for an input of shape ", ShapeText(x),
                   ", shapes that broadcast expected");
    dims[i] = have == 1 ? want : have;
    if (have != 1) strides[i] = from[i + x.size() - rank];
  }
  CheckedCount(dims);
}

TileShape::TileShape(const Dims& x, const Dims& repeats) {
  CheckedCount(x);
  const size_t rank = x.size();
  if (repeats.size() != rank) FailArgument("repeats ", ShapeText(repeats), " found, ", rank, " numbers expected");
  dims = Dims(rank, 0);
  move = strides = Dims(2 * rank, 0);
  const Dims from = RowMajorStrides(x);
  for (size_t i = 0; i < rank; ++i) {
    if (repeats[i] < 0) FailArgument("repeats ", ShapeText(repeats), " found, numbers of at least 0 expected");
    dims[i] = CheckedMultiply(x[i], repeats[i]);
    move[2 * i] = repeats[i];
    move[2 * i + 1] = x[i];
    strides[2 * i + 1] = from[i];
  }
  CheckedCount(dims);
}

}  // namespace epiphyte::kit
