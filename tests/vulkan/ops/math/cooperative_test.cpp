// GEMMs and convolutions with cooperative matrices are equal to those of the plain kernels, to the bit: the operands
// are chosen so that float sums of their products are exact in any order. The tests run on devices that have such
// matrices, even slow ones.
#include <sstream>

#include "tests/vulkan/ops/math/op_run.h"

namespace epiphyte::vulkan {
namespace {

// Multiples of 1/32 from -1 to 1, different for each seed.
std::vector<float> Numbers(const Dims& dims, uint32_t seed) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < dims.Count(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    numbers.push_back(static_cast<float>(static_cast<int>(seed >> 20) % 65 - 32) / 32);
  }
  return numbers;
}

std::string ShapeText(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(dims[i]);
  return text + "]";
}

std::string Input(const std::string& name, const Dims& dims) {
  return "in " + name + ": float16" + ShapeText(dims) + "\n";
}
std::string Constant(const std::string& name, const Dims& dims) {
  std::ostringstream text;
  text << "const " << name << ": float16" << ShapeText(dims) << " = [";
  const std::vector<float> numbers = Numbers(dims, 9);
  for (size_t i = 0; i < numbers.size(); ++i) text << (i == 0 ? "" : ",") << numbers[i];
  return text.str() + "]\n";
}
std::string Result(const std::string& node, const Dims& dims) {
  return "y = " + node + " : float16" + ShapeText(dims) + "\nout y\n";
}

class Cooperative : public OpTest {
 protected:
  void SetUp() override {
    OpTest::SetUp();
    if (!IsSkipped() && !capabilities().CanUse(Capability::kCoopMatrix))
      GTEST_SKIP() << capabilities().WhyNot(Capability::kCoopMatrix);
  }

