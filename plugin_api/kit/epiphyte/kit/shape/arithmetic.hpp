// Arithmetic with sizes that come from files: what doesn't fit is an error, never another number.
//
//   const int64_t extent = kit::CheckedAdd(kit::CheckedMultiply(kernel - 1, dilation), 1);
//   const int64_t count = kit::CheckedCount(dims);
//
// They throw Error(EP_STATUS_INVALID_ARGUMENT) with the numbers.
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <cstdint>
#include <span>

namespace epiphyte::kit {

// Product of dims; throws when one is negative or the tensor could not be addressed.
int64_t CheckedCount(std::span<const int64_t> dims);
// a * b or a + b; throws when it does not fit.
int64_t CheckedMultiply(int64_t a, int64_t b);
int64_t CheckedAdd(int64_t a, int64_t b);

}  // namespace epiphyte::kit
