// Linear quantization as in ONNX, real = (quantized - zero point) * scale, and the choice of its parameters.
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

// Form of quantized activations. `symmetric`: the zero point is in the middle of the type.
struct ActivationForm {
  onnx::TensorProto::DataType type = onnx::TensorProto::UINT8;  // UINT8 or INT8
  bool symmetric = false;
};

struct Linear {
  onnx::TensorProto::DataType type = onnx::TensorProto::UINT8;
  float scale = 1;
  int32_t zero_point = 0;

  int32_t lowest() const { return type == onnx::TensorProto::INT8 ? -128 : 0; }
  int32_t highest() const { return lowest() + 255; }
  // QuantizeLinear of one number: rounds to the nearest number, ties to even, and saturates.
  int32_t Quantize(double real) const;
};

// Zero is always a quantized number, because padding needs it. If zero is a bound of the range, it becomes a bound of
// the type, so that a Relu in front changes nothing.
Linear ChooseLinear(Range range, const ActivationForm& form);

// Symmetric int8 weights, from -127 to 127.
struct QuantizedWeights {
  std::vector<int8_t> numbers;
  std::vector<float> scales;  // one scale, or one for each index of the axis
};

// `axis` < 0: one scale for the tensor. `least_scales`: a lower bound for each scale (see LeastWeightScale), or empty.
QuantizedWeights QuantizeWeights(std::span<const float> weights, const std::vector<int64_t>& dims, int64_t axis,
                                 std::span<const float> least_scales);

// Returns the smallest scale of weights for which a bias takes at most half of int32. The other half is left for the
// products.
float LeastWeightScale(float bias, float input_scale);

// Returns the bias in units of the input's scale times the weights' scale. There is one scale of weights, or one for
// each element of the bias.
std::vector<int32_t> QuantizeBias(std::span<const float> bias, float input_scale, std::span<const float> weight_scales);

}  // namespace epiphyte::test
