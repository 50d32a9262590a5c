// XXH64 by Yann Collet, from its public specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md): what says that
// a section of a blob is as it was written. It finds damage, not forgery: a reader verifies what it read besides.
//
//   uint64_t digest = Digest(section);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace epiphyte::npusim {

uint64_t Digest(std::span<const std::byte> bytes, uint64_t seed = 0);

}  // namespace epiphyte::npusim
