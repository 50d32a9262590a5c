#include "epiphyte/kit/memory/digest.hpp"

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace epiphyte::kit {

uint64_t Digest(const void* data, uint64_t size, uint64_t zeros) {
  if (zeros == 0) return XXH3_64bits(data, static_cast<size_t>(size));
  static constexpr char kZeros[64] = {};
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, data, static_cast<size_t>(size));
  for (uint64_t part; zeros != 0; zeros -= part) {
    part = std::min<uint64_t>(zeros, sizeof kZeros);
    XXH3_64bits_update(&state, kZeros, static_cast<size_t>(part));
  }
  return XXH3_64bits_digest(&state);
}

}  // namespace epiphyte::kit
