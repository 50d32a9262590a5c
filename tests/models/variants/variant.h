// Variants of the generated models: other types and other spellings, as tools and exporters write them.
//
//   const auto [base, variant] = SplitVariant("unet_f16");   // "unet", float16
//   onnx::ModelProto model = variant->apply(BuildUnet());
#pragma once

#include <onnx/onnx_pb.h>

#include <string_view>

namespace epiphyte::test {

struct Variant {
  std::string_view suffix;
  onnx::ModelProto (*apply)(onnx::ModelProto model);  // throws std::invalid_argument if the variant is impossible
  void (*input)(onnx::TensorProto* sample);  // turns a sample of the model into one of the variant; null: unchanged
  std::string_view values;                   // suffix of the variant with the same outputs, except for rounding
};

struct VariantName {
  std::string_view base;
  const Variant* variant;  // null for the model itself
};
VariantName SplitVariant(std::string_view name);

// Returns the model with inputs and weights in float16, as type converters write it.
onnx::ModelProto ToFloat16(onnx::ModelProto model);
// Converts a float tensor; leaves others unchanged.
void MakeFloat16(onnx::TensorProto* tensor);
// Returns the model as dynamic quantization writes it. Conv and MatMul with constant weights become
// DynamicQuantizeLinear, ConvInteger or MatMulInteger, Cast and Mul. The int8 weights have one scale. Products that
// read the same value share its quantization.
onnx::ModelProto ToDynamicInt8(onnx::ModelProto model);
// Writes each MatMul with constant weights as MatMulNBits of com.microsoft: symmetric, in blocks of 32 numbers of 4
// bits.
onnx::ModelProto ToMatMulNBits(onnx::ModelProto model);
// Writes the same numbers as an INT4 tensor with DequantizeLinear in blocks and MatMul, in opset 21.
onnx::ModelProto ToBlockDequantized(onnx::ModelProto model);
// Returns the model as exporters of 2019 wrote it, in opset 9. Sum of two replaces Add, and AveragePool of the whole
// image replaces GlobalAveragePool. Attributes replace inputs that newer versions have. Means and variances of
// normalizations come from ConstantOfShape.
onnx::ModelProto ToOpset9(onnx::ModelProto model);
// Returns the model as TensorFlow's exporter writes it: images with channels last, Pad in front of a Conv with a
// stride, "SAME" padding, Max and Min for Clip, ReduceMean for GlobalAveragePool, MatMul and Add for Gemm, matrix
// products between Reshapes, and layer normalization that scales before it shifts.
onnx::ModelProto ToTensorFlow(onnx::ModelProto model);
void MakeChannelsLast(onnx::TensorProto* sample);

}  // namespace epiphyte::test
