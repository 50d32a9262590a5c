#include "plugins/cpu/simd/gemm/panel_product.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using PanelProducts = EachTarget;
EPIPHYTE_EACH_TARGET(PanelProducts);

PanelProduct Of(const float* a, int64_t a_stride, const float* panels, float* y, int64_t y_stride, int64_t rows,
                int64_t n, int64_t k) {
  PanelProduct product;
  product.a = a;
  product.a_stride = a_stride;
  product.panels = panels;
  product.panel_stride = kPanelWidth * k;
  product.y = y;
  product.y_stride = y_stride;
  product.sum = product.y;
  product.rows = rows;
  product.n = n;
  product.k = k;
  return product;
}

// Compares y + a W with plain sums; each element may have the rounding errors of k steps. `gap` floats that must not be
// used follow each panel but the last, which ends at the end of accessible memory.
void ExpectPanels(int64_t rows, int64_t n, int64_t k, bool last_first, int64_t width = kPanelWidth, int64_t gap = 0,
                  bool fetches = false) {
  SCOPED_TRACE(::testing::Message() << "rows " << rows << ", n " << n << ", k " << k << ", last first " << last_first
                                    << ", width " << width << ", gap " << gap << ", fetches " << fetches);
  const int64_t a_stride = k + 3, y_stride = n + 5, count = (n + width - 1) / width, stride = width * k + gap;
  const std::vector<float> w = RandomFloats(n * k, -1, 1, 1);  // shape [n, k]
  GuardedRow<float> a(RandomFloats((rows - 1) * a_stride + k, -1, 1, 2));
  const std::vector<float> before = RandomFloats((rows - 1) * y_stride + n, -1, 1, 3);
  GuardedRow<float> y(before);
  GuardedRow<float> panels(std::vector<float>(static_cast<size_t>(count * stride - gap), 7.0f));
  for (int64_t c = 0; c < n; ++c) {
    for (int64_t i = 0; i < k; ++i)
      panels[c / width * stride + i * width + c % width] = w[static_cast<size_t>(c * k + i)];
  }
  PanelProduct product = Of(a.data(), a_stride, panels.data(), y.data(), y_stride, rows, n, k);
  product.width = width;
  product.panel_stride = stride;
  product.last_first = last_first;
  if (fetches) product.fetched_end = panels.data() + (count * stride - gap);
  RunPanelProduct(product);
  const double bound = 0x1p-24 * static_cast<double>(k + 2) * static_cast<double>(k + 1);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < y_stride && r * y_stride + c < (rows - 1) * y_stride + n; ++c) {
      double expected = before[static_cast<size_t>(r * y_stride + c)];
      if (c >= n) {
        ASSERT_EQ(y[r * y_stride + c], static_cast<float>(expected)) << "between the rows";
        continue;
      }
      for (int64_t i = 0; i < k; ++i)
        expected += static_cast<double>(a[r * a_stride + i]) * w[static_cast<size_t>(c * k + i)];
      ASSERT_NEAR(y[r * y_stride + c], expected, std::min(bound, 1e-4)) << "row " << r << ", column " << c;
    }
  }
}

TEST_P(PanelProducts, AddTheProductOfEveryShape) {
  for (int64_t rows = 1; rows <= 9; ++rows)
    for (int64_t n : {1, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 130, 200})
      ExpectPanels(rows, n, 13, n % 2 != 0);
}

TEST_P(PanelProducts, AddNothingWithoutColumnsOfA) { ExpectPanels(3, 70, 0, false); }

TEST_P(PanelProducts, TakeWeightsOfRealSize) { ExpectPanels(1, 512, 128, true); }

TEST_P(PanelProducts, OfPanelsOfEveryWidth) {
  for (int64_t width : {16, 32, 48, 64}) {
    for (int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 23, 25, 40}) {
      for (int64_t n : {int64_t{1}, width - 1, width, width + 1, 3 * width - 7})
        ExpectPanels(rows, n, 21, false, width, width * 3, true);
    }
  }
}

TEST_P(PanelProducts, BeginWithBiasAndSum) {
  const int64_t rows = 9, n = 150, k = 400, stride = n + 1;
  const std::vector<float> w = RandomFloats(n * k, -1, 1), a = RandomFloats(rows * k, -1, 1, 2);
  GuardedRow<float> bias(RandomFloats(n, -1, 1, 3)), sum(RandomFloats((rows - 1) * stride + n, -1, 1, 4));
  std::vector<float> panels(static_cast<size_t>(PanelFloats(n, k)));
  PackPanels(w.data(), n, k, panels.data());
  for (const bool has_bias : {false, true}) {
    for (const bool has_sum : {false, true}) {
      for (const int64_t depth : {k, int64_t{0}}) {
        GuardedRow<float> y(std::vector<float>(static_cast<size_t>((rows - 1) * stride + n), 9.0f));
        PanelProduct product = Of(a.data(), k, panels.data(), y.data(), stride, rows, n, depth);
        product.panel_stride = kPanelWidth * k;
        product.bias = has_bias ? bias.data() : nullptr;
        product.sum = has_sum ? sum.data() : nullptr;
        RunPanelProduct(product);
        for (int64_t i = 0; i < rows * n; ++i) {
          const int64_t r = i / n, c = i % n;
          double expected = (has_bias ? double{bias[c]} : 0) + (has_sum ? double{sum[r * stride + c]} : 0);
          for (int64_t j = 0; j < depth; ++j)
            expected += static_cast<double>(a[static_cast<size_t>(r * k + j)]) * w[static_cast<size_t>(c * k + j)];
          ASSERT_NEAR(y[r * stride + c], expected, 1e-4) << has_bias << has_sum << " depth " << depth << " at " << i;
        }
      }
    }
  }
}

