// The first bytes of a context, shared by its writer and its reader.
#pragma once

#include <cstdint>

namespace epiphyte::cpu {

inline constexpr uint64_t kDataAlignment = 64;
inline constexpr uint64_t kContextMagic = 0x585443555045FF01;  // never text
inline constexpr uint32_t kContextFormat = 1;                  // of the table and of every packed format's meaning

constexpr uint64_t AlignUp(uint64_t bytes) { return (bytes + kDataAlignment - 1) & ~(kDataAlignment - 1); }

struct ContextFileHeader {
  uint64_t magic = kContextMagic;
  uint32_t format = kContextFormat;
  uint32_t reserved = 0;
  uint64_t table_bytes = 0;
  uint64_t data_offset = 0;
  uint64_t data_bytes = 0;
  uint64_t zeros[3] = {0, 0, 0};
};
static_assert(sizeof(ContextFileHeader) == 64);

}  // namespace epiphyte::cpu
