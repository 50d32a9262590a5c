// Matrix products for every layout with a kernel, alone and with the operators that the kit fuses to them, and Einsum.
#include "tests/vulkan/ops/operator_harness.h"
#include "tests/vulkan/ops/product_models.h"

namespace epiphyte::test {
namespace {

class MatMul : public OperatorTest {
 protected:
  void Check(std::vector<int64_t> a, std::vector<int64_t> b, DataType type = DataType::kFloat) {
    SCOPED_TRACE(ShapeName(a) + " by " + ShapeName(b));
    OperatorRun run;
    if (type == DataType::kFloat16) run.tolerance = {.relative = 2e-3, .absolute = 1e-2};
    const std::string name = type == DataType::kFloat ? "float" : "float16";
    ExpectLikeCpu(
        "g (" + name + ShapeName(a) + " a, " + name + ShapeName(b) + " b) => (" + name + "[] y) { y = MatMul(a, b) }",
        {Random(type, a, 1), Random(type, b, 2)}, run);
  }
};

TEST_F(MatMul, OfMatrices) {
  Check({5, 7}, {7, 3});
  Check({33, 20}, {20, 36});
  Check({70, 64}, {64, 64});
  Check({128, 128}, {128, 132});
}

TEST_F(MatMul, OfARow) {
  Check({1, 64}, {64, 132});
  Check({1, 7}, {7, 5});
}

TEST_F(MatMul, OfVectors) {
  Check({8}, {8});
  Check({8}, {8, 12});
  Check({6, 8}, {8});
}

TEST_F(MatMul, OfBatches) {
  Check({2, 3, 9, 8}, {2, 3, 8, 12});
  Check({2, 3, 9, 8}, {8, 12});
  Check({2, 1, 9, 8}, {1, 3, 8, 12});
  Check({3, 1, 5, 8}, {2, 8, 12});
  Check({5, 6}, {4, 6, 7});
}

TEST_F(MatMul, OfNothing) {
  Check({0, 4}, {4, 5});
  Check({3, 0}, {0, 4});
}

TEST_F(MatMul, OfHalfFloats) {
  Check({33, 20}, {20, 36}, DataType::kFloat16);
  Check({5, 7}, {7, 3}, DataType::kFloat16);
  Check({70, 64}, {64, 64}, DataType::kFloat16);
  Check({1, 64}, {64, 12}, DataType::kFloat16);
  Check({2, 1, 9, 8}, {1, 3, 8, 12}, DataType::kFloat16);
  Check({3, 40, 64}, {3, 64, 72}, DataType::kFloat16);
  Check({200, 100}, {100, 132}, DataType::kFloat16);
}

TEST_F(MatMul, WithConstantWeights) {
  for (const int64_t n : {3, 12, 33, 64}) {
    for (const int64_t k : {6, 8, 64}) {
      for (const int64_t m : {1, 5, 70}) {
        SCOPED_TRACE(ShapeName({m, k, n}));
        ExpectLikeCpu("g (float" + ShapeName({m, k}) + " a) => (float[] y) <" + Initializer("b", {k, n}) +
                          "> { y = MatMul(a, b) }",
                      {Random(DataType::kFloat, {m, k})});
      }
    }
  }
}

TEST_F(MatMul, OfHalfFloatsWithConstantWeightsBiasResidualAndActivation) {
  const std::string head = "g (float16[2,33,64] a, float16[2,33,72] r) => (float16[] y) <" + Initializer("w", {64, 72}) +
                           ", " + Initializer("c", {72}) +
                           "> { b = Cast<to=10>(w) bias = Cast<to=10>(c) p = MatMul(a, b) s = Add(p, bias) ";
  const std::vector<ValuePtr> inputs = {Scaled({2, 33, 64}, 1, DataType::kFloat16),
                                        Scaled({2, 33, 72}, 2, DataType::kFloat16)};
  const OperatorRun run = {.tolerance = {.relative = 2e-3, .absolute = 1e-2}};
  ExpectLikeCpu(head + "y = Add(s, r) }", inputs, run);
  ExpectLikeCpu(head + "t = Add(s, r) y = Relu(t) }", inputs, run);
  ExpectLikeCpu(head + "y = Sigmoid(s) }", inputs, run);
}

TEST_F(MatMul, ThenBiasResidualAndActivation) {
  const std::string head = "g (float[2,9,16] a, float[2,9,20] r) => (float[] y) <" + Initializer("b", {16, 20}) + ", " +
                           Initializer("bias", {20}) + "> { p = MatMul(a, b) s = Add(p, bias) ";
  const std::vector<ValuePtr> inputs = {Scaled({2, 9, 16}, 1), Scaled({2, 9, 20}, 2)};
  ExpectLikeCpu(head + "y = Add(s, r) }", inputs);
  ExpectLikeCpu(head + "t = Add(s, r) y = Relu(t) }", inputs);
  for (const char* activation : {"Sigmoid", "Tanh", "Softplus", "Elu", "LeakyRelu", "HardSwish", "Erf"})
    ExpectLikeCpu(head + "y = " + activation + "(s) }", inputs);
  ExpectLikeCpu(head + "y = Gelu(s) }", inputs, {.opset = 20});
}

class Gemm : public OperatorTest {};

TEST_F(Gemm, TransposesEither) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      SCOPED_TRACE(testing::Message() << transpose_a << transpose_b);
      const std::vector<int64_t> a = transpose_a ? std::vector<int64_t>{16, 13} : std::vector<int64_t>{13, 16};
      const std::vector<int64_t> b = transpose_b ? std::vector<int64_t>{20, 16} : std::vector<int64_t>{16, 20};
      const std::string attributes = std::string("<transA = ") + (transpose_a ? "1" : "0") +
                                     ", transB = " + (transpose_b ? "1" : "0") + ", alpha = 0.5, beta = 2.0>";
      ExpectLikeCpu(
          "g (float" + ShapeName(a) + " a, float" + ShapeName(b) + " b, float[20] c) => (float[] y) { y = Gemm " +
              attributes + " (a, b, c) }",
          {Random(DataType::kFloat, a, 1), Random(DataType::kFloat, b, 2), Random(DataType::kFloat, {20}, 3)});
      ExpectLikeCpu("g (float" + ShapeName(a) + " a) => (float[] y) <" + Initializer("b", b) + "> { y = Gemm " +
                        attributes + " (a, b) }",
                    {Random(DataType::kFloat, a, 1)});
    }
  }
}

