#include "plugins/cpu/simd/gemm/tile_matmul.h"

#include <type_traits>

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using TileProducts = EachTarget;
EPIPHYTE_EACH_TARGET(TileProducts);

template <typename T>
std::vector<T> Numbers(int64_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(static_cast<size_t>(n));
  for (T& value : values) {
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(random());
    } else {
      value = std::uniform_real_distribution<T>(-1, 1)(random);
    }
  }
  return values;
}

// Integers must be exact. A float may have the rounding errors of k + 1 steps.
template <typename T>
void ExpectTiles(int64_t m, int64_t n, int64_t k, bool replaces) {
  SCOPED_TRACE(::testing::Message() << m << "x" << n << "x" << k << ", elements of " << sizeof(T) << " bytes"
                                    << (replaces ? ", written over" : ", added"));
  const int64_t a_stride = k + 2, b_stride = n + 3, y_stride = n + 1;
  GuardedRow<T> a(Numbers<T>((m - 1) * a_stride + k, 1));
  GuardedRow<T> b(Numbers<T>(k == 0 ? 0 : (k - 1) * b_stride + n, 2));
  const std::vector<T> before = Numbers<T>((m - 1) * y_stride + n, 3);
  GuardedRow<T> y(before);
  TileMatMul(TileOperands<T>{a.data(), a_stride, b.data(), b_stride, y.data(), y_stride, m, n, k, replaces});
  using Wide = std::conditional_t<std::is_integral_v<T>, T, long double>;
  for (int64_t at = 0; at < (m - 1) * y_stride + n; ++at) {
    const int64_t r = at / y_stride, c = at % y_stride;
    Wide expected = before[static_cast<size_t>(at)];
    if (c == n) {
      ASSERT_EQ(y[at], before[static_cast<size_t>(at)]) << "between the rows";
      continue;
    }
    if (replaces) expected = 0;
    for (int64_t i = 0; i < k; ++i)
      expected += static_cast<Wide>(a[r * a_stride + i]) * static_cast<Wide>(b[i * b_stride + c]);
    if constexpr (std::is_integral_v<T>) {
      ASSERT_EQ(y[at], expected) << "row " << r << ", column " << c;
    } else {
      const long double step = std::numeric_limits<T>::epsilon() / 2;
      ASSERT_NEAR(static_cast<double>(y[at] - expected), 0, static_cast<double>(step * (k + 2) * (k + 1)))
          << "row " << r << ", column " << c;
    }
  }
}

template <typename T>
void ExpectTiles(int64_t m, int64_t n, int64_t k) {
  ExpectTiles<T>(m, n, k, false);
  ExpectTiles<T>(m, n, k, true);
}

template <typename T>
void ExpectEveryShape() {
  for (int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15}) {
    for (int64_t n = 1; n <= 40; ++n) ExpectTiles<T>(m, n, 5);
    for (int64_t n : {63, 64, 65, 96, 127, 130, 200}) ExpectTiles<T>(m, n, 9);
  }
  for (int64_t k : {0, 1, 2, 64, 197}) ExpectTiles<T>(6, 70, k);
}

// Depths for which a block of columns doesn't fit into the innermost cache.
template <typename T>
void ExpectDeepShapes() {
  for (int64_t m : {11, 12, 13, 40})
    for (int64_t k : {95, 96, 97, 200, 389, 1000}) ExpectTiles<T>(m, 70, k);
}

TEST_P(TileProducts, OfFloats) {
  ExpectEveryShape<float>();
  ExpectDeepShapes<float>();
}
TEST_P(TileProducts, OfDoubles) {
  ExpectEveryShape<double>();
  ExpectDeepShapes<double>();
}
TEST_P(TileProducts, OfUnsignedIntegersWrap) {
  ExpectEveryShape<uint32_t>();
  ExpectDeepShapes<uint32_t>();
}
TEST_P(TileProducts, OfLongUnsignedIntegersWrap) {
  ExpectEveryShape<uint64_t>();
  ExpectDeepShapes<uint64_t>();
}

TEST_P(TileProducts, AreOneSumInTheOrderOfKHoweverDeep) {
  constexpr int64_t kRows = 20, kColumns = 70, kDepth = 500;
  const std::vector<float> a = Numbers<float>(kRows * kDepth, 1), b = Numbers<float>(kDepth * kColumns, 2);
  std::vector<float> together(kRows * kColumns), alone(kColumns);
  const TileOperands<float> all{a.data(), kDepth, b.data(), kColumns, together.data(),
                                kColumns, kRows,  kColumns, kDepth,   true};
  TileMatMul(all);
  for (int64_t row = 0; row < kRows; ++row) {
    TileMatMul(TileOperands<float>{a.data() + row * kDepth, kDepth, b.data(), kColumns, alone.data(), kColumns, 1,
                                   kColumns, kDepth, true});
    for (int64_t c = 0; c < kColumns; ++c)
      ASSERT_EQ(together[static_cast<size_t>(row * kColumns + c)], alone[static_cast<size_t>(c)]) << row << ", " << c;
  }
}

TEST_P(TileProducts, PassNanAndInfinityOn) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> a = {1, infinity}, b = {2, std::nanf(""), 1, 3, 0, 1};
  std::vector<float> y(3);
  TileMatMul(TileOperands<float>{a.data(), 2, b.data(), 3, y.data(), 3, 1, 3, 2});
  EXPECT_EQ(y[0], infinity);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[2], infinity);
}

}  // namespace
}  // namespace epiphyte::cpu::simd
