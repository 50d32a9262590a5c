// Checked arithmetic on sizes from files. Overflow is an error, never a wrong number.
//
//   const int64_t extent = kit::CheckedAdd(kit::CheckedMultiply(kernel - 1, dilation), 1);
//   const int64_t count = kit::CheckedCount(dims);
//
// All throw Error(EP_STATUS_INVALID_ARGUMENT) with the numbers.
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <cstdint>
#include <span>

namespace epiphyte::kit {

// Product of dims. Throws when one is negative, or when those other than 0 multiply to 2^57 or more.
int64_t CheckedCount(std::span<const int64_t> dims);
// a * b, or a + b. Throws on overflow.
int64_t CheckedMultiply(int64_t a, int64_t b);
int64_t CheckedAdd(int64_t a, int64_t b);

}  // namespace epiphyte::kit
