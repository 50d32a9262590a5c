// Digest: 64 bits that say whether bytes are the same: XXH3. They find damage, not deceit.
//
//   if (kit::Digest(data, size) != expected) …
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <cstdint>

namespace epiphyte::kit {

// Of `size` bytes, and of `zeros` zeros behind them, for bytes that will be filled up.
uint64_t Digest(const void* data, uint64_t size, uint64_t zeros = 0);

}  // namespace epiphyte::kit
