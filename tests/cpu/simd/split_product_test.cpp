#include "plugins/cpu/simd/split_product.h"

#include <cmath>
#include <memory>

#include "plugins/cpu/simd/amx.h"
#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using kit::BFloat16;
using kit::Float16;

using SplitParts = EachTarget;
EPIPHYTE_EACH_TARGET(SplitParts);

float FloatOf(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// On a CPU without AMX, the widest target has no instructions for bfloat16.
bool MaySplit() { return UsesAmxBfloat16() || ChosenTarget() != SupportedTargets().front(); }

template <typename T>
std::unique_ptr<T[], void (*)(T*)> Aligned(int64_t n) {
  auto* const memory = static_cast<T*>(::operator new(static_cast<size_t>(n) * sizeof(T), std::align_val_t(64)));
  return {memory, [](T* p) { ::operator delete(p, std::align_val_t(64)); }};
}

TEST_P(SplitParts, LeaveAlmostNothingOfAFloat) {
  if (!MaySplit()) GTEST_SKIP() << "this CPU has no tiles of bfloat16";
  for (int64_t k : {1, 7, 31, 32, 33, 64, 70}) {
    constexpr int64_t kRows = 18;
    GuardedRow<float> a(RandomFloats(kRows * k, -100, 100));
    const auto tiles = Aligned<uint16_t>(SplitTileNumbers(kRows, k));
    ASSERT_TRUE(SplitRows(a.data(), k, kRows, k, tiles.get()));
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t i = 0; i < SplitDepth(k); ++i) {
        const uint16_t* const high =
            tiles.get() + SplitRowBegin(r, k) + i / kSplitTileColumns * 2 * kSplitTile + i % kSplitTileColumns;
        const float exact = i < k ? a[r * k + i] : 0.0f;
        ASSERT_NEAR(FloatOf(high[0]) + FloatOf(high[kSplitTile]), exact, std::fabs(exact) * 0x1p-17f) << r << ", " << i;
      }
    }
  }
}

TEST_P(SplitParts, TellOfWhatIsNotFinite) {
  if (!MaySplit()) GTEST_SKIP() << "this CPU has no tiles of bfloat16";
  const auto tiles = Aligned<uint16_t>(SplitTileNumbers(2, 67));
  for (const float number : {INFINITY, -INFINITY, NAN, 0x1.ffp127f}) {
    for (const size_t at : {0, 7, 40, 66, 133}) {
      std::vector<float> a(2 * 67, 1.0f);
      EXPECT_TRUE(SplitRows(a.data(), 67, 2, 67, tiles.get()));
      a[at] = number;
      EXPECT_FALSE(SplitRows(a.data(), 67, 2, 67, tiles.get())) << number << " at " << at;
    }
  }
}

template <typename T>
void ExpectProduct(int64_t m, int64_t n, int64_t k) {
  SCOPED_TRACE(::testing::Message() << m << "x" << n << "x" << k);
  const int64_t depth = SplitDepth(k), padded = (n + kSplitPanel - 1) / kSplitPanel * kSplitPanel;
  GuardedRow<float> a(RandomFloats(m * k, -1, 1));
  std::vector<float> w = RandomFloats(k * n, -1, 1, 2);
  const std::vector<float> bias = RandomFloats(n, -1, 1, 3);
  auto panels = Aligned<T>(padded * depth);
  std::fill_n(panels.get(), padded * depth, T(0.0f));
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t c = 0; c < n; ++c) {
      T& number = panels[c / kSplitPanel * kSplitPanel * depth + i / 2 * kSplitPanel * 2 + c % kSplitPanel * 2 + i % 2];
      number = T(w[static_cast<size_t>(i * n + c)]);
      w[static_cast<size_t>(i * n + c)] = static_cast<float>(number);
    }
  }
  auto tiles = Aligned<uint16_t>(SplitTileNumbers(m, k));
  ASSERT_TRUE(SplitRows(a.data(), k, m, k, tiles.get()));
  const auto scratch = Aligned<char>(static_cast<int64_t>(SplitScratchBytes(m)));
  const auto sum = RandomFloats(m * n, -1, 1, 4);
  GuardedRow<float> y(sum);
  SplitProduct product;
  product.tiles = tiles.get();
  product.rows = m;
  product.columns = n;
  product.depth = depth;
  product.bias = bias.data();
  product.sum = y.data();
  product.y = y.data();
  product.y_stride = n;
  product.scratch = scratch.get();
  RunSplitProduct(product, static_cast<const T*>(panels.get()));
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t c = 0; c < n; ++c) {
      const int64_t at = r * n + c;
      double expected = static_cast<double>(bias[static_cast<size_t>(c)]) + sum[static_cast<size_t>(at)], size = 0;
      for (int64_t i = 0; i < k; ++i) {
        const double one = static_cast<double>(a[r * k + i]) * w[static_cast<size_t>(i * n + c)];
        expected += one;
        size += std::fabs(one);
      }
      ASSERT_NEAR(y[at], expected, size * 0x1p-16 + 1e-6) << "row " << r << ", column " << c;
    }
  }
}

TEST(SplitProducts, AreWithinWhatTheirPartsLeaveOut) {
  if (!UsesAmxBfloat16()) GTEST_SKIP() << "this CPU has no tiles of bfloat16";
  for (int64_t m : {1, 15, 16, 17, 31, 32, 33, 70}) {
    for (int64_t n : {1, 15, 16, 17, 32, 33, 64, 70}) ExpectProduct<Float16>(m, n, 40);
    for (int64_t k : {1, 2, 31, 32, 33, 64, 255, 256, 257, 600}) ExpectProduct<Float16>(m, 48, k);
    ExpectProduct<float>(m, 50, 300);
    ExpectProduct<BFloat16>(m, 50, 300);
  }
}

TEST(SplitProducts, OfWholeNumbersAreExact) {
  if (!UsesAmxBfloat16()) GTEST_SKIP() << "this CPU has no tiles of bfloat16";
  // Numbers of 11 and 16 bits, and sums of fewer than 24; of the lower parts one is always 0.
  const std::vector<float> a = {65535, 256, 1, -4096};
  auto panels = Aligned<Float16>(kSplitPanel * 32);
  std::fill_n(panels.get(), kSplitPanel * 32, Float16(0.0f));
  const float w[] = {1, 2047, -2047, 512};
  for (int64_t i = 0; i < 4; ++i) panels[i / 2 * kSplitPanel * 2 + i % 2] = Float16(w[i]);
  auto tiles = Aligned<uint16_t>(SplitTileNumbers(1, 4));
  ASSERT_TRUE(SplitRows(a.data(), 4, 1, 4, tiles.get()));
  const auto scratch = Aligned<char>(static_cast<int64_t>(SplitScratchBytes(1)));
  float y = 0;
  SplitProduct product;
  product.tiles = tiles.get();
  product.rows = product.columns = 1;
  product.depth = 32;
  product.y = &y;
  product.scratch = scratch.get();
  RunSplitProduct(product, static_cast<const Float16*>(panels.get()));
  EXPECT_EQ(y, 65535.0f + 256 * 2047 - 2047 - 4096 * 512);
}

}  // namespace
}  // namespace epiphyte::cpu::simd