TEST_P(PanelProducts, BoundTheResultAndNothingBefore) {
  const int64_t rows = 7, n = 70, k = 900;  // the sums of blocks exceed the bounds, the complete sums don't
  std::vector<float> w(static_cast<size_t>(n * k), 1.0f), a(static_cast<size_t>(rows * k));
  for (int64_t i = 0; i < rows * k; ++i) a[static_cast<size_t>(i)] = i % k < k / 2 ? 4.0f : -4.0f;
  std::vector<float> panels(static_cast<size_t>(PanelFloats(n, k))), sum(static_cast<size_t>(rows * n));
  PackPanels(w.data(), n, k, panels.data());
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<float>(i % 9) - 4.0f;
  sum[11] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> y(sum.size());
  PanelProduct product = Of(a.data(), k, panels.data(), y.data(), n, rows, n, k);
  product.sum = sum.data();
  product.bounded = true;
  product.low = -1.5f;
  product.high = 2.5f;
  RunPanelProduct(product);
  for (size_t i = 0; i < y.size(); ++i) {
    if (i == 11) {
      EXPECT_TRUE(std::isnan(y[i]));
    } else {
      EXPECT_EQ(y[i], std::clamp(sum[i], -1.5f, 2.5f)) << i;
    }
  }
}

// Windows of three pixels over an image of 15 pixels, including positions outside the image.
TEST_P(PanelProducts, OfWindows) {
  const int64_t k = 20, taps = 3, rows = 15, n = 66;
  const std::vector<float> w = RandomFloats(n * taps * k, -1, 1);  // shape [n, taps, k]
  GuardedRow<float> image(RandomFloats(rows * k, -1, 1, 2)), zeros(std::vector<float>(static_cast<size_t>(k), 0.0f));
  std::vector<float> panels(static_cast<size_t>(PanelFloats(n, taps * k)));
  PackPanels(w.data(), n, taps * k, panels.data());
  std::vector<int64_t> places;
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t pixel = row + tap - 1;
      places.push_back(pixel < 0 || pixel >= rows ? -1 : pixel * k);
    }
  }
  GuardedRow<float> y(std::vector<float>(static_cast<size_t>(rows * n), 5.0f));
  PanelProduct product = Of(image.data(), 0, panels.data(), y.data(), n, rows, n, k);
  product.sum = nullptr;
  product.panel_stride = kPanelWidth * taps * k;
  product.places = places.data();
  product.places_stride = rows;
  product.zeros = zeros.data();
  product.taps = taps;
  RunPanelProduct(product);
  for (int64_t i = 0; i < rows * n; ++i) {
    double expected = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t place = places[static_cast<size_t>(tap * rows + i / n)];
      for (int64_t j = 0; place >= 0 && j < k; ++j)
        expected += static_cast<double>(image[place + j]) * w[static_cast<size_t>((i % n * taps + tap) * k + j)];
    }
    ASSERT_NEAR(y[i], expected, 1e-5) << i;
  }
}

TEST_P(PanelProducts, InBlocksOfLongColumns) {
  for (int64_t k : {383, 384, 385, 768, 1150}) ExpectPanels(13, 70, k, k % 2 == 0, kPanelWidth, 64, true);
}

TEST_P(PanelProducts, AreTheSameInEitherOrderOfPanels) {
  const int64_t n = 300, k = 40, rows = 6;
  const std::vector<float> w = RandomFloats(n * k, -1, 1), a = RandomFloats(rows * k, -1, 1, 2);
  std::vector<float> panels(static_cast<size_t>(PanelFloats(n, k))), y(rows * n), z(rows * n);
  PackPanels(w.data(), n, k, panels.data());
  PanelProduct product = Of(a.data(), k, panels.data(), y.data(), n, rows, n, k);
  RunPanelProduct(product);
  product.y = z.data();
  product.sum = z.data();
  product.last_first = true;
  RunPanelProduct(product);
  EXPECT_EQ(y, z);
}

TEST_P(PanelProducts, LeaveNanAndInfinityWhereTheyBelong) {
  const int64_t n = 66, k = 3;
  std::vector<float> w(n * k, 1.0f);
  w[65 * k + 1] = std::numeric_limits<float>::infinity();
  w[2 * k] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> a = {1, -2, 3};
  std::vector<float> panels(static_cast<size_t>(PanelFloats(n, k))), y(n);
  PackPanels(w.data(), n, k, panels.data());
  RunPanelProduct(Of(a.data(), k, panels.data(), y.data(), n, 1, n, k));
  for (int64_t c = 0; c < n; ++c) {
    if (c == 2) {
      EXPECT_TRUE(std::isnan(y[2]));
    } else {
      EXPECT_EQ(y[static_cast<size_t>(c)], c == 65 ? -std::numeric_limits<float>::infinity() : 2.0f) << c;
    }
  }
}

}  // namespace
}  // namespace epiphyte::cpu::simd
