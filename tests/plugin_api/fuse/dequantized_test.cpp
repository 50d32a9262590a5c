// Constants that a DequantizeLinear converts to float: they become floats, or block-quantized weights of few bits.
#include "epiphyte/kit/fuse/dequantized.hpp"

#include <gmock/gmock.h>

#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Recogniser Folded(uint64_t most_bytes = 1 << 20) {
  return [most_bytes](kit::ir::Editor& editor) { kit::fuse::FoldDequantized(editor, most_bytes); };
}
Recogniser Blocked(kit::fuse::BlockedWeightsOptions options = {}) {
  return [options](kit::ir::Editor& editor) { kit::fuse::FuseBlockedWeights(editor, options); };
}

template <typename T>
std::vector<T> ElementsOf(const kit::ir::Graph& graph, int32_t value) {
  const kit::ir::Tensor& tensor = graph.FindConstant(value)->tensor;
  return {tensor.as<T>(), tensor.as<T>() + tensor.Bytes() / sizeof(T)};
}

std::vector<float> FloatsOf(const std::string& text) {
  const kit::ir::Graph graph = RecognisedGraph(text, Folded());
  EXPECT_EQ(graph.nodes.size(), 1u);
  return ElementsOf<float>(graph, graph.nodes[0].inputs[1]);
}

TEST(FoldDequantized, ByTensorAxisAndBlock) {
  EXPECT_THAT(FloatsOf("in x: float[2]\nconst w: int8[2] = [3, -4]\nconst s: float[] = [0.5]\nconst z: int8[] = [1]\n"
                       "d = DequantizeLinear@13(w, s, z) : float[2]\ny = Add@14(x, d) : float[2]\nout y\n"),
              ElementsAre(1.0f, -2.5f));
  EXPECT_THAT(FloatsOf("in x: float[2,2]\nconst w: uint8[2,2] = [1, 2, 3, 4]\nconst s: float[2] = [0.5, 2]\n"
                       "const z: uint8[2] = [1, 0]\nd = DequantizeLinear@13<axis=-1>(w, s, z) : float[2,2]\n"
                       "y = Add@14(x, d) : float[2,2]\nout y\n"),
              ElementsAre(0.0f, 4.0f, 1.0f, 8.0f));
  EXPECT_THAT(FloatsOf("in x: float[3,2]\nconst w: int32[3,2] = [1, 2, 3, 4, 5, 6]\n"
                       "const s: float[2,2] = [1, 10, 100, 1000]\n"
                       "d = DequantizeLinear@21<axis=0, block_size=2>(w, s) : float[3,2]\n"
                       "y = Add@14(x, d) : float[3,2]\nout y\n"),
              ElementsAre(1.0f, 20.0f, 3.0f, 40.0f, 500.0f, 6000.0f));
}

TEST(FoldDequantized, ByAnAxisWithOthersBehindIt) {
  EXPECT_THAT(FloatsOf("in x: float[2,3]\nconst w: int16[2,3] = [1, 2, 3, 400, 5, 6]\nconst s: float[2] = [0.5, 2]\n"
                       "const z: int16[2] = [1, 300]\nd = DequantizeLinear@21<axis=0>(w, s, z) : float[2,3]\n"
                       "y = Add@14(x, d) : float[2,3]\nout y\n"),
              ElementsAre(0.0f, 0.5f, 1.0f, 200.0f, -590.0f, -588.0f));
}

// The block is the whole axis, for each index of the axes before it.
TEST(FoldDequantized, ABlockMayBeAsLargeAsANumber) {
  EXPECT_THAT(FloatsOf("in x: float[2,3]\nconst w: int8[2,3] = [1, 2, 3, 4, 5, 6]\nconst s: float[2,1] = [1, 10]\n"
                       "d = DequantizeLinear@21<axis=1, block_size=9223372036854775807>(w, s) : float[2,3]\n"
                       "y = Add@14(x, d) : float[2,3]\nout y\n"),
              ElementsAre(1.0f, 2.0f, 3.0f, 40.0f, 50.0f, 60.0f));
}

