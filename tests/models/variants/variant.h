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
  onnx::ModelProto (*apply)(onnx::ModelProto model);  // throws std::invalid_argument for what can't be written so
  void (*input)(onnx::TensorProto* sample);           // makes an input of the model one of the variant; null: it is
  std::string_view values;                            // suffix of the variant with the same outputs, but for rounding
};

struct VariantName {
  std::string_view base;
  const Variant* variant;  // null: the model itself
};
VariantName SplitVariant(std::string_view name);

// Inputs and weights in float16, as a converter of types leaves them.
onnx::ModelProto ToFloat16(onnx::ModelProto model);
// A float tensor; others stay.
void MakeFloat16(onnx::TensorProto* tensor);
// The model as dynamic quantisation writes it. Conv and MatMul with constant weights become DynamicQuantizeLinear,
// ConvInteger or MatMulInteger, Cast and Mul. The int8 weights have one scale. Products of one value share its
// quantisation.
onnx::ModelProto ToDynamicInt8(onnx::ModelProto model);
// MatMul with constant weights as MatMulNBits of com.microsoft, symmetric, in blocks of 32 numbers of 4 bits.
onnx::ModelProto ToMatMulNBits(onnx::ModelProto model);
// The same numbers as an INT4 tensor with DequantizeLinear in blocks and MatMul, opset 21.
onnx::ModelProto ToBlockDequantized(onnx::ModelProto model);
// The model as exporters of 2019 wrote it, opset 9. Sum of two replaces Add, and AveragePool of the whole image
// replaces GlobalAveragePool. Attributes replace inputs that newer versions have. Means and variances of
// normalisations come from ConstantOfShape.
onnx::ModelProto ToOpset9(onnx::ModelProto model);
// The model as TensorFlow's exporter writes it: images with channels last, Pad in front of a Conv with a stride,
// "SAME" padding, Max and Min for Clip, ReduceMean for GlobalAveragePool, MatMul and Add for Gemm, matrix products
// between Reshapes, and layer normalisation that scales before it shifts.
onnx::ModelProto ToTensorFlow(onnx::ModelProto model);
void MakeChannelsLast(onnx::TensorProto* sample);

}  // namespace epiphyte::test
