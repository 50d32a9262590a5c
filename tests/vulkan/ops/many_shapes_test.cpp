// Kernels with loop lengths given by parameters match the CPU plugin for many sizes: odd sizes, 1, many rows, more than
// one workgroup. Drivers have miscompiled such loops (shaders/product.glsl).
#include <array>
#include <random>

#include "tests/vulkan/ops/operator_harness.h"
#include "tests/vulkan/ops/product_models.h"

namespace epiphyte::test {
namespace {

class ManyShapes : public OperatorTest {
 protected:
  int64_t Pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  ValuePtr Bytes(DataType type, const std::vector<int64_t>& dims) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    std::vector<double> bytes;
    for (int64_t i = 0; i < count; ++i)
      bytes.push_back(static_cast<double>(type == DataType::kInt8 ? Pick(-128, 127) : Pick(0, 255)));
    return Numbers(type, dims, bytes);
  }
  void ExpectExactly(const std::string& model, const std::vector<ValuePtr>& inputs) {
    SCOPED_TRACE(model);
    ExpectLikeCpu(model, inputs, {.opset = 17, .tolerance = {.relative = 0, .absolute = 0}});
  }
  void ExpectNear(const std::string& model, const std::vector<ValuePtr>& inputs) {
    SCOPED_TRACE(model);
    ExpectLikeCpu(model, inputs, {.opset = 17, .tolerance = {.relative = 1e-4, .absolute = 1e-4}});
  }

 private:
  std::mt19937 random_{29};
};

TEST_F(ManyShapes, MatrixProducts) {
  for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{
           {1, 1, 1}, {1, 301, 7}, {5, 3, 2}, {131, 17, 33}, {300, 1, 3}, {9, 64, 129}, {2, 1023, 5}, {67, 30, 64}})
    ExpectNear("g (float[2," + std::to_string(m) + "," + std::to_string(k) + "] a, float[2," + std::to_string(k) + "," +
                   std::to_string(n) + "] b) => (float[] y) { y = MatMul(a, b) }",
               {Scaled({2, m, k}, 3), Scaled({2, k, n}, 4)});
}

TEST_F(ManyShapes, TransposedMatrixProducts) {
  for (const auto& [m, k, n] :
       std::vector<std::array<int64_t, 3>>{{1, 301, 7}, {131, 17, 33}, {300, 1, 3}, {9, 64, 129}, {67, 30, 64}})
    for (const char* sides : {"transA = 1", "transB = 1", "transA = 1, transB = 1"}) {
      const bool left = std::string(sides).starts_with("transA"), right = std::string(sides).ends_with("B = 1");
      const std::vector<int64_t> a = left ? std::vector<int64_t>{k, m} : std::vector<int64_t>{m, k};
      const std::vector<int64_t> b = right ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n};
      ExpectNear("g (float" + ShapeName(a) + " a, float" + ShapeName(b) + " b) => (float[] y) { y = Gemm <" + sides +
                     "> (a, b) }",
                 {Scaled(a, 3), Scaled(b, 4)});
    }
}

TEST_F(ManyShapes, IntegerMatrixProducts) {
  for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{
           {1, 1, 1}, {1, 257, 6}, {5, 3, 2}, {130, 19, 33}, {301, 1, 3}, {7, 63, 70}}) {
    const std::string head = "g (uint8[3," + std::to_string(m) + "," + std::to_string(k) + "] a, int8[" +
                             std::to_string(k) + "," + std::to_string(n) + "] b, ";
    const std::vector<ValuePtr> sides = {Bytes(DataType::kUint8, {3, m, k}), Bytes(DataType::kInt8, {k, n})};
    ExpectExactly(
        head + "uint8 az, int8[" + std::to_string(n) + "] bz) => (int32[] y) { y = MatMulInteger(a, b, az, bz) }",
        {sides[0], sides[1], Bytes(DataType::kUint8, {}), Bytes(DataType::kInt8, {n})});
    ExpectExactly(head +
                      "uint8 az, int8 bz) => (uint8[] y) <float s = {0.01}, float t = {0.02}, uint8 yz = {128}> { y = "
                      "QLinearMatMul(a, s, az, b, s, bz, t, yz) }",
                  {sides[0], sides[1], Bytes(DataType::kUint8, {}), Bytes(DataType::kInt8, {})});
  }
}

TEST_F(ManyShapes, IntegerConvolutions) {
  for (int i = 0; i < 10; ++i) {
    const int64_t group = i % 3 == 0 ? Pick(2, 5) : 1, channels = Pick(1, 9), filters = Pick(1, 9), kernel = Pick(1, 4);
    const std::vector<int64_t> x = {Pick(1, 2), group * channels, Pick(kernel, 19), Pick(kernel, 19)};
    const std::vector<int64_t> w = {group * filters, channels, kernel, kernel};
    const std::string attributes = "<group = " + std::to_string(group) + ", pads = [1, 0, 2, 1], strides = [1, " +
                                   std::to_string(Pick(1, 3)) + "]> ";
    const std::string head = "g (int8" + ShapeName(x) + " x, uint8" + ShapeName(w) + " w, int8 xz, uint8 wz) => (";
    const std::vector<ValuePtr> inputs = {Bytes(DataType::kInt8, x), Bytes(DataType::kUint8, w),
                                          Bytes(DataType::kInt8, {}), Bytes(DataType::kUint8, {})};
    ExpectExactly(head + "int32[] y) { y = ConvInteger " + attributes + "(x, w, xz, wz) }", inputs);
    ExpectExactly(head + "int8[] y) <float s = {0.01}, float t = {0.3}, int8 yz = {-5}> { y = QLinearConv " +
                      attributes + "(x, s, xz, w, s, wz, t, yz) }",
                  inputs);
  }
}

