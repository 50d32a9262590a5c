// Operators that form QDQ units: each kind of operator in each situation, compared with golden texts.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/plugin_api/qdq/unit_text.h"

namespace epiphyte::test {
namespace {

struct Row {
  const char* name;
  const char* op;       // operator with version and attributes
  const char* inputs;   // kinds as in qdq::Input: x numbers, w weights, b bias, o and v constants, p parameters
  const char* outputs;  // y: quantized, n: not
  int weight_axis;      // axis of the weights' scales if there are several
  const char* expected;
};

constexpr Row kRows[] = {
    {"Moves", "Reshape@14", "xp", "y", 0,
     "plain: Reshape(x0, _) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: Reshape(x0, _) -> r0\n"
     "shared DQ: Reshape(x0, _) -> r0b, shares x0\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: none: its output 0 'y0' is quantised with another scale or zero point than its input, and Reshape "
     "only moves elements\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: Reshape(x0, _) | Clip [0, 255] -> r0\n"
     "relu: none: Relu 'k0', which reads its output, changes numbers: 128 to 255 are left of 0 to 255\n"
     "per axis: none: its input 0 'x0' has several scales, along axis 0; one expected\n"
     "not dequantised: none: its input 0 'x0' isn't dequantised\n"},
    {"MovesPools", "MaxPool@12<kernel_shape=[2,2]>", "x", "y", 0,
     "plain: MaxPool(x0) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: MaxPool(x0) -> r0\n"
     "shared DQ: MaxPool(x0) -> r0b, shares x0\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: none: its output 0 'y0' is quantised with another scale or zero point than its input, and MaxPool "
     "only moves elements\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: MaxPool(x0) | Clip [0, 255] -> r0\n"
     "relu: none: Relu 'k0', which reads its output, changes numbers: 128 to 255 are left of 0 to 255\n"
     "per axis: none: its input 0 'x0' has several scales, along axis 0; one expected\n"
     "not dequantised: none: its input 0 'x0' isn't dequantised\n"},
    {"Picks", "ArgMax@13", "x", "n", 0,
     "plain: ArgMax(x0) -> _\n"
     "graph output: ArgMax(x0) -> _\n"
     "shared DQ: ArgMax(x0) -> _\n"
     "shared DQ: ArgMax(x0) -> _, shares x0\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: ArgMax(x0) -> _\n"
     "per axis: none: its input 0 'x0' has several scales, along axis 0; one expected\n"
     "not dequantised: none: its input 0 'x0' isn't dequantised\n"},
    {"Unary", "Sigmoid@13", "x", "y", 0,
     "plain: Sigmoid(x0) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: Sigmoid(x0) -> r0\n"
     "shared DQ: Sigmoid(x0) -> r0b, shares x0\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: Sigmoid(x0) -> r0\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: Sigmoid(x0) | Clip [0, 255] -> r0\n"
     "relu: Sigmoid(x0) | Relu [128, 255] -> r0\n"
     "per axis: none: its input 0 'x0' has several scales, along axis 0; one expected\n"
     "not dequantised: none: its input 0 'x0' isn't dequantised\n"},
    {"Clip", "Clip@13", "xoo", "y", 0,
     "plain: Clip(x0, _, _) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: Clip(x0, _, _) -> r0\n"
     "shared DQ: Clip(x0, _, _) -> r0b, shares x0\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: Clip(x0, _, _) -> r0\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: Clip(x0, _, _) | Clip [0, 255] -> r0\n"
     "relu: Clip(x0, _, _) | Relu [128, 255] -> r0\n"
     "per axis: none: its input 0 'x0' has several scales, along axis 0; one expected\n"
     "not dequantised: none: its input 0 'x0' isn't dequantised\n"},
    {"Binary", "Add@14", "xx", "y", 0,
     "plain: Add(x0, x1) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: Add(x0, x1) -> r0\n"
     "shared DQ: Add(x0, x1) -> r0b, shares x0, x1\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: Add(x0, x1) -> r0\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: Add(x0, x1) | Clip [0, 255] -> r0\n"
     "relu: Add(x0, x1) | Relu [128, 255] -> r0\n"
     "per axis: none: its input 0 'x0' has several scales, along axis 0; one expected\n"
     "not dequantised: none: its input 1 'x1' isn't dequantised\n"},
    {"Variadic", "Concat@13<axis=0>", "xxx", "y", 0,
     "plain: Concat(x0, x1, x2) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: Concat(x0, x1, x2) -> r0\n"
     "shared DQ: Concat(x0, x1, x2) -> r0b, shares x0, x1, x2\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: Concat(x0, x1, x2) -> r0\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: Concat(x0, x1, x2) | Clip [0, 255] -> r0\n"
     "relu: Concat(x0, x1, x2) | Relu [128, 255] -> r0\n"
     "per axis: none: its input 0 'x0' has several scales, along axis 0; one expected\n"
     "not dequantised: none: its input 2 'x2' isn't dequantised\n"},
    {"Split", "Split@13", "xp", "yy", 0,
     "plain: Split(x0, _) -> r0, r1\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: Split(x0, _) -> r0, r1\n"
     "shared DQ: Split(x0, _) -> r0b, r1b, shares x0\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: Split(x0, _) -> r0, r1\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: none: its output 0 'y0' is read by Clip 'k0', expected a QuantizeLinear\n"
     "relu: none: its output 0 'y0' is read by Relu 'k0', expected a QuantizeLinear\n"
     "per axis: none: its input 0 'x0' has several scales, along axis 0; one expected\n"
     "not dequantised: none: its input 0 'x0' isn't dequantised\n"},
    {"Conv", "Conv@11", "xwb", "y", 0,
     "plain: Conv(x0, x1, x2) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: Conv(x0, x1, x2) -> r0\n"
     "shared DQ: Conv(x0, x1, x2) -> r0b, shares x0, x1, x2\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: Conv(x0, x1, x2) -> r0\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: Conv(x0, x1, x2) | Clip [0, 255] -> r0\n"
     "relu: Conv(x0, x1, x2) | Relu [128, 255] -> r0\n"
     "float bias: Conv(x0, x1, _) -> r0\n"
     "per axis: Conv(x0, x1, x2) -> r0\n"
     "not dequantised: none: its input 1 'x1' isn't dequantised\n"},
    {"ConvTranspose", "ConvTranspose@11", "xwb", "y", 1,
     "plain: ConvTranspose(x0, x1, x2) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: ConvTranspose(x0, x1, x2) -> r0\n"
     "shared DQ: ConvTranspose(x0, x1, x2) -> r0b, shares x0, x1, x2\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: ConvTranspose(x0, x1, x2) -> r0\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: ConvTranspose(x0, x1, x2) | Clip [0, 255] -> r0\n"
     "relu: ConvTranspose(x0, x1, x2) | Relu [128, 255] -> r0\n"
     "float bias: ConvTranspose(x0, x1, _) -> r0\n"
     "per axis: ConvTranspose(x0, x1, x2) -> r0\n"
     "not dequantised: none: its input 1 'x1' isn't dequantised\n"},
    {"MatMul", "MatMul@13", "xw", "y", 1,
     "plain: MatMul(x0, x1) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: MatMul(x0, x1) -> r0\n"
     "shared DQ: MatMul(x0, x1) -> r0b, shares x0, x1\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: MatMul(x0, x1) -> r0\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: MatMul(x0, x1) | Clip [0, 255] -> r0\n"
     "relu: MatMul(x0, x1) | Relu [128, 255] -> r0\n"
     "per axis: MatMul(x0, x1) -> r0\n"
     "not dequantised: none: its input 1 'x1' isn't dequantised\n"},
    {"Gemm", "Gemm@13", "xwb", "y", 1,
     "plain: Gemm(x0, x1, x2) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: Gemm(x0, x1, x2) -> r0\n"
     "shared DQ: Gemm(x0, x1, x2) -> r0b, shares x0, x1, x2\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: Gemm(x0, x1, x2) -> r0\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: Gemm(x0, x1, x2) | Clip [0, 255] -> r0\n"
     "relu: Gemm(x0, x1, x2) | Relu [128, 255] -> r0\n"
     "float bias: Gemm(x0, x1, _) -> r0\n"
     "per axis: Gemm(x0, x1, x2) -> r0\n"
     "not dequantised: none: its input 1 'x1' isn't dequantised\n"},
    {"InstanceNormalization", "InstanceNormalization@6", "xwb", "y", 1,
     "plain: InstanceNormalization(x0, x1, x2) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: InstanceNormalization(x0, x1, x2) -> r0\n"
     "shared DQ: InstanceNormalization(x0, x1, x2) -> r0b, shares x0, x1, x2\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: InstanceNormalization(x0, x1, x2) -> r0\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: InstanceNormalization(x0, x1, x2) | Clip [0, 255] -> r0\n"
     "relu: InstanceNormalization(x0, x1, x2) | Relu [128, 255] -> r0\n"
     "float bias: InstanceNormalization(x0, x1, _) -> r0\n"
     "per axis: InstanceNormalization(x0, x1, x2) -> r0\n"
     "not dequantised: none: its input 1 'x1' isn't dequantised\n"},
    {"LayerNormalization", "LayerNormalization@17", "xwb", "y", 1,
     "plain: LayerNormalization(x0, x1, x2) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: LayerNormalization(x0, x1, x2) -> r0\n"
     "shared DQ: LayerNormalization(x0, x1, x2) -> r0b, shares x0, x1, x2\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: LayerNormalization(x0, x1, x2) -> r0\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: LayerNormalization(x0, x1, x2) | Clip [0, 255] -> r0\n"
     "relu: LayerNormalization(x0, x1, x2) | Relu [128, 255] -> r0\n"
     "float bias: LayerNormalization(x0, x1, _) -> r0\n"
     "per axis: LayerNormalization(x0, x1, x2) -> r0\n"
     "not dequantised: none: its input 1 'x1' isn't dequantised\n"},
    {"BatchNormalization", "BatchNormalization@15", "xwooo", "y", 1,
     "plain: BatchNormalization(x0, x1, _, _, _) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: BatchNormalization(x0, x1, _, _, _) -> r0\n"
     "shared DQ: BatchNormalization(x0, x1, _, _, _) -> r0b, shares x0, x1\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: BatchNormalization(x0, x1, _, _, _) -> r0\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: BatchNormalization(x0, x1, _, _, _) | Clip [0, 255] -> r0\n"
     "relu: BatchNormalization(x0, x1, _, _, _) | Relu [128, 255] -> r0\n"
     "per axis: BatchNormalization(x0, x1, _, _, _) -> r0\n"
     "not dequantised: none: its input 1 'x1' isn't dequantised\n"},
    {"RmsNormalization", "RMSNormalization@23", "xw", "y", 1,
     "plain: RMSNormalization(x0, x1) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: RMSNormalization(x0, x1) -> r0\n"
     "shared DQ: RMSNormalization(x0, x1) -> r0b, shares x0, x1\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: RMSNormalization(x0, x1) -> r0\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: RMSNormalization(x0, x1) | Clip [0, 255] -> r0\n"
     "relu: RMSNormalization(x0, x1) | Relu [128, 255] -> r0\n"
     "per axis: RMSNormalization(x0, x1) -> r0\n"
     "not dequantised: none: its input 1 'x1' isn't dequantised\n"},
    {"Where", "Where@16", "pxx", "y", 0,
     "plain: Where(_, x1, x2) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: Where(_, x1, x2) -> r0\n"
     "shared DQ: Where(_, x1, x2) -> r0b, shares x1, x2\n"
     "DQ read outside: none: DequantizeLinear 'x1', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: Where(_, x1, x2) -> r0\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: Where(_, x1, x2) | Clip [0, 255] -> r0\n"
     "relu: Where(_, x1, x2) | Relu [128, 255] -> r0\n"
     "per axis: none: its input 1 'x1' has several scales, along axis 0; one expected\n"
     "not dequantised: none: its input 2 'x2' isn't dequantised\n"},
    {"Pad", "Pad@13", "xpv", "y", 0,
     "plain: Pad(x0, _, _) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: Pad(x0, _, _) -> r0\n"
     "shared DQ: Pad(x0, _, _) -> r0b, shares x0\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: Pad(x0, _, _) -> r0\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: Pad(x0, _, _) | Clip [0, 255] -> r0\n"
     "relu: Pad(x0, _, _) | Relu [128, 255] -> r0\n"
     "per axis: none: its input 0 'x0' has several scales, along axis 0; one expected\n"
     "not dequantised: none: its input 0 'x0' isn't dequantised\n"},
    {"TopK", "TopK@11", "xp", "yn", 0,
     "plain: TopK(x0, _) -> r0, _\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: TopK(x0, _) -> r0, _\n"
     "shared DQ: TopK(x0, _) -> r0b, _, shares x0\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: none: its output 0 'y0' is quantised with another scale or zero point than its input, and TopK only "
     "moves elements\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: none: its output 0 'y0' is read by Clip 'k0', expected a QuantizeLinear\n"
     "relu: none: its output 0 'y0' is read by Relu 'k0', expected a QuantizeLinear\n"
     "per axis: none: its input 0 'x0' has several scales, along axis 0; one expected\n"
     "not dequantised: none: its input 0 'x0' isn't dequantised\n"},
    {"CumSum", "CumSum@14", "xp", "y", 0,
     "plain: CumSum(x0, _) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: CumSum(x0, _) -> r0\n"
     "shared DQ: CumSum(x0, _) -> r0b, shares x0\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: CumSum(x0, _) -> r0\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: CumSum(x0, _) | Clip [0, 255] -> r0\n"
     "relu: CumSum(x0, _) | Relu [128, 255] -> r0\n"
     "per axis: none: its input 0 'x0' has several scales, along axis 0; one expected\n"
     "not dequantised: none: its input 0 'x0' isn't dequantised\n"},
    {"ScatterElements", "ScatterElements@18<axis=0>", "xpx", "y", 0,
     "plain: ScatterElements(x0, _, x2) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: ScatterElements(x0, _, x2) -> r0\n"
     "shared DQ: ScatterElements(x0, _, x2) -> r0b, shares x0, x2\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: ScatterElements(x0, _, x2) -> r0\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: ScatterElements(x0, _, x2) | Clip [0, 255] -> r0\n"
     "relu: ScatterElements(x0, _, x2) | Relu [128, 255] -> r0\n"
     "per axis: none: its input 0 'x0' has several scales, along axis 0; one expected\n"
     "not dequantised: none: its input 2 'x2' isn't dequantised\n"},
    {"Einsum", "Einsum@12<equation=\"ij,jk->ik\">", "xw", "y", 0,
     "plain: Einsum(x0, x1) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: Einsum(x0, x1) -> r0\n"
     "shared DQ: Einsum(x0, x1) -> r0b, shares x0, x1\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: Einsum(x0, x1) -> r0\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: Einsum(x0, x1) | Clip [0, 255] -> r0\n"
     "relu: Einsum(x0, x1) | Relu [128, 255] -> r0\n"
     "per axis: none: its input 1 'x1' has several scales, along axis 0; one expected\n"
     "not dequantised: none: its input 1 'x1' isn't dequantised\n"},
    {"Reciprocal", "Reciprocal@13", "x", "y", 0,
     "plain: Reciprocal(x0) -> r0\n"
     "graph output: none: its output 0 'y0' is an output of the graph, in float\n"
     "shared DQ: Reciprocal(x0) -> r0\n"
     "shared DQ: Reciprocal(x0) -> r0b, shares x0\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: none: its output 0 'y0' has 2 readers, expected one QuantizeLinear\n"
     "other scale: Reciprocal(x0) -> r0\n"
     "other type: none: its output 0 'y0' is quantised to int8, its input to uint8\n"
     "redundant clip: Reciprocal(x0) | Clip [0, 255] -> r0\n"
     "relu: Reciprocal(x0) | Relu [128, 255] -> r0\n"
     "per axis: none: its input 0 'x0' has several scales, along axis 0; one expected\n"
     "not dequantised: none: its input 0 'x0' isn't dequantised\n"},
    {"Compares", "Greater@13", "xx", "n", 0,
     "plain: Greater(x0, x1) -> _\n"
     "graph output: Greater(x0, x1) -> _\n"
     "shared DQ: Greater(x0, x1) -> _\n"
     "shared DQ: Greater(x0, x1) -> _, shares x0, x1\n"
     "DQ read outside: none: DequantizeLinear 'x0', which it reads, is read by Foo 'f', too, which is in no QDQ unit\n"
     "several consumers: Greater(x0, x1) -> _\n"
     "per axis: none: its input 0 'x0' has several scales, along axis 0; one expected\n"
     "not dequantised: none: its input 1 'x1' isn't dequantised\n"},
};

// One operator with all its operands, in one situation.
class Situation {
 public:
  Situation(const Row& row, std::string_view name) : row_(row), name_(name) {}

