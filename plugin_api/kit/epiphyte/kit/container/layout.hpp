// Byte layout of a context container, for code that writes, reads or examines one. Plugins use container.hpp.
//
//     64 bytes    Header
//     table       an Entry for each section; the key as u32 length and text; for each name, in ascending order, u32
//                 section, u32 length and text
//     sections    the bytes of each section, in the order of their numbers
//
// Table and sections begin at multiples of 64, and zeros fill up to the next multiple. Numbers are little endian.
// Digests are XXH3-64 and cover every byte of the file, also the zeros.
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <bit>
#include <cstdint>

namespace epiphyte::kit::container {

static_assert(std::endian::native == std::endian::little, "containers are written in native order: little endian");

inline constexpr uint64_t kAlignment = 64;
inline constexpr uint32_t kLayout = 1;

struct Header {
  char magic[8] = {};         // the plugin's magic
  uint32_t version = 0;       // the plugin's format version
  uint32_t layout = kLayout;  // version of the layout described here
  uint64_t size = 0;          // bytes of the whole file
  uint64_t table_size = 0;    // bytes without the zeros that follow
  uint32_t section_count = 0;
  uint32_t name_count = 0;
  uint64_t table_digest = 0;  // covers the zeros that follow
  uint64_t zeros = 0;
  uint64_t header_digest = 0;  // covers all fields before it
};
static_assert(sizeof(Header) == kAlignment);
inline constexpr uint64_t kDigestedHeaderSize = sizeof(Header) - sizeof(uint64_t);

struct Entry {
  uint64_t size = 0;    // bytes without the zeros that follow
  uint64_t digest = 0;  // covers the zeros that follow
};
static_assert(sizeof(Entry) == 16);

constexpr uint64_t Aligned(uint64_t size) { return (size + kAlignment - 1) & ~(kAlignment - 1); }

}  // namespace epiphyte::kit::container
