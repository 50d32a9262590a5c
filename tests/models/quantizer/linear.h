// Linear quantisation as ONNX has it, real = (quantised - zero point) * scale, and how its parameters are chosen.
//
//   const Linear x = ChooseLinear({.low = -1, .high = 3}, {.type = onnx::TensorProto::UINT8});
//   const QuantizedWeights w = QuantizeWeights(floats, {64, 3, 7, 7}, /*axis=*/0, {});
//   const std::vector<int32_t> bias = QuantizeBias(bias_floats, x.scale, w.scales);
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <span>
#include <vector>

namespace epiphyte::test {

struct Range {
  double low = 0;
  double high = 0;
};

// Form of quantised activations: `symmetric` puts zero into the middle of the type.
struct ActivationForm {
  onnx::TensorProto::DataType type = onnx::TensorProto::UINT8;  // or INT8
  bool symmetric = false;
};

struct Linear {
  onnx::TensorProto::DataType type = onnx::TensorProto::UINT8;
  float scale = 1;
  int32_t zero_point = 0;

  int32_t lowest() const { return type == onnx::TensorProto::INT8 ? -128 : 0; }
  int32_t highest() const { return lowest() + 255; }
  // QuantizeLinear of one number: to the nearest, to even between two, saturated.
  int32_t Quantize(double real) const;
};

// Zero is always a quantised number, as padding needs it; where it is the end of the range, it is the end of the type,
// so that a Relu in front changes nothing.
Linear ChooseLinear(Range range, const ActivationForm& form);

// Symmetric int8, -127 to 127.
struct QuantizedWeights {
  std::vector<int8_t> numbers;
  std::vector<float> scales;  // one, or one for each index of the axis
};

// `axis` < 0: one scale. `least_scales`, if any, holds a number for each scale that it must not fall below (see
// LeastWeightScale).
QuantizedWeights QuantizeWeights(std::span<const float> weights, const std::vector<int64_t>& dims, int64_t axis,
                                 std::span<const float> least_scales);

// The smallest scale of weights with which a bias takes at most half of int32. The other half is left for the
// products.
float LeastWeightScale(float bias, float input_scale);

// The bias in steps of the input's scale times the weights' scale. There is one scale of weights, or one for each
// bias.
std::vector<int32_t> QuantizeBias(std::span<const float> bias, float input_scale, std::span<const float> weight_scales);

}  // namespace epiphyte::test
