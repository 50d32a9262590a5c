// Attention as exporters write it: scales, masks, grouped heads, caches, and the operators that it becomes.
#include "epiphyte/kit/fuse/attention.hpp"

#include <gtest/gtest.h>

#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

using kit::fuse::AttentionOptions;

Recogniser Attention(AttentionOptions options = {}) {
  return [options](kit::ir::Editor& editor) { kit::fuse::FuseAttention(editor, options); };
}
AttentionOptions Onnx(bool cache = false) {
  AttentionOptions options;
  options.form = AttentionOptions::Form::kOnnx;
  options.cache = cache;
  return options;
}

const std::string kPlain = R"(
in q: float[1,6,2,8]
in k: float[1,7,2,8]
in v: float[1,7,2,8]
in mask: float[1,1,6,7]
const root: float[] = [4]
qt = Transpose@13<perm=[0,2,1,3]>(q) : float[1,2,6,8]
kt = Transpose@13<perm=[0,2,3,1]>(k) : float[1,2,8,7]
vt = Transpose@13<perm=[0,2,1,3]>(v) : float[1,2,7,8]
s = MatMul@13(qt, kt) : float[1,2,6,7]
d = Div@14(s, root) : float[1,2,6,7]
m = Add@14(d, mask) : float[1,2,6,7]
p = Softmax@13<axis=-1>(m) : float[1,2,6,7]
o = MatMul@13(p, vt) : float[1,2,6,8]
y = Transpose@13<perm=[0,2,1,3]>(o) : float[1,6,2,8]
out y
)";

TEST(FuseAttention, TransposesBecomePermutations) {
  EXPECT_EQ(Recognised(kPlain, Attention()),
            "y = epiphyte.kit::Attention<k_perm=[0,2,3,1], q_perm=[0,2,1,3], scale=0.25, v_perm=[0,2,1,3], "
            "y_perm=[0,2,1,3]>(q, k, v, mask)\n");
}

TEST(FuseAttention, OrStayForTheOperatorOfOnnx) {
  EXPECT_EQ(RecognisedOperators(kPlain, Attention(Onnx())), "Transpose Transpose Transpose Attention Transpose");
  const kit::ir::Graph graph = RecognisedGraph(kPlain, Attention(Onnx()));
  const kit::ir::Node& node = graph.nodes[3];
  EXPECT_TRUE(node.domain.empty());
  EXPECT_EQ(node.since_version, 23);
  EXPECT_EQ(node.Float("scale", 0), 0.25f);
  const kit::ir::Value& keys = graph.values[static_cast<size_t>(node.inputs[1])];
  EXPECT_EQ(keys.dims, (std::vector<int64_t>{1, 2, 7, 8})) << "[batch, heads, keys, size]";
}

TEST(FuseAttention, TheScaleOnQueriesAndKeys) {
  std::string text = With(kPlain, "d = Div@14(s, root) : float[1,2,6,7]\n", "");
  text = With(text, "Add@14(d, mask)", "Add@14(mask, s)");
  text = With(text, "s = MatMul@13(qt, kt)",
              "qs = Mul@14(qt, half) : float[1,2,6,8]\nks = Mul@14(half, kt) : float[1,2,8,7]\ns = MatMul@13(qs, ks)");
  text = With(text, "in q", "const half: float[] = [0.5]\nin q");
  EXPECT_EQ(Recognised(text, Attention()),
            "y = epiphyte.kit::Attention<k_perm=[0,2,3,1], q_perm=[0,2,1,3], scale=0.25, v_perm=[0,2,1,3], "
            "y_perm=[0,2,1,3]>(q, k, v, mask)\n")
      << "as PyTorch's scaled_dot_product_attention";
}

TEST(FuseAttention, WithoutAMask) {
  std::string text = With(kPlain, "m = Add@14(d, mask) : float[1,2,6,7]\n", "");
  text = With(text, "Softmax@13<axis=-1>(m)", "Softmax@11<axis=3>(d)");
  EXPECT_EQ(RecognisedOperators(text, Attention()), "Attention");
  EXPECT_EQ(RecognisedGraph(text, Attention(Onnx())).nodes[3].inputs.size(), 3u);
}

TEST(FuseAttention, StaysForWhatOnlyLooksLikeIt) {
  const auto stays = [](std::string_view from, std::string_view to) {
    return RecognisedOperators(With(kPlain, from, to), Attention()).find("Attention") == std::string::npos;
  };
  EXPECT_TRUE(stays("axis=-1", "axis=2"));
  EXPECT_TRUE(stays("mask: float[1,1,6,7]", "mask: float[5,1,1,6,7]"));
  EXPECT_TRUE(stays("mask: float[1,1,6,7]", "mask: float[1,1,6,6]"));
  EXPECT_TRUE(stays("out y", "out y, p")) << "the weights are needed too";
  EXPECT_TRUE(stays("perm=[0,2,3,1]", "perm=[0,2,3,9]") == false)
      << "a transpose that is none stays, the rest is joined";
  AttentionOptions options;
  options.takes_type = [](EpElementType) { return false; };
  EXPECT_EQ(RecognisedOperators(kPlain, Attention(options)).find("Attention"), std::string::npos);
}