TEST(FoldDequantized, HalvesAreRoundedOnce) {
  const kit::ir::Graph graph = RecognisedGraph(
      "in x: float16[2]\nconst w: int8[2] = [3, -4]\nconst s: float16[] = [0.5]\n"
      "d = DequantizeLinear@21(w, s) : float16[2]\ny = Add@14(x, d) : float16[2]\nout y\n",
      Folded());
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_THAT(ElementsOf<uint16_t>(graph, graph.nodes[0].inputs[1]), ElementsAre(0x3e00, 0xc000));
}

TEST(FoldDequantized, OtherFloatsStay) {
  EXPECT_EQ(RecognisedOperators("in x: bfloat16[1]\nconst w: int8[1] = [3]\nconst s: bfloat16[] = [0.5]\n"
                                "d = DequantizeLinear@21(w, s) : bfloat16[1]\ny = Add@14(x, d) : bfloat16[1]\nout y\n",
                                Folded()),
            "DequantizeLinear Add");
}

TEST(FoldDequantized, OutputsOfTheGraphAreFoldedToo) {
  const kit::ir::Graph graph = RecognisedGraph(
      "const w: int8[2] = [3, -4]\nconst s: float[] = [0.5]\nd = DequantizeLinear@13(w, s) : float[2]\nout d\n",
      Folded());
  EXPECT_TRUE(graph.nodes.empty());
  EXPECT_THAT(ElementsOf<float>(graph, graph.outputs[0]), ElementsAre(1.5f, -2.0f));
}

TEST(FoldDequantized, WhatIsTooLargeOrNoConstantStays) {
  const std::string text =
      "in x: float[2]\nconst w: int8[2] = [3, -4]\nconst s: float[] = [0.5]\n"
      "d = DequantizeLinear@13(w, s) : float[2]\ny = Add@14(x, d) : float[2]\nout y\n";
  EXPECT_EQ(RecognisedOperators(text, Folded(7)), "DequantizeLinear Add");
  EXPECT_EQ(RecognisedOperators(text, Folded(8)), "Add");
  EXPECT_EQ(RecognisedOperators(With(text, "const w: int8[2] = [3, -4]", "in w: int8[2]"), Folded()),
            "DequantizeLinear Add");
}

TEST(FoldDequantized, ItSaysHowManyBytesItMade) {
  kit::ir::Graph graph = kit::ir::FromText(
      "in x: float[2]\nconst w: int8[2] = [3, -4]\nconst s: float[] = [0.5]\n"
      "d = DequantizeLinear@13(w, s) : float[2]\ny = Add@14(x, d) : float[2]\nout y\n");
  kit::ir::Editor editor(graph);
  uint64_t made = 0;
  kit::fuse::FoldDequantized(editor, 100, [&](uint64_t bytes) { made += bytes; });
  EXPECT_EQ(made, 8u);
}

// Two columns with 20 rows in blocks of 16. Each number of column 1 is the number in column 0 plus 1.
std::string BlockedText(const std::string& zeros) {
  std::string numbers, columns;
  for (int k = 0; k < 20; ++k)
    numbers += (k == 0 ? "" : ",") + std::to_string(k % 7 - 4) + "," + std::to_string(k % 7 - 3);
  return "in a: float[3,20]\nconst w: int8[20,2] = [" + numbers +
         "]\nconst s: float[2,2] = [1, 2, 3, 4]\nconst z: int8[2,2] = [" + zeros +
         "]\nd = DequantizeLinear@21<axis=0, block_size=16>(w, s, z) : float[20,2]\n"
         "y = MatMul@13(a, d) : float[3,2]\nout y\n";
}

