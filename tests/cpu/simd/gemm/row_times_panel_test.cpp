#include "plugins/cpu/simd/gemm/row_times_panel.h"

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using RowTimesPanels = EachTarget;
EPIPHYTE_EACH_TARGET(RowTimesPanels);

TEST_P(RowTimesPanels, AreRightForEveryWidthAndDepth) {
  for (int64_t width = 16; width <= 64; width += 16) {
    ASSERT_TRUE(IsPanelWidth(width));
    for (int64_t k : Lengths()) {
      SCOPED_TRACE(::testing::Message() << "width " << width << ", k " << k);
      GuardedRow<float> a(RandomFloats(k, -1, 1, 1)), panel(RandomFloats(k * width, -1, 1, 2)), y(width);
      RowTimesPanel(a.data(), panel.data(), width, k, y.data());
      for (int64_t c = 0; c < width; ++c) {
        double expected = 0, magnitude = 0;
        for (int64_t i = 0; i < k; ++i) {
          const double product = static_cast<double>(a[i]) * panel[i * width + c];
          expected += product;
          magnitude += std::fabs(product);
        }
        // The bound allows one rounding for each step.
        ASSERT_NEAR(y[c], expected, 0x1p-24 * static_cast<double>(k + 1) * magnitude) << "column " << c;
      }
    }
  }
}

template <typename T>
void ExpectTheProductOfFloats() {
  for (int64_t width = 16; width <= 64; width += 16) {
    for (int64_t k : {1, 3, 16, 37, 200}) {
      SCOPED_TRACE(::testing::Message() << "width " << width << ", k " << k);
      const std::vector<float> a = RandomFloats(k, -1, 1, 1);
      std::vector<T> small;
      for (const float value : RandomFloats(k * width, -1, 1, 2)) small.push_back(T(value));
      GuardedRow<T> panel(small);
      const std::vector<float> wide(small.begin(), small.end());
      GuardedRow<float> y(width), expected(width);
      RowTimesPanel(a.data(), panel.data(), width, k, y.data());
      RowTimesPanel(a.data(), wide.data(), width, k, expected.data());
      for (int64_t c = 0; c < width; ++c) ASSERT_EQ(y[c], expected[c]) << "column " << c;
    }
  }
}
TEST_P(RowTimesPanels, OfFloat16) { ExpectTheProductOfFloats<kit::Float16>(); }
TEST_P(RowTimesPanels, OfBFloat16) { ExpectTheProductOfFloats<kit::BFloat16>(); }

TEST_P(RowTimesPanels, PassNanOnInItsColumn) {
  std::vector<float> a(40, 1.0f), panel(40 * 16, 1.0f), y(16);
  panel[20 * 16 + 3] = std::nanf("");
  RowTimesPanel(a.data(), panel.data(), 16, 40, y.data());
  for (size_t c = 0; c < 16; ++c) EXPECT_EQ(std::isnan(y[c]), c == 3) << c;
}

}  // namespace
}  // namespace epiphyte::cpu::simd
