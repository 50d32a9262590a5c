#include "plugins/cpu/simd/gemm/bfloat16_product.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "plugins/cpu/simd/gemm/amx.h"
#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using kit::BFloat16;

template <typename T>
std::unique_ptr<T[], void (*)(T*)> Aligned(int64_t n) {
  auto* const memory = static_cast<T*>(::operator new(static_cast<size_t>(n) * sizeof(T), std::align_val_t(64)));
  return {memory, [](T* p) { ::operator delete(p, std::align_val_t(64)); }};
}

float Rounded(float x) { return static_cast<float>(BFloat16(x)); }

class Bfloat16Products : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!UsesAmxBfloat16()) GTEST_SKIP() << "this CPU has no tiles of bfloat16";
  }
};

enum class Sum { kNone, kApart, kInPlace };

struct Case {
  int64_t m, n, k;
  bool bias = true;
  Sum sum = Sum::kNone;
};

// Checks a product and that it leaves the gaps between the rows of the result unchanged.
void ExpectProduct(const Case& c) {
  SCOPED_TRACE(::testing::Message() << c.m << "x" << c.n << "x" << c.k << ", bias " << c.bias << ", sum "
                                    << static_cast<int>(c.sum));
  const int64_t depth = Bfloat16Depth(c.k), padded = (c.n + kBfloat16Panel - 1) / kBfloat16Panel * kBfloat16Panel;
  const int64_t a_stride = c.k + 3, stride = c.n + 2;
  GuardedRow<float> a(RandomFloats((c.m - 1) * a_stride + c.k, -1, 1));
  const std::vector<float> w = RandomFloats(c.k * c.n, -1, 1, 2);
  auto panels = Aligned<BFloat16>(padded * depth);
  std::fill_n(panels.get(), padded * depth, BFloat16(0.0f));
  for (int64_t i = 0; i < c.k; ++i)
    for (int64_t j = 0; j < c.n; ++j)
      panels[j / kBfloat16Panel * kBfloat16Panel * depth + i / 2 * kBfloat16Panel * 2 + j % kBfloat16Panel * 2 +
             i % 2] = BFloat16(w[static_cast<size_t>(i * c.n + j)]);
  auto tiles = Aligned<uint16_t>(Bfloat16TileNumbers(c.m, c.k));
  RoundToTiles(a.data(), a_stride, c.m, c.k, tiles.get());
  GuardedRow<float> bias(RandomFloats(c.n, -1, 1, 3)), sum(RandomFloats((c.m - 1) * stride + c.n, -1, 1, 4));
  const std::vector<float> before = RandomFloats((c.m - 1) * stride + c.n, -1, 1, 5);
  GuardedRow<float> y(before);
  const auto scratch = Aligned<char>(static_cast<int64_t>(Bfloat16ScratchBytes(c.m)));
  Bfloat16Product product;
  product.tiles = tiles.get();
  product.rows = c.m;
  product.columns = c.n;
  product.depth = depth;
  product.bias = c.bias ? bias.data() : nullptr;
  product.sum = c.sum == Sum::kNone ? nullptr : c.sum == Sum::kApart ? sum.data() : y.data();
  product.y = y.data();
  product.y_stride = stride;
  product.scratch = scratch.get();
  RunBfloat16Product(product, panels.get());
  for (int64_t r = 0; r < c.m; ++r) {
    for (int64_t j = 0; j < stride && r * stride + j < static_cast<int64_t>(before.size()); ++j) {
      const int64_t at = r * stride + j;
      if (j >= c.n) {
        ASSERT_EQ(y[at], before[static_cast<size_t>(at)]) << "behind row " << r;
        continue;
      }
      double expected = c.bias ? bias[j] : 0.0, size = std::fabs(expected);
      if (c.sum != Sum::kNone) expected += c.sum == Sum::kApart ? sum[at] : before[static_cast<size_t>(at)];
      for (int64_t i = 0; i < c.k; ++i) {
        const double one =
            static_cast<double>(Rounded(a[r * a_stride + i])) * Rounded(w[static_cast<size_t>(i * c.n + j)]);
        expected += one;
        size += std::fabs(one);
      }
      ASSERT_NEAR(y[at], expected, size * 0x1p-19 + 1e-6) << "row " << r << ", column " << j;
    }
  }
}

TEST_F(Bfloat16Products, AreThoseOfRoundedNumbers) {
  for (int64_t m : {1, 2, 15, 16, 17, 31, 32, 33, 48, 49, 64, 70}) {
    for (int64_t n : {1, 15, 16, 17, 32, 33, 47, 64, 65, 100, 128, 130}) ExpectProduct({m, n, 40});
    for (int64_t k : {1, 2, 31, 32, 33, 64, 255, 256, 257, 288, 600}) ExpectProduct({m, 80, k});
  }
}

TEST_F(Bfloat16Products, TakeABiasAndASum) {
  for (int64_t m : {1, 16, 33, 64})
    for (int64_t n : {20, 64, 96, 150})
      for (int64_t k : {40, 300})
        for (const bool bias : {false, true})
          for (const Sum sum : {Sum::kNone, Sum::kApart, Sum::kInPlace}) ExpectProduct({m, n, k, bias, sum});
}

TEST_F(Bfloat16Products, TakePanelsThatAreMadeHere) {
  for (int64_t k : {1, 2, 31, 32, 33, 70}) {
    for (int64_t n : {1, 15, 16, 17, 64, 65, 130}) {
      SCOPED_TRACE(::testing::Message() << k << "x" << n);
      const int64_t stride = n + 3, depth = Bfloat16Depth(k);
      GuardedRow<float> w(RandomFloats((k - 1) * stride + n, -1, 1));
      auto panels = Aligned<BFloat16>(Bfloat16PanelNumbers(k, n));
      std::fill_n(panels.get(), Bfloat16PanelNumbers(k, n), BFloat16(7.0f));
      RoundToPanels(w.data(), stride, k, n, panels.get());
      for (int64_t i = 0; i < depth; ++i)
        for (int64_t j = 0; j < n; ++j)
          ASSERT_EQ(static_cast<float>(panels[j / kBfloat16Panel * kBfloat16Panel * depth + i / 2 * kBfloat16Panel * 2 +
                                              j % kBfloat16Panel * 2 + i % 2]),
                    i < k ? Rounded(w[i * stride + j]) : 0.0f)
              << i << ", " << j;
    }
  }
}

TEST_F(Bfloat16Products, OfWhatIsNotFiniteAreNot) {
  constexpr int64_t kDepth = 32;
  auto panels = Aligned<BFloat16>(kBfloat16Panel * kDepth);
  std::fill_n(panels.get(), kBfloat16Panel * kDepth, BFloat16(0.0f));
  panels[0] = panels[2] = BFloat16(1.0f);
  auto tiles = Aligned<uint16_t>(Bfloat16TileNumbers(3, 1));
  const float a[] = {INFINITY, NAN, 3.4e38f};
  RoundToTiles(a, 1, 3, 1, tiles.get());
  const auto scratch = Aligned<char>(static_cast<int64_t>(Bfloat16ScratchBytes(3)));
  float y[3] = {};
  Bfloat16Product product;
  product.tiles = tiles.get();
  product.rows = 3;
  product.columns = 1;
  product.depth = kDepth;
  product.y = y;
  product.y_stride = 1;
  product.scratch = scratch.get();
  RunBfloat16Product(product, panels.get());
  EXPECT_EQ(y[0], INFINITY);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[2], INFINITY) << "beyond the largest bfloat16";
}

}  // namespace
}  // namespace epiphyte::cpu::simd
