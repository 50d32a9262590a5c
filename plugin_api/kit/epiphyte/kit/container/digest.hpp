// Digest: 64 bits that say whether bytes are the same: XXH3. They find damage, not deceit.
//
//   if (kit::Digest(data, size) != expected) …
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <cstdint>

namespace epiphyte::kit {

uint64_t Digest(const void* data, uint64_t size);

}  // namespace epiphyte::kit
