// GEMMs and convolutions with the nodes after them, Gemm, and nodes that are folded into a convolution's weights.
#include "epiphyte/kit/fuse/products.hpp"

#include <gmock/gmock.h>

#include "epiphyte/kit/fuse/fold.hpp"
#include "epiphyte/kit/fuse/gemm.hpp"
#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

using kit::fuse::ProductOptions;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

std::vector<float> FloatsOf(const kit::ir::Graph& graph, int32_t value) {
  const kit::ir::Tensor& tensor = graph.FindConstant(value)->tensor;
  return {tensor.as<float>(), tensor.as<float>() + tensor.Count()};
}

Recogniser Products(ProductOptions options = {}) {
  return [options](kit::ir::Editor& editor) { kit::fuse::FuseProducts(editor, options); };
}
Recogniser Convolutions(ProductOptions options = {}) {
  return [options](kit::ir::Editor& editor) { kit::fuse::FuseConvolutions(editor, options); };
}

const std::string kConv = R"(
in x: float[1,2,4,4]
in r: float[1,2,4,4]
const w: float[2,2,1,1] = [1, 2, 3, 4]
c = Conv@11<activation="Tanh">(x, w) : float[1,2,4,4]
a = Add@14(r, c) : float[1,2,4,4]
y = Relu@14(a) : float[1,2,4,4]
out y
)";

TEST(FuseConvolutions, ResidualAndActivationBecomeAttributesAndInput) {
  EXPECT_EQ(Recognised(kConv, Convolutions()),
            "y = epiphyte.kit::Conv<activation=\"Relu\", activation_alpha=0.0, activation_beta=0.0>(x, w, _, r)\n");
}

TEST(FuseConvolutions, AProviderSaysWhatItTakes) {
  ProductOptions options;
  options.residual = false;
  EXPECT_EQ(RecognisedOperators(kConv, Convolutions(options)), "Conv Add Relu");
  options = {};
  options.takes_activation = [](const kit::fuse::Activation&) { return false; };
  EXPECT_EQ(Recognised(kConv, Convolutions(options)), "a = epiphyte.kit::Conv(x, w, _, r)\ny = Relu(a)\n");
  options = {};
  options.takes = [](const kit::ir::Editor&, const kit::ir::Node& node) { return node.Int("group", 1) != 1; };
  EXPECT_EQ(RecognisedOperators(kConv, Convolutions(options)), "Conv Add Relu");
  options = {};
  options.takes_type = [](EpElementType type) { return type == EP_TYPE_FLOAT16; };
  EXPECT_EQ(RecognisedOperators(kConv, Convolutions(options)), "Conv Add Relu");
  std::string half = kConv;
  for (size_t at = 0; (at = half.find("float[", at)) != std::string::npos; at += 7) half.replace(at, 5, "float16");
  EXPECT_EQ(RecognisedOperators(half, Convolutions(options)), "Conv");
}

TEST(FuseConvolutions, AValueThatIsNeededBesidesIsMade) {
  EXPECT_EQ(Recognised(kConv + "out a\n", Convolutions()), "a = epiphyte.kit::Conv(x, w, _, r)\ny = Relu(a)\n");
  EXPECT_EQ(RecognisedOperators(kConv + "out c\n", Convolutions()), "Conv Add Relu");
}

TEST(FuseProducts, ARowTheResidualAndTheActivationJoinAMatMul) {
  const std::string text = R"(
in x: float[2,3,8]
in r: float[2,3,4]
in b: float[8,4]
const row: float[1,4] = …
m = MatMul@13(x, b) : float[2,3,4]
s = Add@14(row, m) : float[2,3,4]
a = Add@14(s, r) : float[2,3,4]
y = Gelu@20(a) : float[2,3,4]
out y
)";
  EXPECT_EQ(Recognised(text, Products()),
            "y = epiphyte.kit::MatMul<activation=\"Gelu\", activation_alpha=0.0, activation_beta=0.0>(x, b, row, r)\n");
  EXPECT_EQ(RecognisedOperators(With(text, "row: float[1,4]", "row: float[3,4]"), Products()), "MatMul Add Add Gelu")
      << "no row";
}

TEST(FuseProducts, AGemmTakesAnActivationAlone) {
  const std::string text = R"(
in x: float[3,8]
in b: float[8,4]
const row: float[4] = …
g = Gemm@13<alpha=2.0>(x, b, row) : float[3,4]
y = Sigmoid@13(g) : float[3,4]
out y
)";
  EXPECT_EQ(Recognised(text, Products()),
            "y = epiphyte.kit::Gemm<activation=\"Sigmoid\", activation_alpha=0.0, activation_beta=0.0, alpha=2.0>"
            "(x, b, row)\n");
}

const std::string kSum = R"(
in x: float[3,8]
in b: float[8,4]
in c: float[1,4]
m = MatMul@13(x, b) : float[3,4]
y = Add@14(m, c) : float[3,4]
out y
)";

TEST(FuseGemms, AProductOfMatricesAndWhatIsAddedToIt) {
  const auto fuse = [](kit::ir::Editor& editor) { kit::fuse::FuseGemms(editor); };
  EXPECT_EQ(Recognised(kSum, fuse), "y = Gemm(x, b, c)\n");
  EXPECT_EQ(Recognised(With(kSum, "MatMul@13", "Gemm@13<beta=0.5, transA=0>"), fuse), "y = Gemm<transA=0>(x, b, c)\n")
      << "beta was for a C that there wasn't";
  EXPECT_EQ(RecognisedOperators(With(kSum, "in c: float[1,4]", "in c: float[2,1,4]"), fuse), "MatMul Add");
  EXPECT_EQ(RecognisedOperators(With(kSum, "Add@14", "Add@6"), fuse), "MatMul Add");
  EXPECT_EQ(RecognisedOperators(With(kSum, "in c: float[1,4]", "in c: float[2,4]"), fuse), "MatMul Add");
}

