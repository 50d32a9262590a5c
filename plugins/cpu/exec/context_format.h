// The bytes of a context around its table, shared by its writer and its reader.
#pragma once

#include <cstdint>

namespace epiphyte::cpu {

inline constexpr uint64_t kDataAlignment = 64;
inline constexpr uint64_t kContextMagic = 0x585443555045FF01;  // never text
// Of the table, of every packed format and of the meaning of fused operators: whoever changes one of them raises it.
inline constexpr uint32_t kContextFormat = 2;

constexpr uint64_t AlignUp(uint64_t bytes) { return (bytes + kDataAlignment - 1) & ~(kDataAlignment - 1); }

// Digests are XXH3-64. Together they cover every byte of the file.
struct ContextFileHeader {
  uint64_t magic = kContextMagic;
  uint32_t format = kContextFormat;
  uint32_t zero = 0;
  uint64_t table_bytes = 0;
  uint64_t data_offset = 0;   // AlignUp(sizeof header + table_bytes)
  uint64_t data_bytes = 0;    // the rest of the file
  uint64_t table_digest = 0;  // of the table and the padding behind it
  uint64_t zeros = 0;
  uint64_t header_digest = 0;  // of everything before
};
static_assert(sizeof(ContextFileHeader) == 64);
inline constexpr uint64_t kDigestedHeaderBytes = sizeof(ContextFileHeader) - sizeof(uint64_t);

uint64_t ContextDigest(const void* data, uint64_t bytes);
// Of `bytes` bytes and the zeros that fill the last unit of kDataAlignment, as a section lies in the file.
uint64_t PaddedContextDigest(const void* data, uint64_t bytes);

}  // namespace epiphyte::cpu
