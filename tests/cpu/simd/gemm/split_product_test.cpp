#include "plugins/cpu/simd/gemm/split_product.h"

#include <cmath>
#include <memory>

#include "plugins/cpu/simd/gemm/amx.h"
#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using kit::BFloat16;
using kit::Float16;

using SplitParts = EachTarget;
EPIPHYTE_EACH_TARGET(SplitParts);

float FloatOf(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// Without AMX, the loops of the widest target have no instructions for bfloat16.
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

TEST_P(SplitParts, OfWeightsComeTogetherAgain) {
  if (!MaySplit()) GTEST_SKIP() << "this CPU has no tiles of bfloat16";
  for (const int64_t n : {kSplitPartsBlock, 3 * kSplitPartsBlock}) {
    GuardedRow<float> panels(RandomFloats(n, -100, 100)), joined(std::vector<float>(static_cast<size_t>(n)));
    GuardedRow<uint16_t> parts(std::vector<uint16_t>(static_cast<size_t>(2 * n)));
    SplitWeights(panels.data(), n, parts.data());
    JoinWeights(parts.data(), n, joined.data());
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = i / kSplitPartsBlock * 2 * kSplitPartsBlock + i % kSplitPartsBlock;
      const float high = FloatOf(parts[at]), low = FloatOf(parts[at + kSplitPartsBlock]);
      ASSERT_NEAR(high, panels[i], std::fabs(panels[i]) * 0x1p-8f) << i;
      ASSERT_NEAR(high + low, panels[i], std::fabs(panels[i]) * 0x1p-17f) << i;
      ASSERT_EQ(joined[i], high + low) << i;
    }
  }
}

// Returns panels as RunSplitProduct takes them: floats are split into parts, 16-bit numbers stay.
template <typename T>
std::unique_ptr<T[], void (*)(T*)> ToMultiply(std::unique_ptr<T[], void (*)(T*)> panels, int64_t) {
  return panels;
}
std::unique_ptr<uint16_t[], void (*)(uint16_t*)> ToMultiply(std::unique_ptr<float[], void (*)(float*)> panels,
                                                            int64_t n) {
  auto parts = Aligned<uint16_t>(2 * n);
  SplitWeights(panels.get(), n, parts.get());
  return parts;
}

template <typename T>
void ExpectSplitProduct(int64_t m, int64_t n, int64_t k) {
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
  const auto right = ToMultiply(std::move(panels), padded * depth);
  RunSplitProduct(product, right.get());
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
    for (int64_t n : {1, 15, 16, 17, 32, 33, 64, 70}) ExpectSplitProduct<Float16>(m, n, 40);
    for (int64_t k : {1, 2, 31, 32, 33, 64, 255, 256, 257, 600}) ExpectSplitProduct<Float16>(m, 48, k);
    for (int64_t k : {1, 32, 33, 255, 256, 257, 600}) ExpectSplitProduct<float>(m, 50, k);
    ExpectSplitProduct<BFloat16>(m, 50, 300);
  }
}

TEST_P(SplitParts, OfPixelsLieInPlanes) {
  if (!MaySplit()) GTEST_SKIP() << "this CPU has no tiles of bfloat16";
  for (int64_t channels : {1, 31, 32, 33, 64, 70}) {
    constexpr int64_t kPixels = 5, kPlane = 7 * kSplitPixel;
    const int64_t stride = 2 * channels;
    GuardedRow<float> x(RandomFloats((kPixels - 1) * stride + channels, -100, 100));
    const auto planes = Aligned<uint16_t>(3 * kPlane);
    ASSERT_TRUE(SplitPixels(x.data(), stride, kPixels, channels, planes.get(), kPlane));
    for (int64_t i = 0; i < kPixels; ++i) {
      for (int64_t c = 0; c < SplitDepth(channels); ++c) {
        const uint16_t* const high = planes.get() + c / 32 * kPlane + i * kSplitPixel + c % 32;
        const float exact = c < channels ? x[i * stride + c] : 0.0f;
        ASSERT_NEAR(FloatOf(high[0]) + FloatOf(high[32]), exact, std::fabs(exact) * 0x1p-17f) << i << ", " << c;
      }
    }
    x[stride + channels - 1] = NAN;
    EXPECT_FALSE(SplitPixels(x.data(), stride, kPixels, channels, planes.get(), kPlane));
  }
}

