#include "epiphyte/kit/shape/pad.hpp"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"

namespace epiphyte::kit {

Dims PaddedDims(const Dims& x, const Dims& before, const Dims& after) {
  Dims dims = x;
  constexpr int64_t kMost = int64_t{1} << 57;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::max(before[i], after[i]) > kMost || std::min(before[i], after[i]) < -kMost)
      FailArgument("pads ", before[i], " and ", after[i], " found, numbers within 2^57 expected");
    dims[i] = CheckedAdd(CheckedAdd(x[i], before[i]), after[i]);
    if (dims[i] < 0)
      FailArgument("pads ", before[i], " and ", after[i], " found for a dimension of ", x[i],
                   ", at least 0 left expected");
  }
  CheckedCount(dims);
  return dims;
}

std::pair<int64_t, int64_t> CenterPads(int64_t dim, int64_t wanted) {
  const int64_t missing = wanted - dim;
  // Halves round towards the front in both directions.
  const int64_t before = missing >= 0 ? missing / 2 : -(-missing / 2);
  return {before, missing - before};
}

}  // namespace epiphyte::kit
