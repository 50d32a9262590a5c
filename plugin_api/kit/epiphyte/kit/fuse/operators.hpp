// Operators of the kit: recognisers make them where ONNX has no operator with that meaning. Where ONNX has one (Gelu,
// LayerNormalization, Softmax, …), the recogniser makes that. A provider that calls a recogniser needs kernels for the
// operators that it makes.
//
//   for (const kit::ir::Node& node : graph.nodes)
//     if (node.domain == kit::fuse::kDomain && node.op_type == kit::fuse::kElementwise) …
//
// All have version 1. T is one float type in each node; "?" marks an optional input or output; broadcasting is ONNX's.
//
// Conv(X: T, W: T, B: T?, residual: T?) -> Y: T                                               (products.hpp)
//   ONNX's Conv with its attributes, then + residual, which has Y's shape, then the activation.
// MatMul(A: T, B: T, bias: T?, residual: T?) -> Y: T                                          (products.hpp)
//   ONNX's MatMul, then + bias, then + residual, then the activation. The last dimension of the bias is Y's, its others
//   are 1. The residual has Y's shape.
// Gemm(A: T, B: T, C: T?) -> Y: T                                                             (products.hpp)
//   ONNX's Gemm with its attributes, then the activation.
// BatchNormalization(X: T, scale, B, mean, var) -> Y: T                                       (products.hpp)
//   ONNX's BatchNormalization in inference, then the activation.
//   The activation is three attributes: "activation" (string; missing: no activation), "activation_alpha" and
//   "activation_beta" (floats): activation.hpp.
//
// ConvIntegerToFloat(x, w, x_zero_point?, w_zero_point?, x_scale: float, w_scale: float?, B: float?) -> y: float
//                                                                                          (integer_products.hpp)
//   ONNX's ConvInteger with its attributes, converted to float, times x_scale * w_scale, then + B. x_scale is one
//   number; w_scale is one number or has one for each filter; B has one for each filter.
// MatMulIntegerToFloat(A, B, a_zero_point?, b_zero_point?, a_scale: float, b_scale: float?, bias: float?) -> y: float
//   ONNX's MatMulInteger, then the same with columns instead of filters.
//
// Elementwise(x: T, …) -> y: T                                                     (elementwise.hpp)
//   A tree of element-wise operators on 1 to 32 inputs as a program: attributes "code" (ints), "parameters" (floats),
//   see elementwise_program.hpp.
//
// Attention(q: T, k: T, v: T, mask: T?, past_key: T?, past_value: T?) -> y: T, present_key: T?, present_value: T?
//   (attention.hpp) softmax(Q K * scale + mask) V. Q [batch, heads, queries, depth], K [batch, heads, depth, keys] and
//   V [batch, heads, keys, width] are views: dimension i of Q is dimension q_perm[i] of q. Attributes are q_perm,
//   k_perm, v_perm, y_perm (ints, four each) and "scale" (float). Dimension i of y is dimension y_perm[i] of the result
//   [batch, heads, queries, width]. A batch of 1 broadcasts. K and V may have fewer heads than Q; each then serves a
//   group of neighbouring heads. The mask broadcasts to [batch, heads, queries, keys]. past_key and past_value [batch,
//   kv_heads, past, depth or width] precede the keys and values; together they are present_key and present_value.
//
// SkipNormalization(x: T, skip: T, scale: T, bias: T?) -> y: T, sum: T?                       (skip_normalization.hpp)
//   sum = x + skip, which have the same shape. y is the LayerNormalization of sum, or its RMSNormalization if attribute
//   "rms" is 1. Attributes: "axis" (int), "epsilon" (float), "rms" (int).
//
// QLinearAveragePool(x: T) -> y: T, int8 or uint8                                            (quantized.hpp)
//   ONNX's AveragePool with its attributes on the dequantised x, quantised again; GlobalAveragePool if attribute
//   "global" is 1. Attributes "scales" (floats) and "zero_points" (ints) belong to x and y. y is clamped to the
//   attributes "low" and "high" (ints).
// QLinearConv(x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B: int32?) -> y
//   ONNX's QLinearConv with its attributes; y is clamped to "low" and "high" as above.
// QLinearElementwise(x: T, … at most two) -> y: T, int8 or uint8
//   One element-wise operator (a program of one instruction, as in Elementwise) on the dequantised inputs, quantised
//   again. "scales" and "zero_points" belong to each input and then to y; "low" and "high" as above. With one input the
//   program may have more instructions (byte_tables.hpp), and each result is quantised and dequantised. "scales" and
//   "zero_points" then belong to the input and to each result; the last result is y.
// QLinearLayerNormalization(x: T, scale: float, bias: float?) -> y: T, int8 or uint8
//   ONNX's LayerNormalization with its attributes on the dequantised x, quantised again; "scales", "zero_points", "low"
//   and "high" as in QLinearAveragePool.
// QLinearMatMul(a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point, bias: int32?) -> y
//   ONNX's QLinearMatMul with two additions. The matrix b is [n, k] if attribute "transB" is 1. The bias [n], in steps
//   of a_scale b_scale, is added to the sums. "low" and "high" as above.
// QLinearSoftmax(x: T) -> y: T, int8 or uint8
//   Softmax along the last axis of the dequantised x, quantised again; "scales", "zero_points", "low" and "high" as in
//   QLinearAveragePool.
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <string_view>

namespace epiphyte::kit::fuse {

inline constexpr std::string_view kDomain = "epiphyte.kit";
inline constexpr std::string_view kConvIntegerToFloat = "ConvIntegerToFloat";
inline constexpr std::string_view kElementwise = "Elementwise";
inline constexpr std::string_view kAttention = "Attention";
inline constexpr std::string_view kMatMulIntegerToFloat = "MatMulIntegerToFloat";
inline constexpr std::string_view kSkipNormalization = "SkipNormalization";
inline constexpr std::string_view kQLinearAveragePool = "QLinearAveragePool";
inline constexpr std::string_view kQLinearConv = "QLinearConv";
inline constexpr std::string_view kQLinearElementwise = "QLinearElementwise";
inline constexpr std::string_view kQLinearLayerNormalization = "QLinearLayerNormalization";
inline constexpr std::string_view kQLinearMatMul = "QLinearMatMul";
inline constexpr std::string_view kQLinearSoftmax = "QLinearSoftmax";

}  // namespace epiphyte::kit::fuse
