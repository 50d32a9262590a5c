#include "epiphyte/kit/shape/pool.hpp"

#include "epiphyte/kit/abi/fail.hpp"

namespace epiphyte::kit {

void PoolAttributes::CheckKernel() const {
  if (!global && window.kernel.empty()) FailArgument("kernel_shape is missing");
}

Window PoolAttributes::Resolve(const Dims& x) const {
  if (x.size() < 3) FailArgument("input of rank ", x.size(), "; at least 3 expected");
  const std::span<const int64_t> input(x.data() + 2, x.size() - 2);
  return global ? Window::Resolve(window, input, input) : Window::Resolve(window, {}, input, ceil_mode);
}

int64_t PoolAttributes::StoredIndex(int64_t offset, const Dims& x) const {
  if (!column_major) return offset;
  int64_t result = 0;
  for (size_t d = x.size() - 1; d >= 2; --d) {
    int64_t stride = 1;
    for (size_t before = 2; before < d; ++before) stride *= x[before];
    result += offset % x[d] * stride;
    offset /= x[d];
  }
  return result;
}

}  // namespace epiphyte::kit