  // `inputs`: shapes of the inputs. `tolerance`: absolute, of each element; not 0 if the plain kernel rounds twice.
  void ExpectSame(const std::string& graph, const std::vector<Dims>& inputs, const std::string& shader,
                  float tolerance = 0) {
    SCOPED_TRACE(graph.size() < 300 ? graph : graph.substr(0, 300) + "…");
    const auto values = [&](uint32_t seed) {
      Tensors halves;
      for (const Dims& dims : inputs) halves.push_back(Halves(dims, Numbers(dims, seed++)));
      return halves;
    };
    for (const Capability other :
         {Capability::kCoopMatrix, Capability::kSharedMemory, Capability::kSubgroup, Capability::kFp16})
      Disable(other);
    const Tensors plain = Run(graph, values(1));
    Run(graph, values(100));  // the memory that the result reuses then holds other numbers
    PreferNothing();
    Prefer(Capability::kCoopMatrix);
    const Tensors found = Run(graph, values(1));
    ASSERT_FALSE(program().dispatches.empty());
    EXPECT_EQ(program().dispatches.back().shader, shader);
    PreferNothing();
    EXPECT_THAT(FromHalves(found.at(0)), testing::Pointwise(testing::FloatNear(tolerance), FromHalves(plain.at(0))));
  }
};

TEST_F(Cooperative, RowsColumnsAndPackedWeights) {
  const Dims a = {70, 64}, y = {70, 132};
  ExpectSame(Input("a", a) + Input("b", {64, 132}) + Result("MatMul@13(a, b)", y), {a, {64, 132}},
             "matmul_coop_rows.f16");
  ExpectSame(Input("a", a) + Input("b", {132, 64}) + Result("Gemm@13<transB=1>(a, b)", y), {a, {132, 64}},
             "matmul_coop_columns.f16");
  ExpectSame(Input("a", a) + Constant("b", {64, 132}) + Result("MatMul@13(a, b)", y), {a}, "matmul_coop_packed.f16");
}

TEST_F(Cooperative, SizesThatAreNoMultiplesOfTheTile) {
  for (const int64_t m : {1, 3, 17, 64, 65, 130}) {
    for (const int64_t k : {4, 8, 20, 32, 100}) {
      const Dims a = {m, k}, rows = {k, 36}, columns = {33, k};
      ExpectSame(Input("a", a) + Input("b", rows) + Result("MatMul@13(a, b)", {m, 36}), {a, rows},
                 "matmul_coop_rows.f16");
      ExpectSame(Input("a", a) + Input("b", columns) + Result("Gemm@13<transB=1>(a, b)", {m, 33}), {a, columns},
                 "matmul_coop_columns.f16");
      ExpectSame(Input("a", a) + Constant("b", {k, 7}) + Result("MatMul@13(a, b)", {m, 7}), {a},
                 "matmul_coop_packed.f16");
    }
  }
}

TEST_F(Cooperative, Batches) {
  const auto check = [&](const Dims& a, const Dims& b, const Dims& y) {
    ExpectSame(Input("a", a) + Input("b", b) + Result("MatMul@13(a, b)", y), {a, b}, "matmul_coop_rows.f16");
  };
  check({3, 40, 32}, {3, 32, 72}, {3, 40, 72});
  check({3, 40, 32}, {32, 72}, {3, 40, 72});
  check({2, 1, 40, 32}, {1, 3, 32, 72}, {2, 3, 40, 72});  // uses a table of matrices
}

TEST_F(Cooperative, BiasResidualAndActivation) {
  const Dims a = {40, 32}, b = {32, 72}, y = {40, 72};
  for (const char* activation : {"", "Relu", "Sigmoid", "Gelu"}) {
    const std::string attribute = *activation == '\0' ? "" : std::string("<activation=\"") + activation + "\">";
    const bool is_long = activation == std::string("Sigmoid") || activation == std::string("Gelu");
    ExpectSame(Input("a", a) + Input("b", b) + Input("c", {72}) + Input("r", y) +
                   Result("epiphyte.kit::MatMul" + attribute + "(a, b, c, r)", y),
               {a, b, {72}, y}, is_long ? "matmul_coop_rows_long.f16" : "matmul_coop_rows.f16");
  }
  for (const Dims& c : {Dims{1, 72}, Dims{40, 1}, Dims{40, 72}})
    ExpectSame(Input("a", a) + Input("b", b) + Input("c", c) + Result("Gemm@13<alpha=0.5, beta=2.0>(a, b, c)", y),
               {a, b, c}, "matmul_coop_rows.f16");
}

TEST_F(Cooperative, Convolutions) {
  const auto check = [&](const std::string& attributes, const Dims& x, const Dims& w, const Dims& y) {
    for (const bool computed : {false, true})
      ExpectSame(
          Input("x", x) + (computed ? Input("w", w) : Constant("w", w)) + Result("Conv@11" + attributes + "(x, w)", y),
          computed ? std::vector{x, w} : std::vector{x}, "conv_coop.f16");
  };
  check("", {1, 32, 8, 8}, {64, 32, 1, 1}, {1, 64, 8, 8});
  check("<pads=[1,1,1,1]>", {2, 7, 9, 11}, {70, 7, 3, 3}, {2, 70, 9, 11});
  check("<strides=[2,3], dilations=[2,1]>", {3, 5, 20, 21}, {9, 5, 3, 4}, {3, 9, 8, 6});
  check("<group=3, pads=[1,0,2,1]>", {2, 12, 6, 7}, {30, 4, 3, 3}, {2, 30, 7, 6});
  check("<strides=[2]>", {1, 40, 41}, {33, 40, 3}, {1, 33, 20});
  check("<strides=[1,2,1], dilations=[2,1,1]>", {1, 3, 6, 7, 5}, {10, 3, 2, 3, 2}, {1, 10, 4, 3, 4});
}

TEST_F(Cooperative, ConvolutionsWithBiasResidualAndActivation) {
  const Dims x = {2, 32, 6, 6}, w = {40, 32, 3, 3}, y = {2, 40, 4, 4};
  for (const char* activation : {"Relu", "Sigmoid"})
    ExpectSame(Input("x", x) + Input("w", w) + Input("b", {40}) + Input("r", y) +
                   Result(std::string("epiphyte.kit::Conv<activation=\"") + activation + "\">(x, w, b, r)", y),
               {x, w, {40}, y}, activation == std::string("Relu") ? "conv_coop.f16" : "conv_coop_long.f16",
               activation == std::string("Relu") ? 0 : 1e-3f);
}

TEST_F(Cooperative, SumsOfLongRowsAreFloats) {
  // The sum of 4096 ones needs float32: float16 can't count that far by ones.
  const Tensors y = [&] {
    Prefer(Capability::kCoopMatrix);
    const Dims a = {8, 4096}, b = {4096, 8};
    return Run(Input("a", a) + Input("b", b) + Result("MatMul@13(a, b)", {8, 8}),
               {Halves(a, std::vector<float>(8 * 4096, 1)), Halves(b, std::vector<float>(8 * 4096, 1))});
  }();
  EXPECT_THAT(FromHalves(y.at(0)), testing::Each(4096.0f));
}

TEST_F(Cooperative, TilesOfADeviceThatHasWorkForAll) {
  const Dims a = {1500, 40}, b = {40, 1404}, y = {1500, 1404};
  ExpectSame(Input("a", a) + Input("b", b) + Result("MatMul@13(a, b)", y), {a, b}, "matmul_coop_rows.f16");
}

}  // namespace
}  // namespace epiphyte::vulkan