  // Returns false if the situation doesn't exist for this operator.
  bool Makes() const {
    const std::string_view inputs = row_.inputs;
    if (name_ == "float bias") return inputs.find('b') != std::string_view::npos;
    if (name_ == "other scale" || name_ == "other type" || name_ == "redundant clip" || name_ == "relu")
      return row_.outputs[0] == 'y';
    return true;
  }

  std::string Text() const {
    std::string text =
        "const s: float[] = [0.5]\n"
        "const s_other: float[] = [0.25]\n"
        "const s_axis: float[4] = [0.5, 0.25, 0.125, 1]\n"
        "const z: uint8[] = [128]\n"
        "const z_axis: uint8[4] = [128, 128, 128, 128]\n"
        "const z_signed: int8[] = [0]\n"
        "const low: float[] = [-1000]\n"
        "const high: float[] = [1000]\n";
    for (size_t i = 0; i < InputCount(); ++i) text += Input(i);
    std::string nodes = Operator("");
    if (name_ == "shared DQ") nodes += Operator("b");
    if (name_ == "DQ read outside") nodes += "f = Foo(x" + std::to_string(First('x')) + ")\nout f\n";
    if (name_ == "several consumers") nodes += "f = Foo(y0)\nout f\n";
    if (name_ == "graph output" && row_.outputs[0] == 'y') nodes += "out y0\n";
    return text + nodes;
  }

