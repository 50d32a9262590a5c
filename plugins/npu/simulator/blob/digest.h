// XXH64 by Yann Collet, from its public specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md). It shows that a
// section of a blob is unchanged. It finds damage, not forgery; a reader also verifies the contents.
//
//   uint64_t digest = Digest(section);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace epiphyte::npusim {

uint64_t Digest(std::span<const std::byte> bytes, uint64_t seed = 0);

}  // namespace epiphyte::npusim
