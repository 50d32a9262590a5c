// Common parts of quantized GEMMs and convolutions: their parameters, and the requantization of sums.
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

inline void RequireBytes(const Tensor& tensor, std::string_view what) {
  if (!Contains(kByteTypes, tensor.type)) {
    FailOp("{} is {}, expected int8 or uint8", what, TypeName(tensor.type));
  }
}

// Scale or zero point `i` of a parameter with one element for all, or one for each item: see ParameterPerItem.
inline float ParameterAt(const Tensor& parameter, int64_t i) {
  float value;
  LoadFloats(parameter, parameter.Count() == 1 ? 0 : i, 1, &value);
  return value;
}

// Requantization factors by column, in the order of ByteWeights, in scratch memory. `w_scale`: one, or one for each
// column of each group.
inline const float* RequantizationFactors(OpContext& context, const ByteWeights& weights, float x_scale,
                                          const Tensor& w_scale, float y_scale) {
  const int64_t padded = weights.padded(), scales = w_scale.Count();
  const uint64_t bytes = static_cast<uint64_t>(weights.groups * padded) * sizeof(float);
  auto* const factors = static_cast<float*>(context.Scratch(bytes));
  const float* const each = ScaleFloats(context, w_scale);
  const float first = scales == 1 ? kit::qdq::RequantizationFactor(x_scale, each[0], y_scale) : 0.0f;
  for (int64_t g = 0; g < weights.groups; ++g) {
    float* const to = factors + g * padded;
    if (scales == 1) std::fill_n(to, weights.columns, first);
    for (int64_t c = 0; scales != 1 && c < weights.columns; ++c) {
      const int64_t at = scales == weights.columns ? c : g * weights.columns + c;
      to[c] = kit::qdq::RequantizationFactor(x_scale, each[at], y_scale);
    }
    std::fill(to + weights.columns, to + padded, 0.0f);
  }
  return factors;
}

// Copies one number for each column of each group to the order of ByteWeights, in scratch memory.
inline float* NumbersByColumn(OpContext& context, const ByteWeights& weights, const float* each) {
  const int64_t padded = weights.padded();
  auto* const to = static_cast<float*>(context.Scratch(static_cast<uint64_t>(weights.groups * padded) * sizeof(float)));
  for (int64_t g = 0; g < weights.groups; ++g) {
    std::copy_n(each + g * weights.columns, weights.columns, to + g * padded);
    std::fill(to + g * padded + weights.columns, to + (g + 1) * padded, 0.0f);
  }
  return to;
}

// Inputs from `first` on of the kit's quantized operators with float results (epiphyte/kit/fuse/operators.hpp): left
// scale, right scales, bias. `columns`: of all groups; `per_group`: each group has all of them.
class FloatResult {
 public:
  FloatResult(OpContext& context, size_t first, int64_t columns, std::string_view item, bool per_group)
      : columns_(columns), per_group_(per_group) {
    scale_ = FloatParameter(context, first, "a_scale", Types(EP_TYPE_FLOAT));
    if (context.HasInput(first + 1))
      scales_ = &ParameterPerItem(context, first + 1, "b_scale", columns, item, Types(EP_TYPE_FLOAT));
    if (!context.HasInput(first + 2)) return;
    bias_ = &context.Input(first + 2);
    if (bias_->type != EP_TYPE_FLOAT || bias_->Count() != columns)
      FailOp("bias is {} of shape {}, expected float, one for each {}: {}", TypeName(bias_->type),
             ShapeText(bias_->dims), item, columns);
  }

  template <typename Output>
  void SetTo(OpContext& context, const ByteWeights& weights, Output& output) const {
    const int64_t count = weights.groups * weights.columns;
    auto* const each = static_cast<float*>(context.Scratch(static_cast<uint64_t>(count) * sizeof(float)));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = per_group_ ? i % columns_ : i;
      each[i] = scales_ == nullptr ? scale_ : scale_ * scales_->as<float>()[scales_->Count() == 1 ? 0 : at];
    }
    output.result = simd::ByteResult::kScaled;
    output.factor = NumbersByColumn(context, weights, each);
    if (bias_ == nullptr) return;
    for (int64_t i = 0; i < count; ++i) each[i] = bias_->as<float>()[per_group_ ? i % columns_ : i];
    output.bias = NumbersByColumn(context, weights, each);
  }

 private:
  int64_t columns_;
  bool per_group_;
  float scale_ = 1;
  const Tensor* scales_ = nullptr;
  const Tensor* bias_ = nullptr;
};

// Bounds of the results of the kit's byte operators, from their attributes "low" and "high".
struct ResultBounds {
  int32_t low, high;
};
class BoundsAttributes {
 public:
  BoundsAttributes() = default;  // no bounds
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
