// Building blocks for the bodies of several families.
#pragma once

#include "core/onnx/microsoft/body.h"

namespace epiphyte::core::microsoft {

// --- activations, computed in `type`
Name Gelu(Body& body, const Name& x, DataType type);      // exact form
Name GeluTanh(Body& body, const Name& x, DataType type);  // tanh approximation
// The activation with the name that fused operators use, with parameters. "" and "Identity" return x.
Name Activation(Body& body, const Name& x, DataType type, const std::string& name,
                const std::vector<float>& parameters);

// --- normalization over the last axis; statistics are float when `type` is shorter
struct Normalized {
  Name y, mean, inverse_deviation;  // mean and inverse_deviation keep the axis; only set if requested
};
// `bias` may be omitted.
Normalized LayerNormalization(Body& body, const Name& x, const Name& scale, const Name& bias, float epsilon,
                              DataType type, bool statistics);
Normalized RmsNormalization(Body& body, const Name& x, const Name& scale, float epsilon, int64_t axis, DataType type,
                            bool statistics);

// --- quantization
struct Quantization {
  Name scale, zero_point;  // zero_point may be omitted: 0
  DataType type = DataType::kUint8;
  // Axis of vector scales; used only if `per_axis`.
  int64_t axis = 0;
  bool per_axis = false;
  // Rank of the tensor. Used only if per_axis is true and no operator of the graph's opset supports that.
  size_t rank = 0;
};
// Returns a float tensor.
Name Dequantize(Body& body, const Name& x, const Quantization& quantization);
Name Quantize(Body& body, const Name& x, const Quantization& quantization);
// Whether a scale input is known to be a vector with more than one element.
bool IsVector(const Body& body, size_t input);

// --- positions
// Applies a rotary embedding to x [batch, heads, sequence, size] with cos and sin [batch or 1, sequence, rotary / 2].
struct Rotary {
  Name cos, sin;
  bool interleaved = false;
  int64_t size = 0;     // head size; 0: unknown
  int64_t rotary = 0;   // number of rotated elements of a head; 0: all
  bool batched = true;  // cos and sin differ between rows of the batch
};
Name Rotate(Body& body, const Name& x, const Rotary& rotary);

}  // namespace epiphyte::core::microsoft