// The image has 90 pixels, in two planes of channels, and taps at offsets of 0, 1 and 11 pixels. A line has 10 pixels,
// of which the first 8 give results.
TEST(SplitProducts, OfPlanesWriteTheResultsOfLines) {
  if (!UsesAmxBfloat16()) GTEST_SKIP() << "this CPU has no tiles of bfloat16";
  constexpr int64_t kPixels = 90, kChannels = 64, kPlane = kPixels * kSplitPixel, kTaps[] = {0, 1, 11};
  constexpr int64_t kDepth = kChannels * 3, kLine = 10, kUsed = 8;
  const auto x = RandomFloats(kPixels * kChannels, -1, 1);
  const auto planes = Aligned<uint16_t>(2 * kPlane);
  ASSERT_TRUE(SplitPixels(x.data(), kChannels, kPixels, kChannels, planes.get(), kPlane));
  std::vector<int64_t> offsets;
  for (const int64_t chunk : {0, 1})
    for (const int64_t tap : kTaps) offsets.push_back(chunk * kPlane + tap * kSplitPixel);
  for (const int64_t n : {16, 32, 50}) {
    for (const int64_t first : {0, 3, 9}) {
      for (const int64_t rows : {1, 7, 16, 33, 65}) {
        for (const bool relu : {false, true}) {
          SCOPED_TRACE(::testing::Message() << n << " columns, " << rows << " rows from " << first << ", " << relu);
          const int64_t padded = (n + kSplitPanel - 1) / kSplitPanel * kSplitPanel;
          const auto w = RandomFloats(padded * kDepth, -1, 1, 2);
          auto panels = Aligned<float>(padded * kDepth);
          std::copy(w.begin(), w.end(), panels.get());
          const auto scratch = Aligned<char>(static_cast<int64_t>(SplitScratchBytes(rows)));
          int64_t results = 0;
          for (int64_t r = 0; r < rows; ++r) results += (first + r) % kLine < kUsed;
          const auto sum = RandomFloats(std::max<int64_t>(results, 1) * n, -1, 1, 4);
          GuardedRow<float> y(sum);
          SplitProduct product;
          product.tiles = planes.get();
          product.offsets = offsets.data();
          product.rows = rows;
          product.columns = n;
          product.depth = kDepth;
          product.line = kLine;
          product.used = kUsed;
          product.first = first;
          product.sum = y.data();
          product.relu = relu;
          product.y = y.data();
          product.y_stride = n;
          product.scratch = scratch.get();
          const auto parts = ToMultiply(std::move(panels), padded * kDepth);
          RunSplitProduct(product, parts.get());
          int64_t result = 0;
          for (int64_t r = 0; r < rows; ++r) {
            if ((first + r) % kLine >= kUsed) continue;
            for (int64_t c = 0; c < n; ++c) {
              double expected = sum[static_cast<size_t>(result * n + c)];
              for (int64_t k = 0; k < kDepth; ++k) {
                const int64_t channel = k / (3 * 32) * 32 + k % 32, pixel = r + kTaps[k / 32 % 3];
                const int64_t at =
                    c / kSplitPanel * kSplitPanel * kDepth + k / 2 * kSplitPanel * 2 + c % kSplitPanel * 2 + k % 2;
                expected += static_cast<double>(x[static_cast<size_t>(pixel * kChannels + channel)]) *
                            w[static_cast<size_t>(at)];
              }
              if (relu) expected = std::max(expected, 0.0);
              ASSERT_NEAR(y[result * n + c], expected, kDepth * 0x1p-16) << "row " << r << ", column " << c;
            }
            ++result;
          }
        }
      }
    }
  }
}

TEST(SplitProducts, OfWholeNumbersAreExact) {
  if (!UsesAmxBfloat16()) GTEST_SKIP() << "this CPU has no tiles of bfloat16";
  // The numbers have 11 and 16 significant bits, and sums have fewer than 24. In each product one lower part is 0.
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
