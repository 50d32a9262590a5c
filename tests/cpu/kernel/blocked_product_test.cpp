// MatMul and Gemm of double and of integers, compared with plain sums.
#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/cpu/kernel_harness.h"

namespace epiphyte::test {
namespace {

template <typename T>
std::vector<T> Numbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<T> numbers;
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>) {
      numbers.push_back(static_cast<T>((uint64_t{random()} << 32) | random()));  // products wrap around
    } else {
      numbers.push_back(std::uniform_real_distribution<T>(-1, 1)(random));
    }
  }
  return numbers;
}

struct Matrices {
  int64_t m, k, n;
  bool transpose_a = false, transpose_b = false;
};

// Element (row, column) of the reference product. Products of doubles are summed in long double.
template <typename T>
T Expected(const std::vector<T>& a, const std::vector<T>& b, const Matrices& s, int64_t row, int64_t column) {
  using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, long double>;
  Sum sum = 0;
  for (int64_t k = 0; k < s.k; ++k)
    sum += static_cast<Sum>(a[static_cast<size_t>(s.transpose_a ? k * s.m + row : row * s.k + k)]) *
           static_cast<Sum>(b[static_cast<size_t>(s.transpose_b ? column * s.k + k : k * s.n + column)]);
  return static_cast<T>(sum);
}

// Integers must be equal. Doubles may differ by the rounding of a sum of `k` products of numbers up to 1.
template <typename T>
testing::AssertionResult Agree(T found, T expected, int64_t k) {
  bool close = found == expected;
  if constexpr (!std::is_integral_v<T>) close = std::abs(found - expected) <= static_cast<double>(k) * 0x1p-52;
  return close ? testing::AssertionSuccess() : testing::AssertionFailure() << found << ", expected " << expected;
}

// One row and four; a whole panel and parts of one; more than one block of depth; more rows than a share has; no depth;
// and matrices in memory as panels already.
constexpr Matrices kShapes[] = {{1, 300, 700}, {4, 70, 33}, {5, 7, 3}, {64, 256, 32}, {37, 513, 70},
                                {130, 40, 8},  {300, 1, 2}, {3, 0, 4}, {20, 200, 32}, {20, 200, 64}};

template <typename T>
class BlockedProduct : public testing::Test {};
using NumberTypes = testing::Types<double, int32_t, uint32_t, int64_t, uint64_t>;
TYPED_TEST_SUITE(BlockedProduct, NumberTypes);

TYPED_TEST(BlockedProduct, MatMulOfTwoMatrices) {
  using T = TypeParam;
  for (const Matrices& s : kShapes) {
    const std::vector<T> a = Numbers<T>(s.m * s.k, 1), b = Numbers<T>(s.k * s.n, 2);
    OpRunner op("MatMul", 13);
    op.Input<T>({s.m, s.k}, a);
    op.Input<T>({s.k, s.n}, b);
    op.Run();
    const std::vector<T> y = op.Output<T>(0);
    for (int64_t i = 0; i < s.m * s.n; ++i)
      ASSERT_TRUE(Agree<T>(y[static_cast<size_t>(i)], Expected(a, b, s, i / s.n, i % s.n), s.k))
          << s.m << " x " << s.k << " x " << s.n << ", element " << i;
  }
}

TYPED_TEST(BlockedProduct, BatchesBroadcast) {
  using T = TypeParam;
  const Matrices s = {6, 5, 40};
  const std::vector<T> a = Numbers<T>(3 * s.m * s.k, 1), b = Numbers<T>(2 * s.k * s.n, 2);
  OpRunner op("MatMul", 13);
  op.Input<T>({3, 1, s.m, s.k}, a);
  op.Input<T>({2, s.k, s.n}, b);
  op.Run();
  ASSERT_EQ(op.Dims(0), (Shape{3, 2, s.m, s.n}));
  const std::vector<T> y = op.Output<T>(0);
  for (int64_t batch = 0; batch < 6; ++batch) {
    const std::vector<T> left(a.begin() + batch / 2 * s.m * s.k, a.begin() + (batch / 2 + 1) * s.m * s.k);
    const std::vector<T> right(b.begin() + batch % 2 * s.k * s.n, b.begin() + (batch % 2 + 1) * s.k * s.n);
    for (int64_t i = 0; i < s.m * s.n; ++i)
      ASSERT_TRUE(
          Agree<T>(y[static_cast<size_t>(batch * s.m * s.n + i)], Expected(left, right, s, i / s.n, i % s.n), s.k))
          << "batch " << batch << ", element " << i;
  }
}

TYPED_TEST(BlockedProduct, GemmTransposesScalesAndAdds) {
  using T = TypeParam;
  for (Matrices s : kShapes) {
    for (int transposed = 0; transposed < 4; ++transposed) {
      s.transpose_a = transposed % 2 != 0;
      s.transpose_b = transposed / 2 != 0;
      const std::vector<T> a = Numbers<T>(s.m * s.k, 1), b = Numbers<T>(s.k * s.n, 2), c = Numbers<T>(s.m, 3);
      OpRunner op("Gemm", 13);
      op.Attribute("transA", int64_t{s.transpose_a});
      op.Attribute("transB", int64_t{s.transpose_b});
      if (!std::is_integral_v<T>) op.Attribute("alpha", 0.5f).Attribute("beta", -2.0f);
      op.Input<T>(s.transpose_a ? Shape{s.k, s.m} : Shape{s.m, s.k}, a);
      op.Input<T>(s.transpose_b ? Shape{s.n, s.k} : Shape{s.k, s.n}, b);
      op.Input<T>({s.m, 1}, c);
      op.Run();
      const std::vector<T> y = op.Output<T>(0);
      for (int64_t i = 0; i < s.m * s.n; ++i) {
        const T product = Expected(a, b, s, i / s.n, i % s.n), addend = c[static_cast<size_t>(i / s.n)];
        T expected;
        if constexpr (std::is_integral_v<T>) {
          expected = static_cast<T>(static_cast<uint64_t>(product) + static_cast<uint64_t>(addend));
        } else {
          expected = product / 2 - 2 * addend;
        }
        ASSERT_TRUE(Agree<T>(y[static_cast<size_t>(i)], expected, s.k + 4))
            << s.m << " x " << s.k << " x " << s.n << ", transposed " << transposed << ", element " << i;
      }
    }
  }
}

TEST(BlockedGemm, IntegersTimesAFactorAreCutOff) {
  OpRunner op("Gemm", 13);
  op.Attribute("alpha", 0.5f).Attribute("beta", 1.5f);
  op.Input<int32_t>({1, 2}, {3, -2});
  op.Input<int32_t>({2, 2}, {1, -1, 0, 2});
  op.Input<int32_t>({2}, {3, -3});
  op.Run();
  EXPECT_THAT(op.Output<int32_t>(0), testing::ElementsAre(1 + 4, -3 - 4));
}

}  // namespace
}  // namespace epiphyte::test
