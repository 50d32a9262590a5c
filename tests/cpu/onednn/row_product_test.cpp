// Products with a single row and with many rows. The matrix is packed or plain, of any size, with any fused operators.
#include <gmock/gmock.h>

#include <cmath>

#include "epiphyte/kit/fuse/operators.hpp"
#include "tests/cpu/kernel_harness.h"

namespace epiphyte::test {
namespace {

std::vector<float> Waves(int64_t count, double step) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::sin(static_cast<double>(i) * step));
  return values;
}

// Returns the sum over k of a[row, k] * b[k, column].
double Product(const std::vector<float>& a, const std::vector<float>& b, int64_t n, int64_t column, int64_t row = 0) {
  const size_t k = b.size() / static_cast<size_t>(n), begin = static_cast<size_t>(row) * k;
  double sum = 0;
  for (size_t i = 0; i < k; ++i) sum += static_cast<double>(a[begin + i]) * b[i * static_cast<size_t>(n) + column];
  return sum;
}

TEST(RowProduct, AnySizes) {
  for (const int64_t k : {1, 3, 16, 17, 67, 256, 300}) {
    for (const int64_t n : {1, 15, 16, 17, 33, 48, 64, 65, 100, 640}) {
      const std::vector<float> a = Waves(k, 0.7), b = Waves(k * n, 0.3);
      OpRunner runner("MatMul", 13);
      runner.Input<float>({1, k}, a).Constant<float>({k, n}, b).Run();
      const std::vector<float> y = runner.Output<float>(0);
      ASSERT_EQ(runner.Dims(0), (Shape{1, n}));
      for (int64_t i = 0; i < n; ++i) ASSERT_NEAR(y[i], Product(a, b, n, i), 1e-4) << k << " x " << n << " at " << i;
    }
  }
}

TEST(RowProduct, AnyNumberOfRowsOfAPackedMatrix) {
  for (const int64_t rows : {2, 3, 4, 5, 7, 12, 29, 61}) {
    for (const int64_t k : {1, 17, 400}) {
      for (const int64_t n : {1, 16, 17, 33, 48, 64, 65, 200, 640}) {
        const std::vector<float> a = Waves(rows * k, 0.7), b = Waves(k * n, 0.3);
        OpRunner runner("MatMul", 13);
        runner.Input<float>({rows, k}, a).Constant<float>({k, n}, b).Run();
        const std::vector<float> y = runner.Output<float>(0);
        ASSERT_EQ(runner.Dims(0), (Shape{rows, n}));
        for (int64_t i = 0; i < rows * n; ++i)
          ASSERT_NEAR(y[i], Product(a, b, n, i % n, i / n), 1e-4) << rows << " x " << k << " x " << n << " at " << i;
      }
    }
  }
}

TEST(RowProduct, MoreRowsThanACacheHolds) {
  const int64_t k = 1600, n = 70;
  for (const int64_t rows : {450, 700}) {
    const std::vector<float> a = Waves(rows * k, 0.7), b = Waves(k * n, 0.3);
    OpRunner runner("MatMul", 13);
    runner.Input<float>({rows, k}, a).Constant<float>({k, n}, b).Run();
    const std::vector<float> y = runner.Output<float>(0);
    for (int64_t i = 0; i < rows * n; ++i) ASSERT_NEAR(y[i], Product(a, b, n, i % n, i / n), 1e-3) << i;
  }
}

TEST(RowProduct, AnySizesOfMatricesThatAreInputs) {
  for (const int64_t k : {1, 3, 64, 67, 130}) {
    for (const int64_t n : {1, 15, 17, 65, 127, 128, 640, 4100, 8200}) {
      const std::vector<float> a = Waves(k, 0.7), b = Waves(k * n, 0.3);
      for (const Shape& shape : {Shape{1, k}, Shape{k}}) {
        OpRunner runner("MatMul", 13);
        runner.Input<float>(shape, a).Input<float>({k, n}, b).Run();
        const std::vector<float> y = runner.Output<float>(0);
        ASSERT_EQ(y.size(), static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) ASSERT_NEAR(y[i], Product(a, b, n, i), 1e-4) << k << " x " << n << " at " << i;
      }
    }
  }
}

