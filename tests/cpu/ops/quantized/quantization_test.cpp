// Quantization in all granularities and types, and products of quantized tensors compared with plain loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/cpu/kernel_harness.h"

namespace epiphyte::test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(QuantizeLinear, RoundsToEvenAndSaturates) {
  OpRunner quantize("QuantizeLinear", 21);
  quantize.Input<float>({6}, {1, 3, 5, -3, 1000, -1000}).Input<float>({}, {2}).Input<int8_t>({}, {1});
  quantize.Run();
  EXPECT_THAT(quantize.Output<int8_t>(0), ElementsAre(1, 3, 3, -1, 127, -128));
}

TEST(QuantizeLinear, WithoutAZeroPointTheResultIsUint8OrWhatTheAttributeSays) {
  OpRunner plain("QuantizeLinear", 13);
  plain.Input<float>({1}, {300}).Input<float>({}, {1});
  plain.Run();
  EXPECT_THAT(plain.Output<uint8_t>(0), ElementsAre(255));
  OpRunner typed("QuantizeLinear", 21);
  typed.Attribute("output_dtype", int64_t{EP_TYPE_INT16}).Input<float>({1}, {300}).Input<float>({}, {1});
  typed.Run();
  EXPECT_THAT(typed.Output<int16_t>(0), ElementsAre(300));
}

TEST(QuantizeLinear, PerAxisInTheMiddleAndAtTheEnd) {
  OpRunner middle("QuantizeLinear", 13);
  middle.Attribute("axis", 1)
      .Input<float>({1, 2, 2}, {1, 2, 10, 20})
      .Input<float>({2}, {1, 10})
      .Input<uint8_t>({2}, {0, 5});
  middle.Run();
  EXPECT_THAT(middle.Output<uint8_t>(0), ElementsAre(1, 2, 6, 7));
  OpRunner last("QuantizeLinear", 13);
  last.Attribute("axis", -1)
      .Input<float>({2, 2}, {1, 20, 2, 40})
      .Input<float>({2}, {1, 10})
      .Input<uint8_t>({2}, {0, 0});
  last.Run();
  EXPECT_THAT(last.Output<uint8_t>(0), ElementsAre(1, 2, 2, 4));
}

TEST(QuantizeLinear, BlocksMayEndShort) {
  OpRunner blocked("QuantizeLinear", 21);
  blocked.Attribute("axis", 1).Attribute("block_size", 2);
  blocked.Input<float>({2, 3}, {1, 2, 30, 4, 5, 60})
      .Input<float>({2, 2}, {1, 10, 2, 20})
      .Input<int8_t>({2, 2}, {0, 0, 0, 1});
  blocked.Run();
  EXPECT_THAT(blocked.Output<int8_t>(0), ElementsAre(1, 2, 3, 2, 2, 4));
}

TEST(QuantizeLinear, ScalesThatDoNotFitAreErrors) {
  OpRunner per_axis("QuantizeLinear", 13);
  per_axis.Input<float>({1, 2}, {0, 0}).Input<float>({3}, {1, 1, 1});
  EXPECT_THAT([&] { per_axis.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("scale has shape [3]")));
  OpRunner blocked("QuantizeLinear", 21);
  blocked.Attribute("block_size", 2).Input<float>({1, 4}, {0, 0, 0, 0}).Input<float>({1, 3}, {1, 1, 1});
  EXPECT_THROW(blocked.Run(), kit::Error);
  OpRunner axis("QuantizeLinear", 13);
  axis.Attribute("axis", 7).Input<float>({1, 2}, {0, 0}).Input<float>({2}, {1, 1});
  EXPECT_THAT([&] { axis.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("axis 7 found")));
}