// Two key and value heads for four query heads, with a cache of earlier ones, as Llama's exporters write it.
const std::string kGrouped = R"(
in q: float[1,4,1,8]
in k: float[1,2,1,8]
in v: float[1,2,1,8]
in past_k: float[1,2,-1,8]
in past_v: float[1,2,-1,8]
in mask: float[1,1,1,-1]
const two: int64[1] = [2]
in wide: int64[5]
in shape: int64[4]
const root: float[] = [0.5]
present_k = Concat@13<axis=2>(past_k, k) : float[1,2,-1,8]
present_v = Concat@13<axis=-2>(past_v, v) : float[1,2,-1,8]
k1 = Unsqueeze@13(present_k, two) : float[1,2,1,-1,8]
k2 = Expand@13(k1, wide) : float[1,2,2,-1,8]
k3 = Reshape@14(k2, shape) : float[1,4,-1,8]
v1 = Unsqueeze@13(present_v, two) : float[1,2,1,-1,8]
v2 = Expand@13(v1, wide) : float[1,2,2,-1,8]
v3 = Reshape@14(v2, shape) : float[1,4,-1,8]
kt = Transpose@13<perm=[0,1,3,2]>(k3) : float[1,4,8,-1]
s = MatMul@13(q, kt) : float[1,4,1,-1]
d = Mul@14(s, root) : float[1,4,1,-1]
m = Add@14(d, mask) : float[1,4,1,-1]
p = Softmax@13<axis=-1>(m) : float[1,4,1,-1]
y = MatMul@13(p, v3) : float[1,4,1,8]
out y, present_k, present_v
)";

TEST(FuseAttention, GroupedHeadsAreNotRepeated) {
  EXPECT_EQ(Recognised(kGrouped, Attention()),
            "present_k = Concat<axis=2>(past_k, k)\npresent_v = Concat<axis=-2>(past_v, v)\n"
            "y = epiphyte.kit::Attention<k_perm=[0,1,3,2], q_perm=[0,1,2,3], scale=0.5, v_perm=[0,1,2,3], "
            "y_perm=[0,1,2,3]>(q, present_k, present_v, mask)\n");
  std::string tiled = With(kGrouped, "Expand@13(k1", "Tile@13(k1");
  EXPECT_EQ(RecognisedOperators(tiled, Attention()), "Concat Concat Attention");
  EXPECT_EQ(RecognisedOperators(With(kGrouped, "k3 = Reshape@14(k2, shape) : float[1,4,-1,8]",
                                     "k3 = Reshape@14(k2, shape) : float[1,-1,-1,8]"),
                                Attention())
                .find("Attention"),
            std::string::npos)
      << "how often isn't known";
}

TEST(FuseAttention, ACacheBecomesInputsAndOutputs) {
  AttentionOptions permuted;
  permuted.cache = true;
  EXPECT_EQ(Recognised(kGrouped, Attention(permuted)),
            "y, present_k, present_v = epiphyte.kit::Attention<k_perm=[0,1,3,2], q_perm=[0,1,2,3], scale=0.5, "
            "v_perm=[0,1,2,3], y_perm=[0,1,2,3]>(q, k, v, mask, past_k, past_v)\n");
  EXPECT_EQ(Recognised(kGrouped, Attention(Onnx(true))),
            "y, present_k, present_v = Attention<scale=0.5>(q, k, v, mask, past_k, past_v)\n");
}

TEST(FuseAttention, ACacheOfTransposedKeys) {
  std::string text = With(kGrouped, "in k: float[1,2,1,8]", "in raw: float[1,1,2,8]");
  text = With(text, "present_k = Concat", "k = Transpose@13<perm=[0,2,1,3]>(raw) : float[1,2,1,8]\npresent_k = Concat");
  AttentionOptions permuted;
  permuted.cache = true;
  EXPECT_EQ(Recognised(text, Attention(permuted)),
            "y, present_k, present_v = epiphyte.kit::Attention<k_perm=[0,2,3,1], q_perm=[0,1,2,3], scale=0.5, "
            "v_perm=[0,1,2,3], y_perm=[0,1,2,3]>(q, raw, v, mask, past_k, past_v)\n");
}

TEST(FuseAttention, ACacheThatTheMaskIsMadeOfStaysOutside) {
  std::string text = With(kGrouped, "in mask: float[1,1,1,-1]\n", "");
  text = With(text, "k1 = Unsqueeze",
              "l = Shape@13(present_k) : int64[4]\nmask = ConstantOfShape@9(l) : float[1,1,1,-1]\n"
              "k1 = Unsqueeze");
  AttentionOptions options;
  options.cache = true;
  EXPECT_EQ(RecognisedOperators(text, Attention(options)), "Concat Concat Shape ConstantOfShape Attention");
}

TEST(FuseAttention, ACacheWhoseShapeOnlyRepeatsHeadsIsTakenIn) {
  std::string text = With(kGrouped, "in wide: int64[5]\n", "");
  text = With(text, "k1 = Unsqueeze",
              "l = Shape@13(present_k) : int64[4]\nwide = Concat@13<axis=0>(two, l) : int64[5]\n"
              "k1 = Unsqueeze");
  EXPECT_EQ(RecognisedOperators(text, Attention(Onnx(true))), "Attention");
}

}  // namespace
}  // namespace epiphyte::test
