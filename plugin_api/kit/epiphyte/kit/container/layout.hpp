// The bytes of a context container, for those who write, read or examine one. Plugins use container.hpp.
//
//     64 bytes    Header
//     table       of each section its Entry; the key: u32 length, text; of each name u32 section, u32 length, text, in
//                 ascending order of the names
//     sections    the bytes of each, in the order of their numbers
//
// Table and sections begin at multiples of 64 and are filled with zeros up to the next one. Numbers are little endian.
// Digests are XXH3-64 and cover every byte of the file, zeros as well.
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <bit>
#include <cstdint>

namespace epiphyte::kit::container {

static_assert(std::endian::native == std::endian::little, "containers are written in native order: little endian");

inline constexpr uint64_t kAlignment = 64;
inline constexpr uint32_t kLayout = 1;

struct Header {
  char magic[8] = {};         // the plugin's
  uint32_t version = 0;       // the plugin's
  uint32_t layout = kLayout;  // the kit's, of everything described here
  uint64_t size = 0;          // of the whole file
  uint64_t table_size = 0;    // without the zeros behind it
  uint32_t section_count = 0;
  uint32_t name_count = 0;
  uint64_t table_digest = 0;  // with the zeros behind it
  uint64_t zeros = 0;
  uint64_t header_digest = 0;  // of everything before
};
static_assert(sizeof(Header) == kAlignment);
inline constexpr uint64_t kDigestedHeaderSize = sizeof(Header) - sizeof(uint64_t);

struct Entry {
  uint64_t size = 0;    // without the zeros behind it
  uint64_t digest = 0;  // with them
};
static_assert(sizeof(Entry) == 16);

constexpr uint64_t Aligned(uint64_t size) { return (size + kAlignment - 1) & ~(kAlignment - 1); }

}  // namespace epiphyte::kit::container