// Quantizes and dequantizes with every type that QuantizeLinear produces.
TEST(DequantizeLinear, UndoesQuantizeLinearForEveryType) {
  for (cpu::ElementType type :
       {EP_TYPE_UINT8, EP_TYPE_INT8, EP_TYPE_UINT16, EP_TYPE_INT16, EP_TYPE_UINT4, EP_TYPE_INT4, EP_TYPE_FLOAT4E2M1,
        EP_TYPE_FLOAT8E4M3FN, EP_TYPE_FLOAT8E4M3FNUZ, EP_TYPE_FLOAT8E5M2, EP_TYPE_FLOAT8E5M2FNUZ}) {
    OpRunner quantize("QuantizeLinear", 23);
    quantize.Attribute("output_dtype", int64_t{type}).Input<float>({5}, {0, 1, 2, 3, 8}).Input<float>({}, {2});
    quantize.Run();
    ASSERT_EQ(quantize.OutputTensor(0).type, type);
    OpRunner dequantize("DequantizeLinear", 23);
    dequantize.InputDatum(quantize.OutputDatum(0)).Input<float>({}, {2});
    dequantize.Run();
    const std::vector<float> y = dequantize.Output<float>(0);
    EXPECT_EQ(y[0], 0) << cpu::TypeName(type);
    EXPECT_NEAR(y[1], 1, 1) << cpu::TypeName(type);
    EXPECT_EQ(y[2], 2) << cpu::TypeName(type);
    EXPECT_NEAR(y[3], 3, 1) << cpu::TypeName(type);
    EXPECT_EQ(y[4], 8) << cpu::TypeName(type);
  }
}

TEST(DequantizeLinear, TheScaleOrTheAttributeGivesTheType) {
  OpRunner half("DequantizeLinear", 21);
  half.Input<int8_t>({2}, {-3, 4}).Input<cpu::Float16>({}, {cpu::Float16(0.5f)});
  half.Run();
  EXPECT_EQ(static_cast<float>(half.Output<cpu::Float16>(0)[0]), -1.5f);
  OpRunner attribute("DequantizeLinear", 23);
  attribute.Attribute("output_dtype", int64_t{EP_TYPE_FLOAT})
      .Input<int8_t>({1}, {3})
      .Input<cpu::Float16>({}, {cpu::Float16(0.5f)});
  attribute.Run();
  EXPECT_THAT(attribute.Output<float>(0), ElementsAre(1.5f));
  OpRunner wrong("DequantizeLinear", 23);
  wrong.Attribute("output_dtype", int64_t{EP_TYPE_STRING}).Input<int8_t>({1}, {3}).Input<float>({}, {1});
  EXPECT_THROW(wrong.Run(), kit::Error);
}

TEST(DequantizeLinear, TheZeroPointHasTheTypeOfTheInput) {
  OpRunner dequantize("DequantizeLinear", 13);
  dequantize.Input<int8_t>({1}, {3}).Input<float>({}, {1}).Input<uint8_t>({}, {1});
  EXPECT_THAT([&] { dequantize.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("uint8")));
}

TEST(DynamicQuantizeLinear, OfZerosIsZeros) {
  OpRunner quantize("DynamicQuantizeLinear", 11);
  quantize.Outputs(3).Input<float>({2}, {0, 0});
  quantize.Run();
  EXPECT_THAT(quantize.Output<uint8_t>(0), ElementsAre(0, 0));
  EXPECT_THAT(quantize.Output<uint8_t>(2), ElementsAre(0));
}

std::vector<int32_t> PlainProduct(const std::vector<int>& a, const std::vector<int>& b, int m, int k, int n) {
  std::vector<int32_t> y(static_cast<size_t>(m * n));
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int l = 0; l < k; ++l)
        y[static_cast<size_t>(i * n + j)] += a[static_cast<size_t>(i * k + l)] * b[static_cast<size_t>(l * n + j)];
    }
  }
  return y;
}

TEST(MatMulInteger, ZeroPointsPerRowAndColumn) {
  const int m = 7, k = 33, n = 70;
  std::vector<uint8_t> a;
  std::vector<int8_t> b;
  std::vector<uint8_t> a_zero;
  std::vector<int8_t> b_zero;
  for (int i = 0; i < m * k; ++i) a.push_back(static_cast<uint8_t>(i * 7));
  for (int i = 0; i < k * n; ++i) b.push_back(static_cast<int8_t>(i * 5));
  for (int i = 0; i < m; ++i) a_zero.push_back(static_cast<uint8_t>(i * 3));
  for (int i = 0; i < n; ++i) b_zero.push_back(static_cast<int8_t>(i - 30));
  std::vector<int> left, right;
  for (int i = 0; i < m * k; ++i) left.push_back(a[static_cast<size_t>(i)] - a_zero[static_cast<size_t>(i / k)]);
  for (int i = 0; i < k * n; ++i) right.push_back(b[static_cast<size_t>(i)] - b_zero[static_cast<size_t>(i % n)]);
  OpRunner product("MatMulInteger", 10);
  product.Input<uint8_t>({m, k}, a).Input<int8_t>({k, n}, b).Input<uint8_t>({m}, a_zero).Input<int8_t>({n}, b_zero);
  product.Run();
  EXPECT_THAT(product.Output<int32_t>(0), ElementsAreArray(PlainProduct(left, right, m, k, n)));
}