TEST_F(Gemm, OfHalfFloats) {
  for (const char* attributes : {"<alpha = 0.5, beta = 2.0>", "<transB = 1>", "<transA = 1>"}) {
    SCOPED_TRACE(attributes);
    ExpectLikeCpu(std::string("g (float16[64,64] a, float16[64,64] b, float16[64] c) => (float16[] y) { y = Gemm ") +
                      attributes + " (a, b, c) }",
                  {Scaled({64, 64}, 1, DataType::kFloat16), Scaled({64, 64}, 2, DataType::kFloat16),
                   Scaled({64}, 3, DataType::kFloat16)},
                  {.tolerance = {.relative = 2e-3, .absolute = 1e-2}});
  }
}

TEST_F(Gemm, BroadcastsWhatIsAdded) {
  for (const std::vector<int64_t>& c : {std::vector<int64_t>{}, {1}, {8}, {1, 8}, {6, 1}, {6, 8}, {1, 1}}) {
    SCOPED_TRACE(ShapeName(c));
    ExpectLikeCpu(
        "g (float[6,4] a, float[4,8] b, float" + ShapeName(c) + " c) => (float[] y) { y = Gemm(a, b, c) }",
        {Random(DataType::kFloat, {6, 4}, 1), Random(DataType::kFloat, {4, 8}, 2), Random(DataType::kFloat, c, 3)});
  }
}

class Einsum : public OperatorTest {
 protected:
  void Check(const std::string& equation, const std::vector<std::vector<int64_t>>& shapes) {
    SCOPED_TRACE(equation);
    std::string inputs, names;
    std::vector<ValuePtr> values;
    for (size_t i = 0; i < shapes.size(); ++i) {
      const std::string name = "x" + std::to_string(i);
      inputs += (i == 0 ? "float" : ", float") + ShapeName(shapes[i]) + " " + name;
      names += (i == 0 ? "" : ", ") + name;
      values.push_back(Random(DataType::kFloat, shapes[i], static_cast<uint32_t>(i + 1)));
    }
    ExpectLikeCpu("g (" + inputs + ") => (float[] y) { y = Einsum <equation = \"" + equation + "\"> (" + names + ") }",
                  values);
  }
};

TEST_F(Einsum, OfOneOperand) {
  Check("ij->ji", {{3, 5}});
  Check("ij->i", {{3, 5}});
  Check("ij->", {{3, 5}});
  Check("ii->i", {{4, 4}});
  Check("...ii->...i", {{3, 5, 5}});
}

TEST_F(Einsum, OfProducts) {
  Check("ij,jk->ik", {{3, 8}, {8, 5}});
  Check("ij,kj->ik", {{12, 8}, {20, 8}});
  Check("bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}});
  Check("bhid,bhjd->bhij", {{2, 3, 4, 8}, {2, 3, 5, 8}});
  Check("bqhd,bkhd->bhqk", {{2, 5, 3, 4}, {2, 6, 3, 4}});
  Check("...ij,...jk->...ik", {{2, 1, 3, 4}, {1, 5, 4, 3}});
  Check("i,j->ij", {{3}, {5}});
  Check("ij,jk", {{3, 4}, {4, 5}});
  Check("ij,jk->ki", {{3, 4}, {4, 5}});
  Check("ijk,jl->il", {{3, 4, 2}, {4, 5}});
}

TEST_F(Einsum, OfThreeOperands) { Check("ij,jk,kl->il", {{3, 4}, {4, 5}, {5, 2}}); }

}  // namespace
}  // namespace epiphyte::test
