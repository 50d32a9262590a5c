// Offsets of a blob's fields, which writer and reader share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace epiphyte::npusim {

inline constexpr char kBlobMagic[] = "EPNPUSIM";
inline constexpr uint32_t kEndianMark = 0x01020304;
inline constexpr size_t kSectionAlignment = 64;

// Offsets in the head, in bytes.
inline constexpr size_t kEndianAt = 8, kVersionAt = 12, kSizeAt = 16, kSectionCountAt = 24, kZeroAt = 28,
                        kHeadDigestAt = 32, kHeadSize = 40;
// A section entry has kind and graph (u32 each), then offset, size and digest (u64 each).
inline constexpr size_t kSectionEntrySize = 32;

enum class Section : uint32_t { kDevice = 1, kWeights = 2, kGraph = 3, kProgram = 4 };

constexpr uint64_t Aligned(uint64_t offset) {
  return (offset + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
}

}  // namespace epiphyte::npusim
