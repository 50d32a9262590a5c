// How many elements a shape has, as far as anybody may multiply: the rule for values of plans, whoever makes them.
#pragma once

#include <cstdint>
#include <span>

namespace epiphyte::cpu {

// The product of the dimensions; those that aren't known (-1) count as 1. False when it is more than 2^44 without the
// dimensions of 0: no product of some of the dimensions, or with the size of an element, overflows.
inline bool CountElements(std::span<const int64_t> dims, uint64_t* count) {
  uint64_t without_zeros = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    empty = empty || dim == 0;
    if (dim > 0 && (__builtin_mul_overflow(without_zeros, static_cast<uint64_t>(dim), &without_zeros) ||
                    without_zeros > uint64_t{1} << 44))
      return false;
  }
  *count = empty ? 0 : without_zeros;
  return true;
}

}  // namespace epiphyte::cpu
