// Convolutions in shapes that ONNX's own cases lack: block sizes with and without a remainder, groups, one to three
// dimensions, asymmetric padding, and computed weights.
#include "tests/vulkan/ops/one_node.h"

namespace epiphyte::test {
namespace {

class Convolutions : public NodeTest {};

TEST_F(Convolutions, ConvOfWholeBlocksOfFiltersAndPositions) {
  ExpectLikeCpu({.op = "Conv", .inputs = {{1, 8, 8, 8}}, .constants = {{16, 8, 1, 1}}});
  ExpectLikeCpu({.op = "Conv <pads=[1,1,1,1]>", .inputs = {{1, 8, 8, 8}}, .constants = {{16, 8, 3, 3}, {16}}});
}

TEST_F(Convolutions, ConvOfBlocksWithARest) {
  ExpectLikeCpu({.op = "Conv", .inputs = {{2, 5, 3, 3}}, .constants = {{11, 5, 1, 1}, {11}}});
  ExpectLikeCpu({.op = "Conv <pads=[1,1,1,1]>", .inputs = {{3, 3, 7, 5}}, .constants = {{9, 3, 3, 3}}});
}

TEST_F(Convolutions, ConvOfOneDimension) {
  ExpectLikeCpu({.op = "Conv <pads=[2,0], strides=[2], dilations=[3]>", .inputs = {{2, 4, 30}}, .constants = {{6, 4, 3}, {6}}});
}

TEST_F(Convolutions, ConvOfThreeDimensions) {
  ExpectLikeCpu({.op = "Conv <pads=[1,0,2,0,1,1], strides=[1,2,1], dilations=[2,1,1]>",
          .inputs = {{1, 3, 6, 7, 5}},
          .constants = {{10, 3, 2, 3, 2}, {10}}});
}

TEST_F(Convolutions, ConvWithPaddingsOfItsOwnOnEachSide) {
  ExpectLikeCpu({.op = "Conv <pads=[0,2,3,1], strides=[2,3]>", .inputs = {{1, 4, 9, 10}}, .constants = {{8, 4, 3, 3}}});
}

TEST_F(Convolutions, ConvThatCutsItsInput) {
  const std::vector<ValuePtr> inputs = {Random(DataType::kFloat, {1, 4, 9, 10}), Random(DataType::kFloat, {8, 4, 3, 3}, 2)};
  const std::vector<ValuePtr> cut =
      RunVulkan("g (float[1,4,9,10] x, float[8,4,3,3] w) => (float[] y) { y = Conv <pads=[-1,-2,0,-1]> (x, w) }", inputs);
  const std::vector<ValuePtr> slice = RunCpu(R"(g (float[1,4,9,10] x, float[8,4,3,3] w) => (float[] y)
      <int64[2] starts = {1, 2}, int64[2] ends = {9, 9}, int64[2] axes = {2, 3}> {
        s = Slice (x, starts, ends, axes) y = Conv (s, w) })",
                                             inputs);
  EXPECT_EQ(conformance::CompareValues(*cut[0], *slice[0], {}).difference, "");
}

TEST_F(Convolutions, ConvWithAutomaticPadding) {
  for (const char* how : {"SAME_UPPER", "SAME_LOWER", "VALID"})
    ExpectLikeCpu({.op = std::string("Conv <auto_pad=\"") + how + "\", strides=[2,2]>",
            .inputs = {{1, 2, 7, 8}},
            .constants = {{3, 2, 4, 3}}});
}

TEST_F(Convolutions, ConvInGroups) {
  ExpectLikeCpu({.op = "Conv <group=3, pads=[1,1,1,1]>", .inputs = {{2, 6, 5, 5}}, .constants = {{12, 2, 3, 3}, {12}}});
  ExpectLikeCpu({.op = "Conv <group=2>", .inputs = {{1, 4, 5, 5}}, .constants = {{20, 2, 3, 3}}});
}

TEST_F(Convolutions, ConvOfOneChannelAFilter) {
  ExpectLikeCpu({.op = "Conv <group=6, pads=[1,1,1,1]>", .inputs = {{2, 6, 9, 7}}, .constants = {{6, 1, 3, 3}, {6}}});
  ExpectLikeCpu({.op = "Conv <group=3, strides=[2,2]>", .inputs = {{1, 3, 9, 7}}, .constants = {{6, 1, 3, 3}}});
  // Groups with one input channel and many filters use the general kernel.
  ExpectLikeCpu({.op = "Conv <group=2>", .inputs = {{1, 2, 6, 6}}, .constants = {{18, 1, 3, 3}}});
  ExpectLikeCpu({.op = "Conv <group=4, pads=[1,1,1,1,1,1]>", .inputs = {{1, 4, 4, 5, 6}}, .constants = {{4, 1, 3, 3, 3}}});
}

TEST_F(Convolutions, ConvOfComputedWeights) {
  ExpectLikeCpu({.op = "Conv <pads=[1,1,1,1]>", .inputs = {{1, 3, 6, 6}, {10, 3, 3, 3}, {10}}});
  ExpectLikeCpu({.op = "Conv <group=2>", .inputs = {{1, 6, 6, 6}, {6, 3, 3, 3}}});
}

TEST_F(Convolutions, ConvInHalfPrecision) {
  ExpectLikeCpu({.op = "Conv <pads=[1,1,1,1]>",
          .inputs = {{1, 5, 6, 7}},
          .constants = {{9, 5, 3, 3}, {9}},
          .type = DataType::kFloat16});
  ExpectLikeCpu({.op = "Conv <group=6>", .inputs = {{1, 6, 6, 7}}, .constants = {{6, 1, 3, 3}}, .type = DataType::kFloat16});
}

TEST_F(Convolutions, ConvOfNoImages) { ExpectLikeCpu({.op = "Conv", .inputs = {{0, 3, 6, 6}}, .constants = {{4, 3, 3, 3}}}); }

// The kit fuses the convolution, the sum with the residual, and the activation into one operator.
TEST_F(Convolutions, ConvWithResidualAndActivation) {
  for (const char* activation : {"Relu", "Sigmoid", "LeakyRelu <alpha=0.2>", "HardSwish", "Elu", "Softplus"}) {
    const std::string model = std::string(R"(g (float[1,4,6,6] x, float[9,4,3,3] w, float[9] b, float[1,9,6,6] r) => (float[] y) {
        c = Conv <pads=[1,1,1,1]> (x, w, b)
        s = Add (c, r)
        y = )") + activation + " (s)\n}";
    SCOPED_TRACE(activation);
    ExpectLikeCpu(model, {Random(DataType::kFloat, {1, 4, 6, 6}, 1), Random(DataType::kFloat, {9, 4, 3, 3}, 2), Random(DataType::kFloat, {9}, 3), Random(DataType::kFloat, {1, 9, 6, 6}, 4)});
  }
}

