// What the products of quantised tensors share: their parameters, and the way from sums back to bytes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/qdq/integer_product.hpp"

#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/kernel/parameter.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/ops/quantized/byte_weights.h"
#include "plugins/cpu/ops/quantized/quantization.h"

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

// Scale or zero point `i` of a parameter that has one element for all or one for each: see ParameterPerItem.
inline float ParameterAt(const Tensor& parameter, int64_t i) {
  float value;
  LoadFloats(parameter, parameter.Count() == 1 ? 0 : i, 1, &value);
  return value;
}

// The factors of sums, by column as ByteWeights has it, in scratch memory. `w_scale`: one, or one for each column of each
// group.
inline const float* RequantizationFactors(OpContext& context, const ByteWeights& weights, float x_scale,
                                          const Tensor& w_scale, float y_scale) {
  const int64_t padded = weights.padded(), scales = w_scale.Count();
  const uint64_t bytes = static_cast<uint64_t>(weights.groups * padded) * sizeof(float);
  auto* const factors = static_cast<float*>(context.Scratch(bytes));
  const float* const each = ScaleFloats(context, w_scale);
  for (int64_t g = 0; g < weights.groups; ++g) {
    float* const to = factors + g * padded;
    for (int64_t c = 0; c < weights.columns; ++c) {
      const int64_t at = scales == 1 ? 0 : scales == weights.columns ? c : g * weights.columns + c;
      to[c] = kit::qdq::RequantizationFactor(x_scale, each[at], y_scale);
    }
    std::fill(to + weights.columns, to + padded, 0.0f);
  }
  return factors;
}

// Within which the kit's operators on bytes keep their result, by their attributes "low" and "high".
struct ResultBounds {
  int32_t low, high;
};
class BoundsAttributes {
 public:
  explicit BoundsAttributes(const ir::Node& node) {
    if (node.domain != kit::fuse::kDomain) return;
    low_ = node.Int("low", low_);
    high_ = node.Int("high", high_);
  }
  ResultBounds Of(ElementType type) const {
    const int64_t least = type == EP_TYPE_INT8 ? -128 : 0;
    const int64_t low = std::clamp(low_, least, least + 255);
    return {static_cast<int32_t>(low), static_cast<int32_t>(std::clamp(high_, low, least + 255))};
  }

 private:
  int64_t low_ = -128, high_ = 255;
};

}  // namespace epiphyte::cpu
