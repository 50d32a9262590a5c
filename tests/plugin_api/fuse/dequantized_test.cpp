// Constants that a DequantizeLinear makes floats of: floats, or weights of few bits in blocks.
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

// 20 rows in blocks of 16, two columns; the numbers of column 1 are those of column 0 and 1 more.
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
  text = With(text, "block_size=16", "block_size=10");
  EXPECT_EQ(RecognisedOperators(text, Blocked()), "DequantizeLinear MatMul");
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
  EXPECT_EQ(RecognisedOperators(With(text, "transB=1", "transB=1, alpha=2.0"), Blocked()), "DequantizeLinear Gemm");
}

}  // namespace
}  // namespace epiphyte::test
