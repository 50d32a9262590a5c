// The kit's own operators: what recognisers make where ONNX has none that says the same. A provider that calls a
// recogniser has kernels for what it makes; where ONNX has an operator (Gelu, LayerNormalization, Softmax, …), that one
// is made.
//
//   for (const kit::ir::Node& node : graph.nodes)
//     if (node.domain == kit::fuse::kDomain && node.op_type == kit::fuse::kElementwise) …
//
// All are of version 1. T is one float type in each node; "?" may be left out; broadcasting is ONNX's.
//
// Conv(X: T, W: T, B: T?, residual: T?) -> Y: T                                               (products.hpp)
//   ONNX's Conv with its attributes, then + residual, which has Y's shape, then the activation.
// MatMul(A: T, B: T, bias: T?, residual: T?) -> Y: T                                          (products.hpp)
//   ONNX's MatMul, then + bias, whose last dimension is Y's and whose others are 1, then + residual, which has Y's
//   shape, then the activation.
// Gemm(A: T, B: T, C: T?) -> Y: T                                                             (products.hpp)
//   ONNX's Gemm with its attributes, then the activation.
// BatchNormalization(X: T, scale, B, mean, var) -> Y: T                                       (products.hpp)
//   ONNX's BatchNormalization in inference, then the activation.
//   The activation is three attributes: "activation" (string; none when it isn't there), "activation_alpha" and
//   "activation_beta" (floats): activation.hpp.
//
// ConvIntegerToFloat(x, w, x_zero_point?, w_zero_point?, x_scale: float, w_scale: float?, B: float?) -> y: float
//                                                                                          (integer_products.hpp)
//   ONNX's ConvInteger with its attributes, then as a float times x_scale * w_scale, of which the first is one number
//   and the second one, or one for each filter; then + B, which has one for each filter.
// MatMulIntegerToFloat(A, B, a_zero_point?, b_zero_point?, a_scale: float, b_scale: float?, bias: float?) -> y: float
//   ONNX's MatMulInteger, then the same by columns.
//
// Elementwise(x: T, …) -> y: T                                                     (elementwise.hpp)
//   A tree of element-wise operators on 1 to 32 inputs as a program: attributes "code" (ints), "parameters" (floats),
//   see elementwise_program.hpp.
//
// Attention(q: T, k: T, v: T, mask: T?, past_key: T?, past_value: T?) -> y: T, present_key: T?, present_value: T?
//   (attention.hpp) softmax(Q K * scale + mask) V, where Q [batch, heads, queries, depth], K [batch, heads, depth,
//   keys] and V [batch, heads, keys, width] are views: dimension i of Q is dimension q_perm[i] of q. Attributes q_perm,
//   k_perm, v_perm (ints, four each), and y_perm: dimension i of y is dimension y_perm[i] of the result [batch, heads,
//   queries, width]. "scale" (float). A batch of 1 goes with any; K and V may have fewer heads than Q, each for a group
//   of neighbours. The mask broadcasts to [batch, heads, queries, keys]. past_key and past_value [batch, kv_heads,
//   past, depth or width] stand before the keys and values; the two together are present_key and present_value.
//
// SkipNormalization(x: T, skip: T, scale: T, bias: T?) -> y: T, sum: T?                       (skip_normalization.hpp)
//   sum = x + skip, which have one shape, and y = its normalisation: LayerNormalization, or with attribute "rms" of 1
//   RMSNormalization. Attributes "axis" (int), "epsilon" (float), "rms" (int).
//
// QLinearAveragePool(x: T) -> y: T, int8 or uint8                                            (quantized.hpp)
//   ONNX's AveragePool with its attributes, or with attribute "global" of 1 its GlobalAveragePool, on what x is
//   dequantised to, quantised again: attributes "scales" (floats) and "zero_points" (ints) of x and y; y is kept within
//   the attributes "low" and "high" (ints).
// QLinearConv(x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B: int32?) -> y
//   ONNX's QLinearConv with its attributes, whose y is kept within "low" and "high" as above.
// QLinearElementwise(x: T, … at most two) -> y: T, int8 or uint8
//   One element-wise operator (a program of one instruction, as Elementwise has) on what the inputs are dequantised to,
//   quantised again: "scales" and "zero_points" of each input and then of y; "low" and "high" as above. On one input
//   the program may have more instructions (byte_tables.hpp), whose results are quantised and dequantised, too:
//   "scales" and "zero_points" of the input, then of each result, of which the last is y.
// QLinearLayerNormalization(x: T, scale: float, bias: float?) -> y: T, int8 or uint8
//   ONNX's LayerNormalization with its attributes on what x is dequantised to, quantised again: "scales",
//   "zero_points", "low" and "high" as of QLinearAveragePool.
// QLinearMatMul(a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point, bias: int32?) -> y
//   ONNX's QLinearMatMul, where the matrix b is [n, k] with attribute "transB" of 1, and the bias [n] is added to the
//   sums, in steps of a_scale b_scale; then "low" and "high" as above.
// QLinearSoftmax(x: T) -> y: T, int8 or uint8
//   Softmax along the last axis of what x is dequantised to, quantised again: "scales", "zero_points", "low" and "high"
//   as of QLinearAveragePool.
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
