// HostTensor: a small tensor with elements that the host knows while it makes a program: shapes, axes, indices and
// values computed from them. Integers (and bool) are held as int64, floats as double.
//
//     const HostTensor& shape = recording.RequireHost(1);
//     for (int64_t dim : shape.ints) …
#pragma once

#include <cstdint>
#include <vector>

#include "epiphyte/kit/shape/dims.hpp"
#include "epiphyte/kit/shape/element_type.hpp"

namespace epiphyte::vulkan {

// The host computes with tensors of at most this many elements.
inline constexpr int64_t kMostHostElements = 4096;

struct HostTensor {
  EpElementType type = EP_TYPE_INT64;
  kit::Dims dims;
  std::vector<int64_t> ints;   // elements of integer types and bool (0 or 1)
  std::vector<double> floats;  // elements of float, double, float16 and bfloat16

  bool IsFloat() const {
    return type == EP_TYPE_FLOAT || type == EP_TYPE_DOUBLE || type == EP_TYPE_FLOAT16 || type == EP_TYPE_BFLOAT16;
  }
  int64_t Count() const { return dims.Count(); }
};

// Convert between a HostTensor and row-major bytes at any address; `bytes` gets exactly the tensor's size. Types are
// numbers and bool; others throw INVALID_ARGUMENT. A value that doesn't fit its type is cut as a cast in C would.
HostTensor ReadHostTensor(EpElementType type, const kit::Dims& dims, const void* data);
std::vector<std::byte> BytesOf(const HostTensor& tensor);
bool IsHostType(EpElementType type);

}  // namespace epiphyte::vulkan
