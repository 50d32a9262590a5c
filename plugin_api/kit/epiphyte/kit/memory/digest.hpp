// Digest: a 64-bit XXH3 digest of bytes. It detects damage, not manipulation.
//
//   if (kit::Digest(data, size) != expected) …
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <cstdint>

namespace epiphyte::kit {

// Digest of `size` bytes followed by `zeros` zeros, for bytes that will be padded.
uint64_t Digest(const void* data, uint64_t size, uint64_t zeros = 0);

}  // namespace epiphyte::kit
