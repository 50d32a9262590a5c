// Activations, and matrix products and convolutions with fused activations.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/onnx/microsoft/call.h"

namespace epiphyte::test::microsoft {
namespace {

using testing::Contains;
using testing::HasSubstr;

double ExactGelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double TanhGelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

TEST(MicrosoftActivations, GeluIsExact) {
  const Array x = Random({2, 3, 5}, -4, 4);
  for (const int64_t opset : kOpsets)
    for (const bool open : {false, true})
      ExpectNear(Call("Gelu").In(x).Run({.opset = opset, .open = open})[0], Each(x, ExactGelu), 2e-6);
}

TEST(MicrosoftActivations, FastGeluIsTheApproximationOfTheSumWithItsBias) {
  const Array x = Random({2, 3, 5}, -4, 4);
  const Array bias = Random({5}, -1, 1, DataType::kFloat, 2);
  const Array sum = Make(x.dims, [&](const Dims& i) { return x.At(i) + bias.At({i[2]}); });
  for (const int64_t opset : kOpsets) {
    ExpectNear(Call("FastGelu").In(x).Run({.opset = opset})[0], Each(x, TanhGelu), 2e-6);
    ExpectNear(Call("FastGelu").In(x).Weights(bias).Run({.opset = opset})[0], Each(sum, TanhGelu), 2e-6);
    ExpectNear(Call("BiasGelu").In(x).In(bias).Run({.opset = opset})[0], Each(sum, ExactGelu), 2e-6);
  }
}

TEST(MicrosoftActivations, QuickGeluHasAFactor) {
  const Array x = Random({4, 7}, -4, 4);
  for (const float alpha : {1.702f, 1.0f, 0.5f}) {
    const Array y = Each(x, [&](double v) { return v / (1 + std::exp(-alpha * v)); });
    ExpectNear(Call("QuickGelu").In(x).Float("alpha", alpha).Run()[0], y, 1e-6);
  }
  const Array y = Each(x, [&](double v) { return v / (1 + std::exp(-1.702 * v)); });
  ExpectNear(Call("QuickGelu").In(x).Run({.opset = 11})[0], y, 1e-6);
}

TEST(MicrosoftActivations, InHalfHaveHalfsPrecision) {
  const Array x = Random({3, 8}, -4, 4, DataType::kFloat16);
  for (const int64_t opset : {13, 21}) {
    ExpectNear(Call("Gelu").In(x).Run({.opset = opset})[0], Each(x, ExactGelu), 5e-3);
    ExpectNear(Call("FastGelu").In(x).Run({.opset = opset})[0], Each(x, TanhGelu), 5e-3);
  }
}

TEST(MicrosoftActivations, UseTheOperatorOfOnnxWhereTheOpsetHasIt) {
  // When no provider keeps it, newer versions of libonnx unfold ONNX's Gelu as well.
  EXPECT_EQ(Call("Gelu").In(Random({2})).Body({.opset = 20}), Call("Gelu", "").In(Random({2})).Body({.opset = 20}));
  EXPECT_THAT(Call("Gelu").In(Random({2})).Body({.opset = 19}), Contains("Erf"));
}

// --- convolutions

Array Convolved(const Array& x, const Array& w, const Array& bias) {
  return Make({x.dims[0], w.dims[0], x.dims[2], x.dims[3]}, [&](const Dims& i) {
    double sum = bias.At({i[1]});
    for (int64_t c = 0; c < w.dims[1]; ++c) {
      for (int64_t a = 0; a < 3; ++a) {
        for (int64_t b = 0; b < 3; ++b) {
          const int64_t row = i[2] + a - 1, column = i[3] + b - 1;
          if (row < 0 || column < 0 || row >= x.dims[2] || column >= x.dims[3]) continue;
          sum += x.At({i[0], c, row, column}) * w.At({i[1], c, a, b});
        }
      }
    }
    return sum;
  });
}

Call FusedConv(const Array& x, const Array& w, const Array& bias) {
  Call call("FusedConv");
  call.In(x).Weights(w).Weights(bias).Ints("kernel_shape", {3, 3}).Ints("pads", {1, 1, 1, 1});
  return call;
}

TEST(MicrosoftProducts, FusedConvAddsThenActivates) {
  const Array x = Random({2, 4, 6, 7}), w = Random({8, 4, 3, 3}, -1, 1, DataType::kFloat, 2);
  const Array bias = Random({8}, -1, 1, DataType::kFloat, 3), z = Random({2, 8, 6, 7}, -1, 1, DataType::kFloat, 4);
  const Array conv = Convolved(x, w, bias);
  struct Case {
    std::string name;
    std::vector<float> parameters;
    std::function<double(double)> function;
  };
  const Case cases[] = {
      {"Relu", {}, [](double v) { return std::max(v, 0.0); }},
      {"Tanh", {}, [](double v) { return std::tanh(v); }},
      {"Sigmoid", {}, [](double v) { return 1 / (1 + std::exp(-v)); }},
      {"LeakyRelu", {0.2f}, [](double v) { return v < 0 ? 0.2 * v : v; }},
      {"Clip", {-0.25f, 0.5f}, [](double v) { return std::clamp(v, -0.25, 0.5); }},
      {"HardSigmoid", {0.3f, 0.4f}, [](double v) { return std::clamp(0.3 * v + 0.4, 0.0, 1.0); }},
  };
  for (const int64_t opset : {11, 17}) {
    ExpectNear(FusedConv(x, w, bias).Run({.opset = opset})[0], conv, 2e-5);
    for (const Case& each : cases) {
      Call call = FusedConv(x, w, bias);
      call.String("activation", each.name);
      if (!each.parameters.empty()) call.FloatList("activation_params", each.parameters);
      ExpectNear(call.Run({.opset = opset})[0], Each(conv, each.function), 2e-5);
    }
    const Array sum = Make(conv.dims, [&](const Dims& i) { return std::max(conv.At(i) + z.At(i), 0.0); });
    ExpectNear(FusedConv(x, w, bias).In(z).String("activation", "Relu").Run({.opset = opset})[0], sum, 2e-5);
  }
  EXPECT_THAT(FusedConv(x, w, bias).String("activation", "Mish").Failure(),
              AllOf(HasSubstr("NOT_IMPLEMENTED"), HasSubstr("'call'"), HasSubstr("'Mish'"), HasSubstr("HardSigmoid")));
  EXPECT_THAT(FusedConv(x, w, bias).String("activation", "Clip").Failure(),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("0 parameters")));
}

// --- matrices

Array Transposed(const Array& x, const std::vector<size_t>& perm) {
  Dims dims;
  for (const size_t axis : perm) dims.push_back(x.dims[axis]);
  return Make(dims, [&](const Dims& i) {
    Dims from(i.size());
    for (size_t d = 0; d < perm.size(); ++d) from[perm[d]] = i[d];
    return x.At(from);
  });
}

Array Product(const Array& a, const Array& b, double factor) {
  return Make({a.dims[0], a.dims[1], b.dims[2]}, [&](const Dims& i) {
    double sum = 0;
    for (int64_t k = 0; k < a.dims[2]; ++k) sum += a.At({i[0], i[1], k}) * b.At({i[0], k, i[2]});
    return factor * sum;
  });
}

TEST(MicrosoftProducts, FusedMatMulTurnsItsOperands) {
  const Array a = Random({2, 3, 4}), b = Random({2, 4, 5}, -1, 1, DataType::kFloat, 2);
  const Array expected = Product(a, b, 0.5);
  for (const bool turn_a : {false, true}) {
    for (const bool turn_b : {false, true}) {
      for (const bool batch : {false, true}) {
        // Layouts of the operands for which the operator computes a times b.
        const std::vector<size_t> matrix = {0, 2, 1}, rows_first = {1, 0, 2};
        Array in_a = turn_a ? Transposed(a, matrix) : a;
        Array in_b = turn_b ? Transposed(b, matrix) : b;
        if (batch) {
          // The first dimension moves to the second last position. Then the last two dimensions swap.
          in_a = Transposed(turn_a ? Transposed(in_a, matrix) : in_a, rows_first);
          in_b = Transposed(turn_b ? Transposed(in_b, matrix) : in_b, rows_first);
          if (turn_a) in_a = Transposed(a, {2, 0, 1});
          if (turn_b) in_b = Transposed(b, {2, 0, 1});
        }
        Call call("FusedMatMul");
        call.In(in_a).In(in_b).Float("alpha", 0.5f).Int("transA", turn_a).Int("transB", turn_b);
        call.Int("transBatchA", batch).Int("transBatchB", batch);
        for (const int64_t opset : {11, 17}) ExpectNear(call.Run({.opset = opset})[0], expected, 1e-6);
      }
    }
  }
}

TEST(MicrosoftProducts, FusedMatMulOfVectorsHasNothingToTurn) {
  const Array a = Random({4}), b = Random({4}, -1, 1, DataType::kFloat, 2);
  double sum = 0;
  for (int64_t i = 0; i < 4; ++i) sum += a.At({i}) * b.At({i});
  ExpectNear(Call("FusedMatMul").In(a).In(b).Int("transA", 1).Int("transB", 1).Run()[0], Scalar(sum), 1e-6);
}

TEST(MicrosoftProducts, TransposeMatMulIsItsOlderName) {
  const Array a = Random({1, 3, 4}), b = Random({1, 5, 4}, -1, 1, DataType::kFloat, 2);
  const Array expected = Product(a, Transposed(b, {0, 2, 1}), 2);
  ExpectNear(Call("TransposeMatMul").In(a).Weights(b).Int("transB", 1).Float("alpha", 2).Run()[0], expected, 1e-6);
}

TEST(MicrosoftProducts, FusedGemmActivates) {
  const Array a = Random({3, 4}), b = Random({5, 4}, -1, 1, DataType::kFloat, 2),
              c = Random({5}, -1, 1, DataType::kFloat, 3);
  const Array expected = Make({3, 5}, [&](const Dims& i) {
    double sum = 2 * c.At({i[1]});
    for (int64_t k = 0; k < 4; ++k) sum += 0.5 * a.At({i[0], k}) * b.At({i[1], k});
    return sum < 0 ? 0.3 * sum : sum;
  });
  for (const int64_t opset : {11, 17}) {
    Call call("FusedGemm");
    call.In(a).Weights(b).Weights(c).Float("alpha", 0.5f).Float("beta", 2).Int("transB", 1);
    call.String("activation", "LeakyRelu").Float("activation_alpha", 0.3f);
    ExpectNear(call.Run({.opset = opset})[0], expected, 1e-6);
  }
}

}  // namespace
}  // namespace epiphyte::test::microsoft
