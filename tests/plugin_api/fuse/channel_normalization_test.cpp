// Instance and group normalization as exporters write them.
#include "epiphyte/kit/fuse/channel_normalization.hpp"

#include <gmock/gmock.h>

#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

using testing::ElementsAre;

const Recogniser kFuse = [](kit::ir::Editor& editor) { kit::fuse::FuseChannelNormalizations(editor); };

std::vector<float> FloatsOf(const kit::ir::Graph& graph, int32_t value) {
  const kit::ir::Tensor& tensor = graph.FindConstant(value)->tensor;
  return {tensor.as<float>(), tensor.as<float>() + tensor.Count()};
}

const std::string kInstance = R"(
in x: float[2,2,5,5]
const epsilon: float[] = [0.001]
const w: float[2,1,1] = [3, 4]
const b: float[1,2,1,1] = [5, 6]
m = ReduceMean@13<axes=[2,3]>(x) : float[2,2,1,1]
d = Sub@14(x, m) : float[2,2,5,5]
q = Mul@14(d, d) : float[2,2,5,5]
v = ReduceMean@13<axes=[-1,-2]>(q) : float[2,2,1,1]
e = Add@14(v, epsilon) : float[2,2,1,1]
r = Sqrt@13(e) : float[2,2,1,1]
n = Div@14(d, r) : float[2,2,5,5]
s = Mul@14(n, w) : float[2,2,5,5]
y = Add@14(s, b) : float[2,2,5,5]
out y
)";

TEST(FuseChannelNormalizations, InstanceNormalizationWithScaleAndBias) {
  const kit::ir::Graph graph = RecognisedGraph(kInstance, kFuse);
  EXPECT_EQ(NodesToText(graph), "y = InstanceNormalization<epsilon=0.001>(x, y_scale, y_bias)\n");
  EXPECT_THAT(FloatsOf(graph, graph.nodes[0].inputs[1]), ElementsAre(3, 4));
  EXPECT_THAT(FloatsOf(graph, graph.nodes[0].inputs[2]), ElementsAre(5, 6));
}

TEST(FuseChannelNormalizations, AScaleWithoutABias) {
  std::string text = With(kInstance, "s = Mul@14(n, w)", "y = Mul@14(w, n)");
  text = With(text, "y = Add@14(s, b) : float[2,2,5,5]\n", "");
  const kit::ir::Graph graph = RecognisedGraph(text, kFuse);
  ASSERT_EQ(NodesToText(graph), "y = InstanceNormalization<epsilon=0.001>(x, y_scale, y_bias)\n");
  EXPECT_THAT(FloatsOf(graph, graph.nodes[0].inputs[2]), ElementsAre(0, 0));
}

TEST(FuseChannelNormalizations, StaysOverOtherAxes) {
  EXPECT_NE(RecognisedOperators(With(kInstance, "axes=[2,3]", "axes=[1,2,3]"), kFuse), "InstanceNormalization");
  EXPECT_NE(RecognisedOperators(With(kInstance, "const w: float[2,1,1] = [3, 4]", "in w: float[2,1,1]"), kFuse),
            "InstanceNormalization");
}

// GroupNormalization as PyTorch writes it below opset 18.
const std::string kGroup = R"(
in x: float[2,4,3,3]
const shape: int64[3] = [0, 2, -1]
const back: int64[4] = [2, 4, 3, 3]
const ones: float[2] = [1, 2]
const zeros: float[2] = [0, 1]
const w: float[4,1,1] = [1, 2, 3, 4]
const b: float[4,1,1] = [5, 6, 7, 8]
g = Reshape@14(x, shape) : float[2,2,18]
n = InstanceNormalization@6<epsilon=0.001>(g, ones, zeros) : float[2,2,18]
i = Reshape@14(n, back) : float[2,4,3,3]
s = Mul@14(i, w) : float[2,4,3,3]
y = Add@14(s, b) : float[2,4,3,3]
out y
)";

TEST(FuseChannelNormalizations, GroupNormalizationAsAReshapedInstanceNormalization) {
  const kit::ir::Graph graph = RecognisedGraph(kGroup, kFuse);
  ASSERT_EQ(NodesToText(graph), "y = GroupNormalization<epsilon=0.001, num_groups=2>(x, y_scale, y_bias)\n");
  EXPECT_EQ(graph.nodes[0].since_version, 21) << "one scale for each channel";
  EXPECT_THAT(FloatsOf(graph, graph.nodes[0].inputs[1]), ElementsAre(1, 2, 6, 8));
  EXPECT_THAT(FloatsOf(graph, graph.nodes[0].inputs[2]), ElementsAre(5, 6, 7 + 3, 8 + 4));
}

TEST(FuseChannelNormalizations, GroupNormalizationOfAnUnknownBatch) {
  std::string text = kGroup;
  for (size_t at = 0; (at = text.find("float[2,", at)) != std::string::npos;) text.replace(at, 8, "float[-1,");
  text = With(text, "const back: int64[4] = [2, 4, 3, 3]\n", "");
  text = With(text, "g = Reshape", "back = Shape@13(x) : int64[4]\ng = Reshape");
  EXPECT_EQ(RecognisedOperators(text, kFuse), "GroupNormalization");
  EXPECT_NE(RecognisedOperators(With(text, "[0, 2, -1]", "[-1, 2, 18]"), kFuse), "GroupNormalization")
      << "the batch may not be where it was";
}

TEST(FuseChannelNormalizations, GroupNormalizationWrittenOut) {
  const std::string normal = R"(m = ReduceMean@18<keepdims=1>(g, last) : float[2,2,1]
d = Sub@14(g, m) : float[2,2,18]
q = Mul@14(d, d) : float[2,2,18]
v = ReduceMean@18(q, last) : float[2,2,1]
e = Add@14(v, epsilon) : float[2,2,1]
r = Sqrt@13(e) : float[2,2,1]
n = Div@14(d, r) : float[2,2,18]
)";
  std::string text =
      With(kGroup, "n = InstanceNormalization@6<epsilon=0.001>(g, ones, zeros) : float[2,2,18]\n", normal);
  text = With(text, "in x", "const epsilon: float[] = [0.25]\nconst last: int64[1] = [2]\nin x");
  EXPECT_EQ(Recognised(text, kFuse), "y = GroupNormalization<epsilon=0.25, num_groups=2>(x, y_scale, y_bias)\n");
}

}  // namespace
}  // namespace epiphyte::test
