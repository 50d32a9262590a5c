// Reading the quantization of a QuantizeLinear or DequantizeLinear: scale, zero point, axis and types.
#include "epiphyte/kit/qdq/quantization.hpp"

#include <gmock/gmock.h>

#include "tests/plugin_api/qdq/unit_text.h"

namespace epiphyte::test {
namespace {

using kit::qdq::Quantization;

struct Read {
  std::optional<Quantization> quantization;
  std::string why;
  kit::ir::Graph graph;  // owner of the quantization's tensors
};

// Reads the quantization of the graph's last node.
Read ReadLast(const std::string& statements) {
  Read read;
  read.graph = kit::ir::FromText(Text(statements));
  read.quantization = kit::qdq::ReadQuantization(read.graph, read.graph.nodes.back(), &read.why);
  EXPECT_EQ(read.quantization.has_value(), read.why.empty()) << read.why;
  return read;
}

TEST(QdqQuantization, KnowsScaleZeroPointAndType) {
  const Read read = ReadLast("in q: uint8[4]\nx = DequantizeLinear@13(q, s, z) : float[4]");
  ASSERT_TRUE(read.quantization);
  EXPECT_EQ(read.quantization->type, EP_TYPE_UINT8);
  EXPECT_TRUE(read.quantization->IsPerTensor());
  EXPECT_EQ(read.quantization->Scale(0), 0.5);
  EXPECT_EQ(read.quantization->ZeroPoint(0), 128);
}

TEST(QdqQuantization, KnowsTheScaleOfEachIndexOfAnAxis) {
  const Read read = ReadLast(
      "in q: int4[2,3]\nconst h: float16[3] = [0.5, 1, 2]\nconst z3: int4[3] = [-8, 0, 7]\n"
      "x = DequantizeLinear@21<axis=-1>(q, h, z3) : float16[2,3]");
  ASSERT_TRUE(read.quantization);
  EXPECT_EQ(read.quantization->axis, 1);
  EXPECT_EQ(read.quantization->Count(), 3u);
  EXPECT_EQ(read.quantization->Scale(2), 2);
  EXPECT_EQ(read.quantization->ZeroPoint(0), -8);
  EXPECT_EQ(read.quantization->ZeroPoint(2), 7);
}

TEST(QdqQuantization, OneScaleOfRankOneIsOneForAll) {
  const Read read = ReadLast(
      "in q: uint8[4]\nconst s1: float[1] = [2]\nconst z1: uint8[1] = [3]\nx = DequantizeLinear@13(q, s1, z1)");
  ASSERT_TRUE(read.quantization);
  EXPECT_TRUE(read.quantization->IsPerTensor());
  EXPECT_EQ(read.quantization->ZeroPoint(0), 3);
}

TEST(QdqQuantization, WithoutAZeroPointTheTypeIsAskedForOrUint8) {
  EXPECT_EQ(ReadLast("in x: float[4]\nq = QuantizeLinear@13(x, s)").quantization->type, EP_TYPE_UINT8);
  EXPECT_EQ(ReadLast("in x: float[4]\nq = QuantizeLinear@21<output_dtype=5>(x, s)").quantization->type, EP_TYPE_INT16);
  EXPECT_EQ(ReadLast("in x: float[4]\nq = QuantizeLinear@21<output_dtype=4294967299>(x, s)").why,
            "its quantised type is undefined, expected an integer of 2 to 32 bits");
  EXPECT_EQ(ReadLast("in q: ?\nx = DequantizeLinear@13(q, s)").why,
            "its quantised type is undefined, expected an integer of 2 to 32 bits");
}

TEST(QdqQuantization, OtherNodesHaveNone) {
  EXPECT_EQ(ReadLast("in x: float[4]\ny = Relu@14(x)").why,
            "it is no QuantizeLinear or DequantizeLinear with an input and a scale");
  EXPECT_EQ(ReadLast("in x: float[4]\nq = QuantizeLinear@13(x)").why,
            "it is no QuantizeLinear or DequantizeLinear with an input and a scale");
  EXPECT_EQ(ReadLast("in x: float[4]\nq = mine::QuantizeLinear(x, s)").why,
            "it is no QuantizeLinear or DequantizeLinear with an input and a scale");
}

TEST(QdqQuantization, ShapesOfEitherSideTellWhereAnAxisIs) {
  const Read read = ReadLast("in q: uint8\nx = DequantizeLinear@13<axis=0>(q, s3) : float[3,2]");
  ASSERT_TRUE(read.quantization);
  EXPECT_EQ(read.quantization->axis, 0);
}

TEST(QdqQuantization, IsTheSameIfAllOfItIs) {
  const auto of = [](const std::string& inputs) {
    return ReadLast(
        "in q: uint8[3]\nconst z3: uint8[3] = [1, 2, 3]\nconst z4: uint8[3] = [1, 2, 4]\nconst nil: uint8[3] = [0, 0, "
        "0]\n"
        "const t3: float[3] = [0.5, 1, 4]\nx = DequantizeLinear@13" +
        inputs);
  };
  const Read whole = of("<axis=0>(q, s3, z3)");
  const auto same = [&](const Read& other) { return SameQuantization(*whole.quantization, *other.quantization); };
  EXPECT_TRUE(same(of("<axis=-1>(q, s3, z3)")));
  EXPECT_FALSE(same(of("<axis=0>(q, s3, z4)")));
  EXPECT_FALSE(same(of("<axis=0>(q, t3, z3)")));
  EXPECT_FALSE(same(of("(q, s, z)")));
  EXPECT_TRUE(SameQuantization(*of("<axis=0>(q, s3)").quantization, *of("<axis=0>(q, s3, nil)").quantization))
      << "no zero point is one of 0";
  EXPECT_FALSE(SameQuantization(*of("(q, s)").quantization,
                                *ReadLast("in q: int8[3]\nx = DequantizeLinear@13(q, s)").quantization));
}

TEST(QdqQuantization, TypesHaveRanges) {
  for (const auto& [type, bits, low, high] : {std::tuple{EP_TYPE_INT2, 2, -2, 1},
                                              {EP_TYPE_UINT2, 2, 0, 3},
                                              {EP_TYPE_INT4, 4, -8, 7},
                                              {EP_TYPE_UINT4, 4, 0, 15},
                                              {EP_TYPE_INT8, 8, -128, 127},
                                              {EP_TYPE_UINT8, 8, 0, 255},
                                              {EP_TYPE_INT16, 16, -32768, 32767},
                                              {EP_TYPE_UINT16, 16, 0, 65535},
                                              {EP_TYPE_INT32, 32, INT32_MIN, INT32_MAX}}) {
    EXPECT_EQ(kit::qdq::BitsOf(type), bits);
    EXPECT_EQ(kit::qdq::LowestOf(type), low);
    EXPECT_EQ(kit::qdq::HighestOf(type), high);
    EXPECT_EQ(kit::qdq::IsSigned(type), low < 0);
  }
  EXPECT_EQ(kit::qdq::BitsOf(EP_TYPE_FLOAT), 0);
  EXPECT_EQ(kit::qdq::BitsOf(EP_TYPE_INT64), 0);
}

}  // namespace
}  // namespace epiphyte::test
