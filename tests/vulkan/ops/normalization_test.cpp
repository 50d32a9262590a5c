// Normalizations: rows of all lengths, broadcast parameters, and statistics as outputs.
#include "tests/vulkan/ops/one_node.h"

namespace epiphyte::test {
namespace {

class Normalizations : public NodeTest {};

TEST_F(Normalizations, LayerNormalizationFromEachAxis) {
  ExpectLikeCpu({.op = "LayerNormalization", .inputs = {{3, 5, 17}}, .constants = {{17}, {17}}});
  ExpectLikeCpu({.op = "LayerNormalization <axis=1, epsilon=0.1>", .inputs = {{3, 5, 7}}, .constants = {{5, 7}}});
  ExpectLikeCpu({.op = "LayerNormalization <axis=0>", .inputs = {{2, 4, 3}}, .constants = {{2, 4, 3}, {2, 4, 3}}});
}

TEST_F(Normalizations, LayerNormalizationWithParametersThatAreRepeated) {
  ExpectLikeCpu({.op = "LayerNormalization <axis=1>", .inputs = {{3, 5, 7}}, .constants = {{7}, {7}}});
  ExpectLikeCpu({.op = "LayerNormalization <axis=1>", .inputs = {{3, 5, 7}}, .constants = {{5, 1}, {5, 1}}});
  ExpectLikeCpu({.op = "LayerNormalization <axis=1>", .inputs = {{3, 5, 7}}, .constants = {{1}, {1}}});
  // Scale and bias have different shapes; some dimensions are broadcast between others; the last case has a bias for
  // each row.
  ExpectLikeCpu({.op = "LayerNormalization <axis=1>", .inputs = {{3, 5, 7}}, .constants = {{5, 7}, {1}}});
  ExpectLikeCpu({.op = "LayerNormalization <axis=1>", .inputs = {{3, 5, 2, 7}}, .constants = {{5, 1, 7}, {5, 2, 7}}});
  ExpectLikeCpu({.op = "LayerNormalization", .inputs = {{3, 5, 7}}, .constants = {{7}, {3, 5, 7}}});
  ExpectLikeCpu({.op = "LayerNormalization", .inputs = {{2, 5000}}, .constants = {{5000}, {2, 1}}});
}

TEST_F(Normalizations, LayerNormalizationOfFewLongRows) {
  ExpectLikeCpu({.op = "LayerNormalization <axis=1>", .inputs = {{2, 5000}}, .constants = {{5000}, {5000}}});
}

TEST_F(Normalizations, LayerNormalizationGivesItsStatistics) {
  ExpectLikeCpu(
      R"(g (float[4,33] x, float[33] s, float[33] b) => (float[] y, float[] mean, float[] inverse) {
      y, mean, inverse = LayerNormalization (x, s, b)
    })",
      {Random(DataType::kFloat, {4, 33}, 1), Random(DataType::kFloat, {33}, 2), Random(DataType::kFloat, {33}, 3)});
}

TEST_F(Normalizations, RmsNormalization) {
  ExpectLikeCpu({.op = "RMSNormalization", .inputs = {{3, 5, 17}}, .constants = {{17}}, .opset = 23});
  ExpectLikeCpu({.op = "RMSNormalization <axis=1>", .inputs = {{2, 5000}}, .constants = {{5000}}, .opset = 23});
}

// The kit fuses the sum and its normalization into one operator. Another node reads the sum, too.
TEST_F(Normalizations, SumAndItsNormalization) {
  ExpectLikeCpu(R"(g (float[2,6,33] x, float[2,6,33] skip, float[33] s, float[33] b) => (float[] y, float[] z) {
      sum = Add (x, skip)
      y = LayerNormalization (sum, s, b)
      z = Mul (sum, skip)
    })",
                {Random(DataType::kFloat, {2, 6, 33}, 1), Random(DataType::kFloat, {2, 6, 33}, 2),
                 Random(DataType::kFloat, {33}, 3), Random(DataType::kFloat, {33}, 4)});
}

TEST_F(Normalizations, InstanceAndGroupNormalization) {
  ExpectLikeCpu({.op = "InstanceNormalization", .inputs = {{2, 3, 5, 7}}, .constants = {{3}, {3}}});
  ExpectLikeCpu({.op = "InstanceNormalization", .inputs = {{1, 2, 70, 60}}, .constants = {{2}, {2}}});
  ExpectLikeCpu(
      {.op = "GroupNormalization <num_groups=2>", .inputs = {{2, 6, 5, 3}}, .constants = {{2}, {2}}, .opset = 18});
  ExpectLikeCpu(
      {.op = "GroupNormalization <num_groups=2>", .inputs = {{2, 6, 5, 3}}, .constants = {{6}, {6}}, .opset = 21});
  ExpectLikeCpu(
      {.op = "GroupNormalization <num_groups=2>", .inputs = {{1, 6, 40, 50}}, .constants = {{6}, {6}}, .opset = 21});
}

TEST_F(Normalizations, BatchNormalization) {
  ExpectLikeCpu(R"(g (float[2,5,4,9] x, float[5] s, float[5] b, float[5] m, float[5] d) => (float[] y) {
      v = Mul (d, d)
      y = BatchNormalization <epsilon=0.01> (x, s, b, m, v)
    })",
                {Random(DataType::kFloat, {2, 5, 4, 9}, 1), Random(DataType::kFloat, {5}, 2),
                 Random(DataType::kFloat, {5}, 3), Random(DataType::kFloat, {5}, 4), Random(DataType::kFloat, {5}, 5)});
}

TEST_F(Normalizations, NormalizationsWithoutParameters) {
  ExpectLikeCpu({.op = "MeanVarianceNormalization", .inputs = {{2, 3, 5, 7}}});
  ExpectLikeCpu({.op = "MeanVarianceNormalization <axes=[1,3]>", .inputs = {{2, 3, 5, 7}}});
  for (const char* p : {"1", "2"})
    for (const char* axis : {"0", "1", "-1"})
      ExpectLikeCpu({.op = std::string("LpNormalization <p=") + p + ", axis=" + axis + ">", .inputs = {{3, 4, 20}}});
}

TEST_F(Normalizations, Lrn) {
  ExpectLikeCpu({.op = "LRN <size=3, alpha=0.5, beta=0.6, bias=1.5>", .inputs = {{2, 7, 3, 5}}});
  ExpectLikeCpu({.op = "LRN <size=4>", .inputs = {{1, 3, 4}}});
  ExpectLikeCpu({.op = "LRN <size=9>", .inputs = {{1, 2, 4, 4}}});
}

TEST_F(Normalizations, NormalizationsInHalfPrecision) {
  ExpectLikeCpu(
      {.op = "LayerNormalization", .inputs = {{3, 5, 17}}, .constants = {{17}, {17}}, .type = DataType::kFloat16});
  ExpectLikeCpu(
      {.op = "InstanceNormalization", .inputs = {{1, 2, 70, 60}}, .constants = {{2}, {2}}, .type = DataType::kFloat16});
  ExpectLikeCpu({.op = "LpNormalization", .inputs = {{3, 5, 17}}, .type = DataType::kFloat16});
}

}  // namespace
}  // namespace epiphyte::test
