// RoundUp: the next multiple of a step, for sizes of padded rows, panels and buffers. The sizes are known to be small
// enough: for sizes from files, see arithmetic.hpp.
//
//   const int64_t padded = kit::RoundUp(columns, 16);
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <type_traits>

namespace epiphyte::kit {

// The smallest multiple of `step` that is at least `value`. Both are positive, or `value` is 0.
template <typename T>
constexpr T RoundUp(T value, std::type_identity_t<T> step) {
  return (value + step - 1) / step * step;
}

}  // namespace epiphyte::kit