TEST(RowProduct, MatrixTimesColumn) {
  for (const int64_t k : {1, 3, 64, 67, 130}) {
    for (const int64_t rows : {2, 15, 16, 17, 300}) {
      const std::vector<float> b = Waves(k, 0.7), a = Waves(rows * k, 0.3);
      std::vector<float> transposed(a.size());
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < k; ++j) transposed[j * rows + i] = a[i * k + j];
      OpRunner plain("MatMul", 13);
      plain.Input<float>({rows, k}, a).Input<float>({k, 1}, b).Run();
      OpRunner gemm("Gemm", 13);
      gemm.Attribute("transA", 1).Attribute("transB", 1);
      gemm.Input<float>({k, rows}, transposed).Input<float>({1, k}, b).Input<float>({1}, {0.5f}).Run();
      for (int64_t i = 0; i < rows; ++i) {
        ASSERT_NEAR(plain.Output<float>(0)[i], Product(b, transposed, rows, i), 1e-4) << k << " x " << rows;
        ASSERT_NEAR(gemm.Output<float>(0)[i], Product(b, transposed, rows, i) + 0.5, 1e-4) << k << " x " << rows;
      }
    }
  }
}

TEST(RowProduct, TransposedMatrixOfGemm) {
  const int64_t k = 70, n = 130;
  const std::vector<float> a = Waves(k, 0.7), b = Waves(k * n, 0.3), c = Waves(n, 1.1);
  std::vector<float> transposed(b.size());
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0; j < n; ++j) transposed[j * k + i] = b[i * n + j];
  for (const bool constant : {false, true}) {
    OpRunner runner("Gemm", 13);
    runner.Attribute("transB", 1).Input<float>({1, k}, a);
    constant ? runner.Constant<float>({n, k}, transposed) : runner.Input<float>({n, k}, transposed);
    runner.Input<float>({n}, c).Run();
    const std::vector<float> y = runner.Output<float>(0);
    for (int64_t i = 0; i < n; ++i) EXPECT_NEAR(y[i], Product(a, b, n, i) + c[i], 1e-4);
  }
}

TEST(RowProduct, BiasResidualAndActivation) {
  const int64_t k = 96, n = 200;
  const std::vector<float> b = Waves(k * n, 0.3), bias = Waves(n, 1.1);
  const struct {
    std::string name;
    float alpha, beta;
    double (*function)(double);
  } kActivations[] = {
      {"Relu", 0, 0, [](double x) { return x < 0 ? 0 : x; }},
      {"LeakyRelu", 0.25f, 0, [](double x) { return x < 0 ? x * 0.25 : x; }},
      {"Clip", -0.5f, 0.75f, [](double x) { return x < -0.5   ? -0.5
                                                   : x > 0.75 ? 0.75
                                                              : x; }},
      {"Sigmoid", 0, 0, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"Tanh", 0, 0, [](double x) { return std::tanh(x); }},
      {"Swish", 0, 0, [](double x) { return x / (1 + std::exp(-x)); }},
      {"Gelu", 0, 0, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
      {"GeluTanh", 0, 0,
       [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
      {"HardSwish", 0, 0, [](double x) { return x * std::fmin(std::fmax(x / 6 + 0.5, 0), 1); }},
  };
  for (const auto& activation : kActivations) {
    for (const auto& [in_place, constant] : {std::pair(false, true), {true, true}, {false, false}, {true, false}}) {
      for (const int64_t rows : {1, 9}) {
        const std::vector<float> all = Waves(rows * k, 0.7), added = Waves(rows * n, 0.9);
        OpRunner runner("MatMul", 1, std::string(kit::fuse::kDomain));
        runner.Attribute("activation", activation.name);
        runner.Attribute("activation_alpha", activation.alpha).Attribute("activation_beta", activation.beta);
        runner.Input<float>({rows, k}, all);
        constant ? runner.Constant<float>({k, n}, b) : runner.Input<float>({k, n}, b);
        runner.Constant<float>({n}, bias);
        runner.Input<float>({rows, n}, added).InPlace(in_place).Run();
        const std::vector<float> y = runner.Output<float>(0);
        for (int64_t i = 0; i < rows * n; ++i) {
          const double sum = Product(all, b, n, i % n, i / n) + bias[i % n] + added[i];
          EXPECT_NEAR(y[i], activation.function(sum), 1e-4) << activation.name << " of " << rows << " rows";
        }
      }
    }
  }
}

}  // namespace
}  // namespace epiphyte::test