 private:
  size_t InputCount() const { return std::string_view(row_.inputs).size(); }
  size_t First(char letter) const { return std::string_view(row_.inputs).find(letter); }
  size_t LastOfNumbers() const { return std::string_view(row_.inputs).find_last_of("xw"); }

  // Returns the statements that make an operator's input; inputs are named `x0` and so on.
  std::string Input(size_t i) const {
    const std::string n = std::to_string(i);
    const bool is_weights = row_.inputs[i] == 'w';
    const bool has_axis = name_ == "per axis" && i == (First('w') < InputCount() ? First('w') : First('x'));
    if (name_ == "not dequantised" && i == LastOfNumbers()) return "in x" + n + ": float[4,4]\n";
    switch (row_.inputs[i]) {
      case 'p': return "in x" + n + ": int64[4]\n";
      case 'o':
      case 'v': return "const x" + n + ": float[] = [3]\n";
      case 'b':
        if (name_ == "float bias") return "const x" + n + ": float[4] = [1, 2, 3, 4]\n";
        return "const q" + n + ": int32[4] = [1, 2, 3, 4]\nx" + n + " = DequantizeLinear@13(q" + n +
               ", s_other) : float[4]\n";
      default: break;
    }
    const std::string q = is_weights ? "const q" + n + ": int8[4,4] = …\n" : "in q" + n + ": uint8[4,4]\n";
    const std::string axis = has_axis ? "<axis=" + std::to_string(is_weights ? row_.weight_axis : 0) + ">" : "";
    const std::string scales =
        has_axis ? (is_weights ? ", s_axis" : ", s_axis, z_axis") : (is_weights ? ", s" : ", s, z");
    return q + "x" + n + " = DequantizeLinear@13" + axis + "(q" + n + scales + ") : float[4,4]\n";
  }