const std::string kFold = R"(
in x: float[1,1,4]
const w: float[2,1,1] = [1, 2]
const s: float[2] = [2, 3]
const t: float[2] = [10, 20]
const mean: float[2] = [1, 2]
const var: float[2] = [3, 8]
c = Conv@11(x, w) : float[1,2,4]
y = BatchNormalization@15<epsilon=1.0>(c, s, t, mean, var) : float[1,2,4]
out y
)";
const Recogniser kFoldAll = [](kit::ir::Editor& editor) { kit::fuse::FoldIntoConvolutions(editor); };

TEST(FoldIntoConvolutions, BatchNormalizationScalesAndShifts) {
  const kit::ir::Graph graph = RecognisedGraph(kFold, kFoldAll);
  ASSERT_EQ(NodesToText(graph), "y = Conv(x, w_folded, w_bias)\n");
  // The factors are 2 / 2 and 3 / 3, and the shifts 10 - 1 and 20 - 2.
  EXPECT_THAT(FloatsOf(graph, graph.nodes[0].inputs[1]), ElementsAre(1, 2));
  EXPECT_THAT(FloatsOf(graph, graph.nodes[0].inputs[2]), ElementsAre(9, 18));
}

TEST(FoldIntoConvolutions, ArithmeticWithNumbersOfEachChannel) {
  const std::string text = With(kFold, "y = BatchNormalization@15<epsilon=1.0>(c, s, t, mean, var) : float[1,2,4]",
                                "m = Mul@14(c, k) : float[1,2,4]\nd = Div@14(m, h) : float[1,2,4]\n"
                                "y = Sub@14(d, k) : float[1,2,4]");
  const kit::ir::Graph graph =
      RecognisedGraph(With(text, "in x", "const k: float[2,1] = [3, 5]\nconst h: float[] = [2]\nin x"), kFoldAll);
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_THAT(FloatsOf(graph, graph.nodes[0].inputs[1]), Pointwise(FloatNear(1e-6f), {1.5f, 5.0f}));
  EXPECT_THAT(FloatsOf(graph, graph.nodes[0].inputs[2]), ElementsAre(-3, -5));
}

TEST(FoldIntoConvolutions, StaysWhereTheResultIsNeededAsItIs) {
  EXPECT_EQ(RecognisedOperators(kFold + "out c\n", kFoldAll), "Conv BatchNormalization");
  EXPECT_EQ(RecognisedOperators(With(kFold, "epsilon=1.0", "epsilon=1.0, training_mode=1"), kFoldAll),
            "Conv BatchNormalization");
  EXPECT_EQ(RecognisedOperators(With(kFold, "const var: float[2] = [3, 8]", "in var: float[2]"), kFoldAll),
            "Conv BatchNormalization");
  EXPECT_EQ(RecognisedOperators(With(kFold, "const var: float[2] = [3, 8]", "const var: float[2] = [-1, 8]"), kFoldAll),
            "Conv BatchNormalization")
      << "a factor that isn't finite";
}

// A caller that reports this progress lets the host drop the weights that the folds replace.
TEST(FoldIntoConvolutions, TellsHowManyBytesEachFoldMade) {
  std::vector<uint64_t> made;
  EXPECT_EQ(RecognisedOperators(R"(
in x: float[1,2,4,4]
const w: float[3,2,1,1] = [1, 2, 3, 4, 5, 6]
const factor: float[3,1,1] = [2, 2, 2]
const shift: float[3,1,1] = [1, 1, 1]
c = Conv@11(x, w) : float[1,3,4,4]
m = Mul@14(c, factor) : float[1,3,4,4]
y = Add@14(m, shift) : float[1,3,4,4]
out y
)",
                                [&](kit::ir::Editor& editor) {
                                  kit::fuse::FoldIntoConvolutions(editor,
                                                                  [&](uint64_t bytes) { made.push_back(bytes); });
                                }),
            "Conv");
  EXPECT_THAT(made, ElementsAre(6 * sizeof(float), 3 * sizeof(float))) << "weights, then a bias";
}

TEST(FuseBatchNormalizations, OnlyInInference) {
  const std::string text =
      "in x: float[1,2,4]\nin c: float[2]\ny = BatchNormalization@15(x, c, c, c, c) : float[1,2,4]\n"
      "z = Relu@14(y) : float[1,2,4]\nout z";
  const auto fused = [](const std::string& graph) {
    return RecognisedOperators(graph, [](kit::ir::Editor& editor) { kit::fuse::FuseBatchNormalizations(editor); });
  };
  EXPECT_EQ(fused(text), "BatchNormalization");
  EXPECT_EQ(fused(With(text, "@15(", "@15<training_mode=1>(")), "BatchNormalization Relu");
  EXPECT_EQ(fused(With(text, "@15(", "@6(")), "BatchNormalization Relu") << "is_test is 0";
  EXPECT_EQ(fused(With(text, "@15(", "@7<spatial=0>(")), "BatchNormalization Relu");
  EXPECT_EQ(fused(With(text, "out z", "out z\nout y")), "BatchNormalization Relu");
}

}  // namespace
}  // namespace epiphyte::test
