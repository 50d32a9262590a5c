#include "tests/models/quantizer/linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace epiphyte::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatEq;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr ActivationForm kUint8 = {onnx::TensorProto::UINT8, false};
constexpr ActivationForm kInt8 = {onnx::TensorProto::INT8, false};
constexpr ActivationForm kSymmetric = {onnx::TensorProto::INT8, true};

TEST(ChooseLinear, SpreadsTheRangeOverTheType) {
  const Linear linear = ChooseLinear({-1, 4.1}, kUint8);
  EXPECT_FLOAT_EQ(linear.scale, 5.1f / 255);
  EXPECT_EQ(linear.zero_point, 50);
  EXPECT_EQ(linear.Quantize(-1), 0);
  EXPECT_EQ(linear.Quantize(4.1), 255);
}

TEST(ChooseLinear, HasZeroAtTheEndOfARangeWithoutASign) {
  EXPECT_EQ(ChooseLinear({0, 6}, kUint8).zero_point, 0);
  EXPECT_EQ(ChooseLinear({0, 6}, kInt8).zero_point, -128);
  EXPECT_EQ(ChooseLinear({-6, 0}, kUint8).zero_point, 255);
}

TEST(ChooseLinear, ReachesToZeroWhateverTheRange) {
  EXPECT_FLOAT_EQ(ChooseLinear({2, 5.1}, kUint8).scale, 5.1f / 255);
  EXPECT_EQ(ChooseLinear({-5.1, -2}, kUint8).zero_point, 255);
}

TEST(ChooseLinear, HasZeroInTheMiddleWhenItIsSymmetric) {
  const Linear linear = ChooseLinear({-1, 2.54}, kSymmetric);
  EXPECT_FLOAT_EQ(linear.scale, 0.02f);
  EXPECT_EQ(linear.zero_point, 0);
  EXPECT_EQ(ChooseLinear({-1, 2}, {onnx::TensorProto::UINT8, true}).zero_point, 128);
}

TEST(ChooseLinear, HasAScaleForNothingButZeros) {
  EXPECT_EQ(ChooseLinear({0, 0}, kUint8).scale, 1);
  EXPECT_EQ(ChooseLinear({0, 1e-45}, kSymmetric).scale, 1);
}

TEST(Linear, RoundsToEvenAndSaturates) {
  const Linear linear{.type = onnx::TensorProto::INT8, .scale = 1, .zero_point = 1};
  EXPECT_EQ(linear.Quantize(0.5), 1);
  EXPECT_EQ(linear.Quantize(1.5), 3);
  EXPECT_EQ(linear.Quantize(double{kInfinity}), 127);
  EXPECT_EQ(linear.Quantize(-3.4e38), -128);
}

TEST(QuantizeWeights, HasAScaleForEachIndexOfTheAxis) {
  const float weights[] = {1, -2, 0.5f, 4};
  EXPECT_THAT(QuantizeWeights(weights, {2, 2}, 0, {}).scales, ElementsAre(FloatEq(2 / 127.f), FloatEq(4 / 127.f)));
  EXPECT_THAT(QuantizeWeights(weights, {2, 2}, 1, {}).scales, ElementsAre(FloatEq(1 / 127.f), FloatEq(4 / 127.f)));
  EXPECT_THAT(QuantizeWeights(weights, {2, 2}, -1, {}).scales, ElementsAre(FloatEq(4 / 127.f)));
  EXPECT_THAT(QuantizeWeights(weights, {2, 2}, 0, {}).numbers, ElementsAre(64, -127, 16, 127));
  EXPECT_THAT(QuantizeWeights(weights, {2, 2}, 1, {}).numbers, ElementsAre(127, -64, 64, 127));
}

TEST(QuantizeWeights, GiveAChannelOfZerosTheScaleOfTheOthers) {
  const float weights[] = {0, 0, 1.27f, -0.5f};
  EXPECT_THAT(QuantizeWeights(weights, {2, 2}, 0, {}).scales, Each(FloatEq(0.01f)));
}

TEST(QuantizeWeights, KeepWhatABiasNeeds) {
  const float weights[] = {1.27f, 1.27f};
  const float least[] = {0, 0.5f};
  const QuantizedWeights quantized = QuantizeWeights(weights, {2, 1}, 0, least);
  EXPECT_THAT(quantized.scales, ElementsAre(FloatEq(0.01f), 0.5f));
  EXPECT_THAT(quantized.numbers, ElementsAre(127, 3));
}

TEST(QuantizeBias, CountsStepsOfTheProduct) {
  const float bias[] = {1, -0.26f};
  const float scales[] = {0.5f, 0.25f};
  EXPECT_THAT(QuantizeBias(bias, 0.125f, scales), ElementsAre(16, -8));
  EXPECT_THAT(QuantizeBias(bias, 0.125f, std::span(scales, 1)), ElementsAre(16, -4));
}

TEST(QuantizeBias, FitsWithTheLeastScale) {
  const float bias[] = {3e9f};
  const float least = LeastWeightScale(bias[0], 0.5f);
  EXPECT_NEAR(QuantizeBias(bias, 0.5f, {&least, 1})[0], 1 << 30, 1 << 8);
}

}  // namespace
}  // namespace epiphyte::test
