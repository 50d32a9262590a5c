#include "epiphyte/kit/shape/arithmetic.hpp"

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

int64_t CheckedMultiply(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) FailArgument(a, " times ", b, " found, a product below 2^63 expected");
  return product;
}

int64_t CheckedAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) FailArgument(a, " plus ", b, " found, a sum below 2^63 expected");
  return sum;
}

int64_t CheckedCount(std::span<const int64_t> dims) {
  // A tensor with a dimension of 0 is empty, however large its other dimensions are. Their product must fit all the
  // same, because kernels multiply some of them.
  constexpr int64_t kMost = INT64_MAX / 64;
  int64_t count = 1;
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) FailArgument("shape ", ShapeText(dims), " found, dimensions of at least 0 expected");
    if (dim == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(count, dim, &count) || count > kMost) {
      FailArgument("shape ", ShapeText(dims), " found, fewer than 2^57 elements expected");
    }
  }
  return empty ? 0 : count;
}

}  // namespace epiphyte::kit