  // Returns the operator and the nodes after it. Names of its values end in `suffix`.
  std::string Operator(const std::string& suffix) const {
    std::string inputs;
    for (size_t i = 0; i < InputCount(); ++i) inputs += (i == 0 ? "x" : ", x") + std::to_string(i);
    std::string outputs;
    std::string types;
    std::string behind;
    const std::string_view letters = row_.outputs;
    for (size_t i = 0; i < letters.size(); ++i) {
      const std::string n = std::to_string(i) + suffix;
      outputs += (i == 0 ? "y" : ", y") + n;
      types += i == 0 ? "" : ", ";
      types += letters[i] == 'y' ? "float[4,4]" : "?";
      behind += letters[i] == 'y' ? Behind(n, i == 0) : "out y" + n + "\n";
    }
    return outputs + " = " + row_.op + "(" + inputs + ") : " + types + "\n" + behind;
  }

  std::string Behind(const std::string& n, bool is_first) const {
    std::string text;
    std::string from = "y" + n;
    if (is_first && name_ == "redundant clip") text = "k" + n + " = Clip@13(" + from + ", low, high) : float[4,4]\n";
    if (is_first && name_ == "relu") text = "k" + n + " = Relu@14(" + from + ") : float[4,4]\n";
    if (!text.empty()) from = "k" + n;
    const bool other_type = is_first && name_ == "other type";
    const std::string scale = is_first && name_ == "other scale" ? "s_other" : "s";
    return text + "r" + n + " = QuantizeLinear@13(" + from + ", " + scale +
           (other_type ? ", z_signed) : int8" : ", z) : uint8") + "[4,4]\nout r" + n + "\n";
  }

  const Row& row_;
  const std::string_view name_;
};

constexpr const char* kSituations[] = {
    "plain",      "graph output",   "shared DQ", "DQ read outside", "several consumers", "other scale",
    "other type", "redundant clip", "relu",      "float bias",      "per axis",          "not dequantised"};

class QdqRow : public testing::TestWithParam<Row> {};

TEST_P(QdqRow, MakesTheseUnits) {
  std::string found;
  for (const char* name : kSituations) {
    const Situation situation(GetParam(), name);
    if (!situation.Makes()) continue;
    std::string units = UnitsOf(situation.Text(), "y0") + "\n";
    for (size_t begin = 0; begin < units.size(); begin = units.find('\n', begin) + 1)
      found += std::string(name) + ": " + units.substr(begin, units.find('\n', begin) - begin) + "\n";
  }
  EXPECT_EQ(found, GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(All, QdqRow, testing::ValuesIn(kRows), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace epiphyte::test
