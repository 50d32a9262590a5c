// Reads and writes a blob's numbers on any machine and at any address.
//
//   uint32_t version = LittleEndian<uint32_t>(blob + 12);
//   PutLittleEndian<uint64_t>(bytes, size);
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace epiphyte::npusim {

// T: an unsigned integer.
template <typename T>
T LittleEndian(const std::byte* at) {
  T value = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&value, at, sizeof(T));
  } else {
    for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(static_cast<T>(at[i]) << (8 * i));
  }
  return value;
}

template <typename T>
void PutLittleEndian(std::vector<std::byte>& bytes, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
}

}  // namespace epiphyte::npusim
