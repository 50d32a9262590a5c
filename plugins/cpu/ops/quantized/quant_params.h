// Quantization parameters (scale and zero point) of the kit's operators on 8-bit tensors, from the attributes `scales`
// and `zero_points` (epiphyte/kit/fuse/operators.hpp).
#pragma once

#include <vector>

#include "plugins/cpu/ops/quantized/integer_product.h"
#include "plugins/cpu/simd/convert/quantize.h"
#include "plugins/cpu/simd/window/byte_rows.h"

namespace epiphyte::cpu {

// Returns the parameters of `operands` operands, then of y. Throws kit::Error(EP_STATUS_INVALID_GRAPH) for another
// number.
inline std::vector<simd::QuantParams> ReadQuantParams(const ir::Node& node, size_t operands) {
  const auto& scales = node.Floats("scales");
  const auto& zeros = node.Ints("zero_points");
  if (scales.size() != operands + 1 || zeros.size() != operands + 1)
    throw kit::Error(EP_STATUS_INVALID_GRAPH, FormatText("it has {} scales and {} zero points, {} of each expected",
                                                         scales.size(), zeros.size(), operands + 1));
  std::vector<simd::QuantParams> quant_params;
  for (size_t i = 0; i <= operands; ++i) quant_params.push_back({scales[i], static_cast<float>(zeros[i])});
  return quant_params;
}

// Quantizes real numbers to bytes by `params`, clamped to the bounds. `reals` is overwritten.
inline void QuantizeClamped(float* reals, int64_t n, simd::QuantParams params, ResultBounds bounds, bool is_signed,
                            uint8_t* y) {
  if (is_signed) {
    auto* const to = reinterpret_cast<int8_t*>(y);
    simd::QuantizeRow(reals, to, n, &params.scale, &params.zero, 0);
    if (bounds.low <= -128 && bounds.high >= 127) return;
    for (int64_t i = 0; i < n; ++i)
      to[i] = std::clamp(to[i], static_cast<int8_t>(bounds.low), static_cast<int8_t>(bounds.high));
  } else {
    simd::QuantizeRow(reals, y, n, &params.scale, &params.zero, 0);
    if (bounds.low <= 0 && bounds.high >= 255) return;
    for (int64_t i = 0; i < n; ++i)
      y[i] = std::clamp(y[i], static_cast<uint8_t>(bounds.low), static_cast<uint8_t>(bounds.high));
  }
}
inline void DequantizeBytes(const uint8_t* x, int64_t n, simd::QuantParams params, bool is_signed, float* y) {
  if (is_signed) return simd::DequantizeRow(reinterpret_cast<const int8_t*>(x), y, n, &params.scale, &params.zero, 0);
  simd::DequantizeRow(x, y, n, &params.scale, &params.zero, 0);
}

}  // namespace epiphyte::cpu
