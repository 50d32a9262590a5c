// Operators on quantized numbers: integers are equal to the CPU plugin's, floats agree to within rounding.
#include <cmath>

#include "tests/vulkan/ops/operator_harness.h"
#include "tests/vulkan/ops/product_models.h"

namespace epiphyte::test {
namespace {

class Quantized : public OperatorTest {};

TEST_F(Quantized, DequantizeByTensorAxisAndBlock) {
  const OperatorRun run = {.opset = 21};
  const auto scales = [](std::vector<int64_t> dims) {
    std::vector<double> numbers = SmallNumbers(dims, 3);
    for (double& number : numbers) number = std::abs(number) + 0.125;
    return Numbers(DataType::kFloat, dims, numbers);
  };
  for (const auto& [name, type] : {std::pair{"uint8", DataType::kUint8}, {"int8", DataType::kInt8}}) {
    const std::string t = name;
    const ValuePtr x = Random(type, {3, 4, 5});
    ExpectLikeCpu("g (" + t + "[3,4,5] x, float s, " + t + " z) => (float[] y) { y = DequantizeLinear(x, s, z) }",
                  {x, scales({}), Random(type, {}, 5)}, run);
    ExpectLikeCpu("g (" + t + "[3,4,5] x, float[4] s, " + t + "[4] z) => (float[] y) { y = DequantizeLinear(x, s, z) }",
                  {x, scales({4}), Random(type, {4}, 5)}, run);
    ExpectLikeCpu("g (" + t + "[3,4,5] x, float[5] s) => (float[] y) { y = DequantizeLinear <axis = -1> (x, s) }",
                  {x, scales({5})}, run);
    ExpectLikeCpu("g (" + t + "[3,4,5] x, float[3,2,5] s, " + t +
                      "[3,2,5] z) => (float[] y) "
                      "{ y = DequantizeLinear <axis = 1, block_size = 3> (x, s, z) }",
                  {x, scales({3, 2, 5}), Random(type, {3, 2, 5}, 5)}, run);
  }
  ExpectLikeCpu("g (int32[3,4] x, float s) => (float[] y) { y = DequantizeLinear(x, s) }",
                {Random(DataType::kInt32, {3, 4}), scales({})}, run);
}

TEST_F(Quantized, QuantizeByTensorAxisAndBlock) {
  const OperatorRun run = {.opset = 21};
  const ValuePtr x = Numbers(DataType::kFloat, {2, 3, 4}, {0.5, 1.5, 2.5,  -0.5, -1.5, 3.5, 1000, -1000, 0, 7, 8, 9,
                                                           10,  11,  12.5, 13.5, 100,  -77, 4,    -3,    2, 1, 0, 6});
  const ValuePtr one = Numbers(DataType::kFloat, {}, {1});
  const ValuePtr three = Numbers(DataType::kFloat, {3}, {0.5, 1, 2});
  ExpectLikeCpu("g (float[2,3,4] x, float s, uint8 z) => (uint8[] y) { y = QuantizeLinear(x, s, z) }",
                {x, one, Numbers(DataType::kUint8, {}, {128})}, run);
  ExpectLikeCpu("g (float[2,3,4] x, float s, int8 z) => (int8[] y) { y = QuantizeLinear(x, s, z) }",
                {x, one, Numbers(DataType::kInt8, {}, {-5})}, run);
  ExpectLikeCpu("g (float[2,3,4] x, float[3] s) => (uint8[] y) { y = QuantizeLinear(x, s) }", {x, three}, run);
  ExpectLikeCpu(
      "g (float[2,3,4] x, float[2,2,4] s) => (int8[] y) "
      "{ y = QuantizeLinear <axis = 1, block_size = 2, output_dtype = 3> (x, s) }",
      {x, Numbers(DataType::kFloat, {2, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 1, 2, 1, 2, 1, 2})}, run);
}

TEST_F(Quantized, DynamicRange) {
  for (const int64_t n : {1, 31, 5000})
    ExpectLikeCpu("g (float[N] x) => (uint8[] y, float[] s, uint8[] z) { y, s, z = DynamicQuantizeLinear(x) }",
                  {Scaled({n}, 9)});
  ExpectLikeCpu("g (float[N] x) => (uint8[] y, float[] s, uint8[] z) { y, s, z = DynamicQuantizeLinear(x) }",
                {Numbers(DataType::kFloat, {3}, {0, 0, 0})});
}

TEST_F(Quantized, MatMulIntegerWithZeroPoints) {
  ExpectLikeCpu(
      "g (uint8[2,5,6] a, int8[6,7] b, uint8 az, int8[7] bz) => (int32[] y) { y = MatMulInteger(a, b, az, bz) }",
      {Random(DataType::kUint8, {2, 5, 6}), Random(DataType::kInt8, {6, 7}, 2), Random(DataType::kUint8, {}, 3),
       Random(DataType::kInt8, {7}, 4)});
  ExpectLikeCpu("g (int8[3,1,5,6] a, uint8[2,6,7] b) => (int32[] y) { y = MatMulInteger(a, b) }",
                {Random(DataType::kInt8, {3, 1, 5, 6}), Random(DataType::kUint8, {2, 6, 7}, 2)});
}

TEST_F(Quantized, QLinearMatMul) {
  ExpectLikeCpu(R"(g (uint8[2,5,6] a, int8[6,7] b) => (uint8[] y)
      <float as = {0.05}, uint8 az = {8}, float bs = {0.1}, int8 bz = {1}, float ys = {0.2}, uint8 yz = {100}>
      { y = QLinearMatMul(a, as, az, b, bs, bz, ys, yz) })",
                {Random(DataType::kUint8, {2, 5, 6}), Random(DataType::kInt8, {6, 7}, 2)}, {.opset = 21});
}

TEST_F(Quantized, ConvInteger) {
  ExpectLikeCpu(
      "g (uint8[2,4,7,6] x, int8[6,2,3,3] w, uint8 xz, int8 wz) => (int32[] y) "
      "{ y = ConvInteger <group = 2, pads = [1, 0, 2, 1], strides = [2, 1], dilations = [1, 2]> (x, w, xz, wz) }",
      {Random(DataType::kUint8, {2, 4, 7, 6}), Random(DataType::kInt8, {6, 2, 3, 3}, 2),
       Random(DataType::kUint8, {}, 3), Random(DataType::kInt8, {}, 4)});
  ExpectLikeCpu("g (uint8[1,3,9] x, uint8[5,3,4] w) => (int32[] y) { y = ConvInteger(x, w) }",
                {Random(DataType::kUint8, {1, 3, 9}), Random(DataType::kUint8, {5, 3, 4}, 2)});
  ExpectLikeCpu("g (uint8[1,2,4,5,6] x, uint8[3,2,2,3,2] w) => (int32[] y) { y = ConvInteger(x, w) }",
                {Random(DataType::kUint8, {1, 2, 4, 5, 6}), Random(DataType::kUint8, {3, 2, 2, 3, 2}, 2)});
}

TEST_F(Quantized, QLinearConvWithAScaleForEachFilter) {
  ExpectLikeCpu(R"(g (uint8[1,3,8,8] x, int8[4,3,3,3] w) => (uint8[] y)
      <float xs = {0.05}, uint8 xz = {7}, float[4] ws = {0.1, 0.2, 0.05, 0.3}, int8[4] wz = {0, 1, -1, 2},
       float ys = {0.3}, uint8 yz = {120}, int32[4] b = {10, -20, 300, 0}>
      { y = QLinearConv <pads = [1, 1, 1, 1]> (x, xs, xz, w, ws, wz, ys, yz, b) })",
                {Random(DataType::kUint8, {1, 3, 8, 8}), Random(DataType::kInt8, {4, 3, 3, 3}, 2)});
}

}  // namespace
}  // namespace epiphyte::test
