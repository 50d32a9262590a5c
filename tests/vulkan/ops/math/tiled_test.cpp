// Kernels that share tiles in workgroup memory give the same results as kernels that do not. The software device has
// such memory and is faster without it.
#include <cmath>
#include <sstream>

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
  // Checks that the notes of the last run contain `words`.
  void ExpectNote(std::string_view words) {
    std::string all;
    for (const auto& [node, note] : program().notes) all += note + "\n";
    EXPECT_THAT(all, testing::HasSubstr(words));
  }
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

// Sizes that are no multiples of a tile, for tiles of 32, 64 and 128 (ops/workgroup_tiles.h). With tiles of 32, slices
// of the workgroup share the steps along k.
struct TiledProduct {
  int64_t batches, m, k, n;
  const char* tiles;
};
constexpr TiledProduct kTiledProducts[] = {
    {1, 33, 36, 40, "tiles of 32 by 32"},
    {2, 50, 132, 36, "tiles of 32 by 32"},
    {32, 66, 36, 68, "tiles of 64 by 64"},
    {32, 130, 36, 132, "tiles of 128 by 128"},
};

std::string ShapeText(const Dims& dims) {
  std::string text;
  for (const int64_t dim : dims) text += (text.empty() ? "[" : ",") + std::to_string(dim);
  return text + "]";
}

TEST_F(Tiled, ProductsInTilesOfEachSize) {
  for (const TiledProduct& of : kTiledProducts) {
    for (const bool columns : {false, true}) {
      const Dims a = {of.batches, of.m, of.k}, y = {of.batches, of.m, of.n};
      const Dims b = columns ? Dims{of.batches, of.n, of.k} : Dims{of.batches, of.k, of.n};
      ExpectSame("in a: float" + ShapeText(a) + "\nin b: float" + ShapeText(b) + "\ny = Einsum@12<equation=\"bmk," +
                     (columns ? "bnk" : "bkn") + "->bmn\">(a, b) : float" + ShapeText(y) + "\nout y\n",
                 {Waves(a, 0.7f), Waves(b, 0.3f)}, columns ? "matmul_tiled_columns.f32" : "matmul_tiled_rows.f32");
      ExpectNote(of.tiles);
    }
  }
}

TEST_F(Tiled, ProductsByConstants) {
  for (const TiledProduct& of : kTiledProducts) {
    const Dims a = {of.batches * of.m, of.k}, y = {of.batches * of.m, of.n};
    std::ostringstream numbers;
    for (int64_t i = 0; i < of.k * of.n; ++i) numbers << (i == 0 ? "" : ",") << (i * 7 % 19 - 9) * 0.125;
    ExpectSame("in a: float" + ShapeText(a) + "\nconst b: float" + ShapeText({of.k, of.n}) + " = [" + numbers.str() +
                   "]\ny = Gemm@13(a, b) : float" + ShapeText(y) + "\nout y\n",
               {Waves(a, 0.7f)}, "matmul_tiled_packed.f32");
  }
}

TEST_F(Tiled, ProductsWithAllThatFollows) {
  for (const TiledProduct& of : kTiledProducts) {
    for (const char* activation : {"Relu", "Gelu"}) {
      const Dims a = {of.m, of.k}, b = {of.k, of.n}, y = {of.m, of.n};
      ExpectSame("in a: float" + ShapeText(a) + "\nin b: float" + ShapeText(b) + "\nin c: float" +
                     ShapeText({of.n}) + "\nin r: float" + ShapeText(y) + "\ny = epiphyte.kit::MatMul<activation=\"" +
                     activation + "\">(a, b, c, r) : float" + ShapeText(y) + "\nout y\n",
                 {Waves(a, 0.7f), Waves(b, 0.3f), Waves({of.n}, 0.9f), Waves(y, 0.2f)},
                 activation == std::string_view("Relu") ? "matmul_tiled_rows.f32" : "matmul_tiled_rows_long.f32");
    }
  }
}

TEST_F(Tiled, ProductsOfHalves) {
  if (!capabilities().Has(Capability::kFp16)) GTEST_SKIP() << "the device has no float16 arithmetic";
  for (const TiledProduct& of : kTiledProducts) {
    const Dims a = {of.batches, of.m, of.k}, b = {of.batches, of.k, of.n}, y = {of.batches, of.m, of.n};
    const std::string graph = "in a: float16" + ShapeText(a) + "\nin b: float16" + ShapeText(b) +
                              "\ny = MatMul@13(a, b) : float16" + ShapeText(y) + "\nout y\n";
    const Tensors inputs = {Halves(a, Waves(a, 0.7f).As<float>()), Halves(b, Waves(b, 0.3f).As<float>())};
    const Tensors plain = Run(graph, inputs);
    Prefer(Capability::kSharedMemory);
    const Tensors tiled = Run(graph, inputs);
    PreferNothing();
    EXPECT_EQ(program().dispatches.back().shader, "matmul_tiled_rows_half.f16");
    ExpectNote(of.tiles);
    EXPECT_THAT(FromHalves(tiled[0]), testing::Pointwise(testing::FloatNear(0.05f), FromHalves(plain[0])));
  }
}

TEST_F(Tiled, ConvolutionsInTilesOfEachSize) {
  struct {
    int64_t images, filters, side;
    const char* tiles;
  } const cases[] = {{1, 33, 6, "tiles of 32 by 32"}, {32, 66, 11, "tiles of 64 by 64"}, {32, 130, 14, "tiles of 128 by 128"}};
  for (const auto& of : cases) {
    const Dims x = {of.images, 5, of.side, of.side}, w = {of.filters, 5, 3, 3};
    const Dims y = {of.images, of.filters, of.side - 2, of.side - 2};
    ExpectSame("in x: float" + ShapeText(x) + "\nin w: float" + ShapeText(w) + "\ny = Conv@11(x, w) : float" +
                   ShapeText(y) + "\nout y\n",
               {Waves(x, 0.7f), Waves(w, 0.3f)}, "conv_tiled.f32");
    ExpectNote(of.tiles);
  }
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