TEST(FuseBlockedWeights, AMatrixIsTurnedToColumnsOfBlocks) {
  const kit::ir::Graph graph = RecognisedGraph(BlockedText("0, 0, 0, 0"), Blocked());
  EXPECT_EQ(kit::ir::NodesToText(graph),
            "y = com.microsoft::MatMulNBits<K=20, N=2, bits=8, block_size=16>(a, d_numbers, d_scales)\n");
  const std::vector<uint8_t> numbers = ElementsOf<uint8_t>(graph, graph.nodes[0].inputs[1]);
  ASSERT_EQ(numbers.size(), 64u);
  EXPECT_EQ(numbers[0], 124);   // row 0 of column 0
  EXPECT_EQ(numbers[19], 129);  // row 19, in the second block
  EXPECT_EQ(numbers[32], 125);  // row 0 of column 1
  EXPECT_THAT(ElementsOf<float>(graph, graph.nodes[0].inputs[2]), ElementsAre(1, 3, 2, 4));
}

TEST(FuseBlockedWeights, ZeroPointsThatAreNotInTheMiddleAreTaken) {
  const kit::ir::Graph graph = RecognisedGraph(BlockedText("1, 2, 3, 4"), Blocked());
  ASSERT_EQ(graph.nodes[0].inputs.size(), 4u);
  EXPECT_THAT(ElementsOf<uint8_t>(graph, graph.nodes[0].inputs[3]), ElementsAre(129, 131, 130, 132));
}

TEST(FuseBlockedWeights, OtherBlocksAndOperatorsThatAProviderDeclinesStay) {
  std::string text = BlockedText("0, 0, 0, 0");
  kit::fuse::BlockedWeightsOptions declined;
  declined.takes = [](const kit::ir::Editor&, const kit::ir::Node&) { return false; };
  EXPECT_THAT(RecognisedOperators(text, Blocked(declined)), HasSubstr("MatMul"));
  EXPECT_EQ(RecognisedOperators(text, Blocked(declined)), "DequantizeLinear MatMul");
  EXPECT_EQ(RecognisedOperators(text, Blocked()), "MatMulNBits");
  EXPECT_EQ(RecognisedOperators(With(text, "block_size=16", "block_size=18"), Blocked()), "DequantizeLinear MatMul");
  // Weights of 16 bits stay, and so do products that use other floats than the weights.
  const std::string wide = With(With(text, "w: int8", "w: int16"), "z: int8", "z: int16");
  EXPECT_EQ(RecognisedOperators(wide, Blocked()), "DequantizeLinear MatMul");
  const std::string other =
      With(With(text, "a: float[", "a: float16["), "y = MatMul@13(a, d) : float[", "y = MatMul@13(a, d) : float16[");
  EXPECT_EQ(RecognisedOperators(other, Blocked()), "DequantizeLinear MatMul");
  const std::string wider = With(With(With(With(text, "a: float[", "a: bfloat16["), "s: float[", "s: bfloat16["),
                                      "(w, s, z) : float[", "(w, s, z) : bfloat16["),
                                 "y = MatMul@13(a, d) : float[", "y = MatMul@13(a, d) : bfloat16[");
  EXPECT_EQ(RecognisedOperators(wider, Blocked()), "DequantizeLinear MatMul");
}

// The weights have four rows of 32 columns, with blocks along the columns or the rows.
TEST(FuseBlockedWeights, BlocksOfColumnsAndSmallOnesStay) {
  std::string numbers;
  for (int i = 0; i < 16 * 32; ++i) numbers += (i == 0 ? "" : ",") + std::to_string(i % 100);
  const auto text = [&](const std::string& scales, const std::string& attributes) {
    std::string list;
    for (int i = 0; i < 64; ++i) list += i == 0 ? "1" : ",1";
    return "in a: float[3,16]\nconst w: int8[16,32] = [" + numbers + "]\nconst s: float[" + scales + "] = [" +
           list.substr(0, scales == "1,32"   ? 63
                          : scales == "16,2" ? 63
                                             : 127) +
           "]\nd = DequantizeLinear@21<" + attributes +
           ">(w, s) : float[16,32]\ny = MatMul@13(a, d) : float[3,32]\nout y\n";
  };
  EXPECT_EQ(RecognisedOperators(text("1,32", "axis=0, block_size=16"), Blocked()), "MatMulNBits");
  EXPECT_EQ(RecognisedOperators(text("16,2", "axis=1, block_size=16"), Blocked()), "DequantizeLinear MatMul");
  EXPECT_EQ(RecognisedOperators(text("2,32", "axis=0, block_size=8"), Blocked()), "DequantizeLinear MatMul");
  EXPECT_EQ(RecognisedOperators(text("1,32", "axis=0, block_size=2097152"), Blocked()), "DequantizeLinear MatMul");
}

