// Changes that an attacker who knows the format can make to a blob: the bytes change and the digests still match.
//
//   Forge(blob, kProgramSection, [](std::span<std::byte> section) { section[4] = std::byte{0xff}; });
//   SealHead(blob);                                         // after a change of head or section table
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "plugins/npu/simulator/blob/digest.h"
#include "plugins/npu/simulator/blob/format.h"
#include "plugins/npu/simulator/blob/little_endian.h"

namespace epiphyte::npusim {

// Indices of the sections in a blob with one graph.
inline constexpr size_t kDeviceSection = 0, kWeightsSection = 1, kGraphSection = 2, kProgramSection = 3;

inline std::span<std::byte> SectionOf(std::span<std::byte> blob, size_t section) {
  const std::byte* entry = blob.data() + kHeadSize + section * kSectionEntrySize;
  return blob.subspan(LittleEndian<uint64_t>(entry + 8), LittleEndian<uint64_t>(entry + 16));
}

inline void PutNumber(std::byte* at, uint64_t value, size_t size = 8) {
  std::vector<std::byte> bytes;
  PutLittleEndian(bytes, value);
  std::copy_n(bytes.begin(), size, at);
}

inline void SealHead(std::span<std::byte> blob) {
  const auto count = LittleEndian<uint32_t>(blob.data() + kSectionCountAt);
  PutNumber(blob.data() + kHeadDigestAt,
            Digest(blob.subspan(kHeadSize, count * kSectionEntrySize), Digest(blob.first(kHeadDigestAt))));
}

inline void Forge(std::span<std::byte> blob, size_t section, const std::function<void(std::span<std::byte>)>& change) {
  const std::span<std::byte> bytes = SectionOf(blob, section);
  change(bytes);
  PutNumber(blob.data() + kHeadSize + section * kSectionEntrySize + 24, Digest(bytes));
  SealHead(blob);
}

}  // namespace epiphyte::npusim