// The expected sums are computed here, without the CPU plugin.
TEST_F(ManyShapes, WeightsOfFewBits) {
  constexpr int64_t kBlock = 16;
  for (const int64_t bits : {4, 8})
    for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{
             {1, 17, 3}, {1, 96, 130}, {3, 33, 5}, {131, 40, 9}, {5, 255, 66}, {66, 16, 1}}) {
      const int64_t blocks = (k + kBlock - 1) / kBlock, blob = kBlock * bits / 8;
      const ValuePtr a = Scaled({m, k}, 3), scales = Scaled({n * blocks}, 4);
      const ValuePtr b = Bytes(DataType::kUint8, {n, blocks, blob});
      std::vector<float> expected;
      for (int64_t row = 0; row < m; ++row)
        for (int64_t column = 0; column < n; ++column) {
          double sum = 0;
          for (int64_t i = 0; i < k; ++i) {
            const int64_t block = column * blocks + i / kBlock, at = i % kBlock;
            const uint8_t byte = b->data_as<uint8_t>()[block * blob + at * bits / 8];
            const int weight = bits == 8 ? byte - 128 : (at % 2 == 0 ? byte & 15 : byte >> 4) - 8;
            sum += static_cast<double>(a->data_as<float>()[row * k + i]) * weight *
                   static_cast<double>(scales->data_as<float>()[block]);
          }
          expected.push_back(static_cast<float>(sum));
        }
      const std::string model =
          "g (float[" + std::to_string(m) + "," + std::to_string(k) + "] a, uint8[" + std::to_string(n) + "," +
          std::to_string(blocks) + "," + std::to_string(blob) + "] b, float[" + std::to_string(n * blocks) +
          "] s) => (float[] y) { y = com.microsoft.MatMulNBits <K = " + std::to_string(k) + ", N = " +
          std::to_string(n) + ", bits = " + std::to_string(bits) + ", block_size = 16> (a, b, s) }";
      SCOPED_TRACE(model);
      const std::vector<ValuePtr> y =
          RunVulkan(model, {a, b, scales}, {.opset = 17, .imports = ", \"com.microsoft\" : 1"});
      EXPECT_EQ(conformance::CompareValues(*y[0], *Floats({m, n}, expected), {.relative = 1e-4, .absolute = 1e-2}).difference,
                "");
    }
}

TEST_F(ManyShapes, EinsumsWithDiagonalsAndSums) {
  for (const int64_t i : {1, 3, 17, 130})
    for (const int64_t j : {1, 5, 66}) {
      const std::vector<int64_t> square = {i, i, j}, cube = {i, j, 7};
      for (const char* equation : {"iij->ji", "iij->j", "iij->i", "iij->"})
        ExpectNear(
            "g (float" + ShapeName(square) + " x) => (float[] y) { y = Einsum <equation = \"" + equation + "\"> (x) }",
            {Scaled(square, 5)});
      for (const char* equation : {"ijk->kji", "ijk->k", "ijk->ik", "ijk->j"})
        ExpectNear(
            "g (float" + ShapeName(cube) + " x) => (float[] y) { y = Einsum <equation = \"" + equation + "\"> (x) }",
            {Scaled(cube, 5)});
    }
}

TEST_F(ManyShapes, RecurrentNetworks) {
  for (const auto& [op, gates] : {std::pair<std::string, int64_t>{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}})
    for (const auto& [steps, batch, input, hidden] :
         std::vector<std::array<int64_t, 4>>{{1, 1, 1, 1}, {3, 2, 5, 7}, {4, 9, 3, 33}, {2, 1, 17, 130}}) {
      const std::vector<int64_t> x = {steps, batch, input}, w = {1, gates * hidden, input},
                                 r = {1, gates * hidden, hidden}, b = {1, 2 * gates * hidden};
      const auto model = [&, op = op, hidden = hidden](const std::string& more) {
        return "g (float" + ShapeName(x) + " x, float" + ShapeName(w) + " w, float" + ShapeName(r) + " r, float" +
               ShapeName(b) + " b) => (float[] y) { y = " + op + " <hidden_size = " + std::to_string(hidden) + more +
               "> (x, w, r, b) }";
      };
      const std::vector<ValuePtr> inputs = {Scaled(x, 1), Scaled(w, 2), Scaled(r, 3), Scaled(b, 4)};
      ExpectNear(model(""), inputs);
      if (op == "GRU") ExpectNear(model(", linear_before_reset = 1"), inputs);
    }
}

TEST_F(ManyShapes, DynamicQuantisation) {
  for (const int64_t count : {1, 2, 31, 64, 65, 1000, 4097, 33000})
    ExpectLikeCpu("g (float[" + std::to_string(count) +
                      "] x) => (uint8[] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear(x) }",
                  {Scaled({count}, static_cast<uint32_t>(count))},
                  {.opset = 17, .tolerance = {.relative = 1e-6, .absolute = 0}});
}

}  // namespace
}  // namespace epiphyte::test
