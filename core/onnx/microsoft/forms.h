// What more than one family's bodies are made of.
#pragma once

#include "core/onnx/microsoft/body.h"

namespace epiphyte::core::microsoft {

// --- activations, on `type`
Name Gelu(Body& body, const Name& x, DataType type);      // exact
Name GeluTanh(Body& body, const Name& x, DataType type);  // the approximation
// By the name that fused operators give it, with their parameters; "" and "Identity": x.
Name Activation(Body& body, const Name& x, DataType type, const std::string& name,
                const std::vector<float>& parameters);

// --- normalisation of the last axis; the statistics are in float where `type` is shorter
struct Normalized {
  Name y, mean, inverse_deviation;  // the latter two keep the axis; only where they are asked for
};
// `bias` may be left out.
Normalized LayerNormalization(Body& body, const Name& x, const Name& scale, const Name& bias, float epsilon,
                              DataType type, bool statistics);
Normalized RmsNormalization(Body& body, const Name& x, const Name& scale, float epsilon, int64_t axis, DataType type,
                            bool statistics);

// --- quantisation
struct Quantization {
  Name scale, zero_point;  // the latter may be left out: 0
  DataType type = DataType::kUint8;
  // Of scales that are a vector, if `per_axis`.
  int64_t axis = 0;
  bool per_axis = false;
  // Only looked at where per_axis is true and the graph's opset has no operator that does it.
  size_t rank = 0;
};
// A float tensor.
Name Dequantize(Body& body, const Name& x, const Quantization& quantization);
Name Quantize(Body& body, const Name& x, const Quantization& quantization);
// Whether the model shows that an input is a vector of more than one element; for scales.
bool IsVector(const Body& body, size_t input);

// --- positions
// x [batch, heads, sequence, size] turned by cos and sin [batch or 1, sequence, rotary / 2].
struct Rotary {
  Name cos, sin;
  bool interleaved = false;
  int64_t size = 0;     // of a head; 0: not known
  int64_t rotary = 0;   // how much of it turns; 0: all
  bool batched = true;  // cos and sin are of each row of the batch, and not one for all
};
Name Rotate(Body& body, const Name& x, const Rotary& rotary);

}  // namespace epiphyte::core::microsoft