TEST(MatMulInteger, BatchesBroadcastAndVectorsLoseTheirDimension) {
  OpRunner batch("MatMulInteger", 10);
  batch.Input<uint8_t>({2, 1, 1, 2}, {1, 2, 3, 4}).Input<uint8_t>({2, 2, 1}, {1, 1, 10, 10});
  batch.Run();
  EXPECT_EQ(batch.Dims(0), (Shape{2, 2, 1, 1}));
  EXPECT_THAT(batch.Output<int32_t>(0), ElementsAre(3, 30, 7, 70));
  OpRunner vectors("MatMulInteger", 10);
  vectors.Input<uint8_t>({2}, {1, 2}).Input<uint8_t>({2}, {3, 4});
  vectors.Run();
  EXPECT_EQ(vectors.Dims(0), Shape{});
  EXPECT_THAT(vectors.Output<int32_t>(0), ElementsAre(11));
}

TEST(MatMulInteger, InnerDimensionsMustAgree) {
  OpRunner product("MatMulInteger", 10);
  product.Input<uint8_t>({2, 3}, {0, 0, 0, 0, 0, 0}).Input<uint8_t>({2, 2}, {0, 0, 0, 0});
  EXPECT_THAT([&] { product.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("[2,3] and [2,2]")));
}

TEST(ConvInteger, GroupsStridesDilationsAndPaddingOfTheZeroPoint) {
  // One dimension and two groups: each output is x[i-1] + x[i+1] - 2 * (the zero point of its channel).
  OpRunner conv("ConvInteger", 10);
  conv.Attribute("group", 2)
      .Attribute("dilations", std::vector<int64_t>{2})
      .Attribute("strides", std::vector<int64_t>{2});
  conv.Attribute("pads", std::vector<int64_t>{1, 1});
  conv.Input<uint8_t>({1, 2, 4}, {11, 12, 13, 14, 21, 22, 23, 24}).Input<uint8_t>({2, 1, 2}, {1, 1, 1, 2});
  conv.Input<uint8_t>({}, {10});
  conv.Run();
  EXPECT_EQ(conv.Dims(0), (Shape{1, 2, 2}));
  EXPECT_THAT(conv.Output<int32_t>(0), ElementsAre(2, 6, 24, 40));
}

TEST(QLinearConv, ScalesPerFilterAndBias) {
  OpRunner conv("QLinearConv", 10);
  conv.Input<uint8_t>({1, 1, 1, 2}, {3, 5}).Input<float>({}, {0.5f}).Input<uint8_t>({}, {1});
  conv.Input<int8_t>({2, 1, 1, 1}, {2, -4}).Input<float>({2}, {1, 0.5f}).Input<int8_t>({2}, {0, 0});
  conv.Input<float>({}, {0.5f}).Input<int8_t>({}, {10}).Input<int32_t>({2}, {1, -200});
  conv.Run();
  EXPECT_THAT(conv.Output<int8_t>(0), ElementsAre(15, 19, -94, -98));
}

TEST(ConvInteger, AKernelLargerThanTheInputIsAnError) {
  OpRunner conv("ConvInteger", 10);
  conv.Input<uint8_t>({1, 1, 2}, {0, 0}).Input<uint8_t>({1, 1, 3}, {0, 0, 0});
  EXPECT_THAT([&] { conv.Run(); },
              ThrowsMessage<kit::Error>(HasSubstr("a kernel of extent 3 does not fit into 2 elements")));
}

}  // namespace
}  // namespace epiphyte::test
