// Kernels that share tiles in workgroup memory give what those without do: on a device that has it, and does better
// without.
#include <cmath>

#include "tests/vulkan/ops/math/op_run.h"

namespace epiphyte::vulkan {
namespace {

OpTensor Waves(const Dims& dims, float step) {
  std::vector<float> values;
  for (int64_t i = 0; i < dims.Count(); ++i) values.push_back(std::sin(static_cast<float>(i) * step));
  return Of<float>(dims, values);
}

class Tiled : public OpTest {
 protected:
  void ExpectSame(std::string_view graph, const Tensors& inputs, std::string_view shader) {
    SCOPED_TRACE(graph);
    const Tensors plain = Run(graph, inputs);
    Prefer(Capability::kSharedMemory);
    const Tensors tiled = Run(graph, inputs);
    bool found = false;
    for (const Dispatch& dispatch : program().dispatches) found = found || dispatch.shader == shader;
    EXPECT_TRUE(found) << shader << " was not chosen";
    PreferNothing();
    ASSERT_EQ(tiled.size(), plain.size());
    for (size_t i = 0; i < plain.size(); ++i)
      EXPECT_THAT(tiled[i].As<float>(), testing::Pointwise(testing::FloatNear(2e-5f), plain[i].As<float>()));
  }
};

TEST_F(Tiled, ConvolutionsOfBlocksWithARest) {
  ExpectSame(
      "in x: float[2,5,9,11]\nin w: float[70,5,3,3]\nin b: float[70]\n"
      "y = Conv@11<pads=[1,0,2,1]>(x, w, b) : float[2,70,10,10]\nout y\n",
      {Waves({2, 5, 9, 11}, 0.7f), Waves({70, 5, 3, 3}, 0.3f), Waves({70}, 0.9f)}, "conv_tiled.f32");
}

TEST_F(Tiled, ConvolutionsInGroupsWithResidualAndActivation) {
  for (const char* activation : {"Relu", "Sigmoid"})
    ExpectSame(std::string("in x: float[1,6,5,5]\nin w: float[18,3,3,3]\nin r: float[1,18,2,2]\n"
                           "y = epiphyte.kit::Conv<group=2, strides=[2,2], activation=\"") +
                   activation + "\">(x, w, _, r) : float[1,18,2,2]\nout y\n",
               {Waves({1, 6, 5, 5}, 0.7f), Waves({18, 3, 3, 3}, 0.3f), Waves({1, 18, 2, 2}, 0.2f)},
               activation == std::string_view("Relu") ? "conv_tiled.f32" : "conv_tiled_long.f32");
}

TEST_F(Tiled, NormalizationsOfRows) {
  const Tensors inputs = {Waves({3, 100}, 0.7f), Waves({100}, 0.3f), Waves({100}, 0.9f)};
  ExpectSame(
      "in x: float[3,100]\nin s: float[100]\nin b: float[100]\n"
      "y = LayerNormalization@17(x, s, b) : float[3,100]\nout y\n",
      inputs, "row_norm_shared.f32");
  ExpectSame(
      "in x: float[3,100]\nin s: float[100]\nin b: float[100]\n"
      "y, m, d = LayerNormalization@17(x, s, b) : float[3,100], float[3,1], float[3,1]\nout y\nout m\nout d\n",
      inputs, "row_norm_stats_shared.f32");
  ExpectSame(
      "in x: float[3,100]\nin s: float[100]\nin b: float[100]\nin k: float[3,100]\n"
      "y, sum = epiphyte.kit::SkipNormalization(x, k, s, b) : float[3,100], float[3,100]\nout y\nout sum\n",
      {inputs[0], inputs[1], inputs[2], Waves({3, 100}, 0.4f)}, "row_norm_skip_shared.f32");
}

TEST_F(Tiled, NormalizationsOfChannels) {
  ExpectSame(
      "in x: float[2,6,7,5]\nin s: float[6]\nin b: float[6]\n"
      "y = GroupNormalization@21<num_groups=2>(x, s, b) : float[2,6,7,5]\nout y\n",
      {Waves({2, 6, 7, 5}, 0.7f), Waves({6}, 0.3f), Waves({6}, 0.9f)}, "row_norm_shared.f32");
}

}  // namespace
}  // namespace epiphyte::vulkan
