// What the kit's operators on bytes say of their ends by attributes (epiphyte/kit/fuse/operators.hpp).
#pragma once

#include <vector>

#include "plugins/cpu/ops/quantized/integer_product.h"
#include "plugins/cpu/simd/byte_rows.h"
#include "plugins/cpu/simd/quantize.h"

namespace epiphyte::cpu {

// Of so many operands, then of y; throws kit::Error(EP_STATUS_INVALID_GRAPH) for another number of them.
inline std::vector<simd::ByteEnd> ReadByteEnds(const ir::Node& node, size_t operands) {
  const auto& scales = node.Floats("scales");
  const auto& zeros = node.Ints("zero_points");
  if (scales.size() != operands + 1 || zeros.size() != operands + 1)
    throw kit::Error(EP_STATUS_INVALID_GRAPH, fmt::format("it has {} scales and {} zero points, {} of each expected",
                                                          scales.size(), zeros.size(), operands + 1));
  std::vector<simd::ByteEnd> ends;
  for (size_t i = 0; i <= operands; ++i) ends.push_back({scales[i], static_cast<float>(zeros[i])});
  return ends;
}

// Real numbers as bytes of `end`, within bounds. `reals` is written over.
inline void QuantizeWithin(float* reals, int64_t n, simd::ByteEnd end, ResultBounds bounds, bool is_signed,
                           uint8_t* y) {
  if (is_signed) {
    auto* const to = reinterpret_cast<int8_t*>(y);
    simd::QuantizeRow(reals, to, n, &end.scale, &end.zero, 0);
    if (bounds.low <= -128 && bounds.high >= 127) return;
    for (int64_t i = 0; i < n; ++i)
      to[i] = std::clamp(to[i], static_cast<int8_t>(bounds.low), static_cast<int8_t>(bounds.high));
  } else {
    simd::QuantizeRow(reals, y, n, &end.scale, &end.zero, 0);
    if (bounds.low <= 0 && bounds.high >= 255) return;
    for (int64_t i = 0; i < n; ++i)
      y[i] = std::clamp(y[i], static_cast<uint8_t>(bounds.low), static_cast<uint8_t>(bounds.high));
  }
}
inline void DequantizeBytes(const uint8_t* x, int64_t n, simd::ByteEnd end, bool is_signed, float* y) {
  if (is_signed) return simd::DequantizeRow(reinterpret_cast<const int8_t*>(x), y, n, &end.scale, &end.zero, 0);
  simd::DequantizeRow(x, y, n, &end.scale, &end.zero, 0);
}

}  // namespace epiphyte::cpu
