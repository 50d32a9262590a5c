#define XXH_INLINE_ALL
#include <xxhash.h>

#include "plugins/cpu/exec/context_format.h"

namespace epiphyte::cpu {

uint64_t ContextDigest(const void* data, uint64_t bytes) { return XXH3_64bits(data, bytes); }

uint64_t PaddedContextDigest(const void* data, uint64_t bytes) {
  if (bytes == AlignUp(bytes)) return ContextDigest(data, bytes);
  static constexpr char kZeros[kDataAlignment] = {};
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, data, bytes);
  XXH3_64bits_update(&state, kZeros, AlignUp(bytes) - bytes);
  return XXH3_64bits_digest(&state);
}

}  // namespace epiphyte::cpu