// 20 columns of two blocks each, with two bits per weight, so the zero points of a column take half a byte.
TEST(FuseBlockedWeights, OfTwoBits) {
  std::string numbers, scales, zeros;
  for (int i = 0; i < 32 * 3; ++i) numbers += (i == 0 ? "" : ",") + std::to_string(i / 3 % 4);
  for (int i = 0; i < 6; ++i)
    scales += (i == 0 ? "" : ",") + std::to_string(i), zeros += (i == 0 ? "" : ",") + std::to_string(i % 4);
  const kit::ir::Graph graph =
      RecognisedGraph("in a: float[3,32]\nconst w: uint2[32,3] = [" + numbers + "]\nconst s: float[2,3] = [" + scales +
                          "]\nconst z: uint2[2,3] = [" + zeros +
                          "]\nd = DequantizeLinear@25<axis=0, block_size=16>(w, s, z) : float[32,3]\n"
                          "y = MatMul@13(a, d) : float[3,3]\nout y\n",
                      Blocked());
  ASSERT_EQ(graph.nodes[0].op_type, "MatMulNBits");
  EXPECT_EQ(ElementsOf<uint8_t>(graph, graph.nodes[0].inputs[1]), std::vector<uint8_t>(24, 0xe4));
  EXPECT_THAT(ElementsOf<float>(graph, graph.nodes[0].inputs[2]), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(ElementsOf<uint8_t>(graph, graph.nodes[0].inputs[3]), ElementsAre(0 | 3 << 2, 1 | 0 << 2, 2 | 1 << 2));
}

TEST(FuseBlockedWeights, GemmWithATransposedMatrixAndABias) {
  std::string numbers;
  for (int i = 0; i < 32; ++i) numbers += (i == 0 ? "" : ",") + std::to_string(i % 16);
  const std::string text = "in a: float[3,16]\nconst w: uint4[2,16] = [" + numbers +
                           "]\nconst s: float[2,1] = [1, 2]\nconst c: float[2] = [5, 6]\n"
                           "d = DequantizeLinear@21<axis=1, block_size=16>(w, s) : float[2,16]\n"
                           "y = Gemm@13<transB=1>(a, d, c) : float[3,2]\nout y\n";
  const kit::ir::Graph graph = RecognisedGraph(text, Blocked());
  EXPECT_EQ(
      kit::ir::NodesToText(graph),
      "y = com.microsoft::MatMulNBits<K=16, N=2, bits=4, block_size=16>(a, d_numbers, d_scales, d_zeros, _, c)\n");
  EXPECT_THAT(
      ElementsOf<uint8_t>(graph, graph.nodes[0].inputs[1]),
      ElementsAre(0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe));
  for (const auto& [from, to] : {std::pair{"transB=1", "transB=1, alpha=2.0"},
                                 {"transB=1", "transB=1, beta=2.0"},
                                 {"transB=1", "transB=1, transA=1"},
                                 {"c: float[2] = [5, 6]", "c: float[1] = [5]"},
                                 {"c: float[2] = [5, 6]", "c: float[2,1] = [5, 6]"},
                                 {"c: float[2] = [5, 6]", "c: float16[2] = [5, 6]"}})
    EXPECT_EQ(RecognisedOperators(With(text, from, to), Blocked()), "DequantizeLinear Gemm") << to;
}

}  // namespace
}  // namespace epiphyte::test