TEST_F(Convolutions, ConvTransposeWithStridesAndPaddings) {
  ExpectLikeCpu({.op = "ConvTranspose <strides=[2,3], pads=[1,0,0,2]>", .inputs = {{2, 5, 4, 6}}, .constants = {{5, 11, 3, 4}, {11}}});
  ExpectLikeCpu({.op = "ConvTranspose <strides=[3,2], dilations=[2,3], output_padding=[2,1]>",
          .inputs = {{1, 4, 3, 5}},
          .constants = {{4, 8, 2, 2}}});
  ExpectLikeCpu({.op = "ConvTranspose <strides=[5,5]>", .inputs = {{1, 2, 3, 3}}, .constants = {{2, 3, 2, 2}}});
}

TEST_F(Convolutions, ConvTransposeToAShape) {
  ExpectLikeCpu({.op = "ConvTranspose <strides=[3,2], output_shape=[10,8]>",
          .inputs = {{1, 1, 3, 3}},
          .constants = {{1, 2, 3, 3}}});
  for (const char* how : {"SAME_UPPER", "SAME_LOWER"})
    ExpectLikeCpu({.op = std::string("ConvTranspose <strides=[2,2], auto_pad=\"") + how + "\">",
            .inputs = {{1, 2, 3, 4}},
            .constants = {{2, 3, 3, 3}}});
}

TEST_F(Convolutions, ConvTransposeInGroupsAndDimensions) {
  ExpectLikeCpu({.op = "ConvTranspose <group=2, strides=[2,2]>", .inputs = {{1, 6, 4, 4}}, .constants = {{6, 5, 3, 3}, {10}}});
  ExpectLikeCpu({.op = "ConvTranspose <strides=[2], pads=[1,1]>", .inputs = {{2, 3, 9}}, .constants = {{3, 4, 4}}});
  ExpectLikeCpu({.op = "ConvTranspose <strides=[1,2,3]>", .inputs = {{1, 2, 3, 4, 5}}, .constants = {{2, 3, 2, 3, 2}}});
  ExpectLikeCpu({.op = "ConvTranspose", .inputs = {{1, 3, 4, 4}, {3, 2, 3, 3}}});
  ExpectLikeCpu({.op = "ConvTranspose <strides=[2,2]>",
          .inputs = {{1, 3, 4, 4}},
          .constants = {{3, 2, 3, 3}},
          .type = DataType::kFloat16});
}

}  // namespace
}  // namespace epiphyte::test
