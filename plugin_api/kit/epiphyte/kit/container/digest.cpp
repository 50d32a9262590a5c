#include "epiphyte/kit/container/digest.hpp"

#include "epiphyte/kit/container/layout.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace epiphyte::kit {

uint64_t Digest(const void* data, uint64_t size) { return XXH3_64bits(data, static_cast<size_t>(size)); }

namespace container {

uint64_t PaddedDigest(const void* data, uint64_t size) {
  const uint64_t padding = Aligned(size) - size;
  if (padding == 0) return Digest(data, size);
  static constexpr char kZeros[kAlignment] = {};
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, data, static_cast<size_t>(size));
  XXH3_64bits_update(&state, kZeros, static_cast<size_t>(padding));
  return XXH3_64bits_digest(&state);
}

}  // namespace container
}  // namespace epiphyte::kit
