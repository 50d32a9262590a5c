// What the products of quantised tensors share: numbers without their zero points, as 32-bit integers, and the way
// back. Sums wrap around as ONNX's int32 results do; unsigned arithmetic makes that well defined.
#pragma once

#include <cmath>
#include <cstdint>

#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/kernel/parameter.h"
#include "plugins/cpu/ops/math/elementwise.h"

namespace epiphyte::cpu {

// Element i of an 8-bit tensor.
inline int32_t ByteAt(const Tensor& tensor, int64_t i) {
  return tensor.type == EP_TYPE_INT8 ? tensor.as<int8_t>()[i] : tensor.as<uint8_t>()[i];
}

inline void RequireBytes(const Tensor& tensor, std::string_view what) {
  if (!Contains(kByteTypes, tensor.type)) {
    FailOp("{} is {}, expected int8 or uint8", what, TypeName(tensor.type));
  }
}

// to[i] = from[begin + i] - zero
inline void SubtractZero(const Tensor& from, int64_t begin, int64_t n, int32_t zero, uint32_t* to) {
  if (from.type == EP_TYPE_INT8) {
    const int8_t* data = from.as<int8_t>() + begin;
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<uint32_t>(data[i] - zero);
  } else {
    const uint8_t* data = from.as<uint8_t>() + begin;
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<uint32_t>(data[i] - zero);
  }
}

// Scale or zero point `i` of a parameter that has one element for all or one for each: see ParameterPerItem.
inline float ParameterAt(const Tensor& parameter, int64_t i) {
  float value;
  LoadFloats(parameter, parameter.Count() == 1 ? 0 : i, 1, &value);
  return value;
}

// An int32 sum, rescaled, as an element of y.
inline void StoreRequantized(Tensor& y, int64_t i, int32_t sum, float factor, float zero) {
  const float value = std::nearbyint(static_cast<float>(sum) * factor) + zero;
  if (y.type == EP_TYPE_INT8) {
    y.as<int8_t>()[i] = SaturateTo<int8_t>(value);
  } else {
    y.as<uint8_t>()[i] = SaturateTo<uint8_t>(value);
  }
}

}  // namespace epiphyte::cpu
