// Converts rows of elements of any type to int32 and back. Strides are in bytes; offsets are already verified.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "plugins/npu/simulator/isa/command.h"

namespace epiphyte::npusim {

template <typename T>
void ReadElementsAs(const std::byte* from, int64_t stride, size_t count, int32_t* to) {
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + static_cast<int64_t>(i) * stride, sizeof(T));
    to[i] = value;
  }
}

inline void ReadElements(Type type, const std::byte* from, int64_t stride, size_t count, int32_t* to) {
  // Common types have a separate path in which the compiler knows the stride.
  if (type == Type::kInt8 && stride == 1) return ReadElementsAs<int8_t>(from, 1, count, to);
  if (type == Type::kUint8 && stride == 1) return ReadElementsAs<uint8_t>(from, 1, count, to);
  switch (type) {
    case Type::kInt8: return ReadElementsAs<int8_t>(from, stride, count, to);
    case Type::kUint8: return ReadElementsAs<uint8_t>(from, stride, count, to);
    case Type::kInt16: return ReadElementsAs<int16_t>(from, stride, count, to);
    case Type::kUint16: return ReadElementsAs<uint16_t>(from, stride, count, to);
    case Type::kInt32: return ReadElementsAs<int32_t>(from, stride, count, to);
  }
}

template <typename T>
void WriteElementsAs(const int32_t* from, size_t count, std::byte* to, int64_t stride) {
  for (size_t i = 0; i < count; ++i) {
    const T value = static_cast<T>(from[i]);
    std::memcpy(to + static_cast<int64_t>(i) * stride, &value, sizeof(T));
  }
}

// Values must be in the type's range.
inline void WriteElements(Type type, const int32_t* from, size_t count, std::byte* to, int64_t stride) {
  switch (TypeSize(type)) {
    case 1:
      return stride == 1 ? WriteElementsAs<uint8_t>(from, count, to, 1)
                         : WriteElementsAs<uint8_t>(from, count, to, stride);
    case 2: return WriteElementsAs<uint16_t>(from, count, to, stride);
    default: return WriteElementsAs<int32_t>(from, count, to, stride);
  }
}

// Rows are processed in chunks of this many elements.
inline constexpr size_t kPiece = 256;

inline int32_t ClampTo(int64_t value, int32_t low, int32_t high) {
  return static_cast<int32_t>(std::clamp<int64_t>(value, low, high));
}

}  // namespace epiphyte::npusim
