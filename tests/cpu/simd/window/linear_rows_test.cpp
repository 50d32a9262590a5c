// Linear interpolation along rows and between rows.
#include "plugins/cpu/simd/window/linear_rows.h"

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using LinearRows = EachTarget;
EPIPHYTE_EACH_TARGET(LinearRows);

TEST_P(LinearRows, AreSampledWhereverTheirTapsLie) {
  for (int64_t width : {1, 3, 15, 16, 17, 31, 32, 33, 64, 200}) {
    for (int64_t count : {1, 15, 16, 33, 64, 200}) {
      for (bool scattered : {false, true}) {
        SCOPED_TRACE(::testing::Message() << count << " of " << width);
        std::mt19937 random(static_cast<unsigned>(width * count));
        std::vector<int32_t> lower(static_cast<size_t>(count)), upper = lower;
        for (size_t i = 0; i < lower.size(); ++i) {
          const auto at = scattered ? static_cast<int64_t>(random() % 1000) : static_cast<int64_t>(i) * width / count;
          lower[i] = static_cast<int32_t>(at % width);
          upper[i] = static_cast<int32_t>(std::min<int64_t>(lower[i] + 1, width - 1));
        }
        const std::vector<float> a = RandomFloats(count, 0, 1, 1), b = RandomFloats(count, 0, 1, 2);
        GuardedRow<float> x(RandomFloats(width, -1, 1, 3)), y(count);
        SampleRow(LinearTaps(width, lower, upper, a, b), x.data(), y.data());
        for (size_t i = 0; i < lower.size(); ++i) {
          const double low = static_cast<double>(a[i]) * x[lower[i]], high = static_cast<double>(b[i]) * x[upper[i]];
          ASSERT_NEAR(y[static_cast<int64_t>(i)], low + high, 0x1p-23 * (std::fabs(low) + std::fabs(high))) << i;
        }
      }
    }
  }
}

TEST_P(LinearRows, AreBlended) {
  for (int64_t n : Lengths()) {
    GuardedRow<float> a(RandomFloats(n, -1, 1, 1)), b(RandomFloats(n, -1, 1, 2)), y(n);
    GuardedRow<float> over_b(b.values());
    BlendRows(a.data(), b.data(), 0.3f, 0.7f, y.data(), n);
    BlendRows(a.data(), over_b.data(), 0.3f, 0.7f, over_b.data(), n);
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_NEAR(y[i], 0.3 * a[i] + 0.7 * b[i], 0x1p-23) << i << " of " << n;
      ASSERT_EQ(over_b[i], y[i]) << i << " of " << n;
    }
  }
}

TEST_P(LinearRows, AreBlendedByFours) {
  const float weights[4] = {0.4f, -0.3f, 0.2f, 0.7f};
  for (int64_t n : Lengths()) {
    GuardedRow<float> a(RandomFloats(n, -1, 1, 1)), b(RandomFloats(n, -1, 1, 2));
    GuardedRow<float> c(RandomFloats(n, -1, 1, 3)), d(RandomFloats(n, -1, 1, 4)), y(n);
    const float* const rows[4] = {a.data(), b.data(), c.data(), d.data()};
    BlendFourRows(rows, weights, y.data(), n);
    for (int64_t i = 0; i < n; ++i)
      ASSERT_NEAR(y[i], 0.4 * a[i] - 0.3 * b[i] + 0.2 * c[i] + 0.7 * d[i], 0x1p-21) << i << " of " << n;
  }
}

TEST_P(LinearRows, AreBlendedByAnyNumber) {
  for (int64_t n : Lengths()) {
    for (const int64_t count : {0, 1, 5, 16}) {
      const std::vector<float> weights = RandomFloats(count, -1, 1, 7);
      GuardedRow<float> all(RandomFloats(count * n, -1, 1, 1)), y(n);
      std::vector<const float*> rows;
      for (int64_t i = 0; i < count; ++i) rows.push_back(all.data() + (count - 1 - i) * n);
      BlendManyRows(rows.data(), weights.data(), count, y.data(), n);
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (size_t i = 0; i < rows.size(); ++i)
          sum += static_cast<double>(weights[i]) * static_cast<double>(rows[i][j]);
        ASSERT_NEAR(y[j], sum, 0x1p-18) << j << " of " << n << ", " << count << " rows";
      }
    }
  }
}

template <typename T>
void ExpectDoubled() {
  for (int64_t n : Lengths()) {
    std::vector<T> numbers(static_cast<size_t>(n));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<T>(i * 2654435761u);
    GuardedRow<T> x(numbers), y(2 * n);
    DoubleRow(x.data(), y.data(), n);
    for (int64_t i = 0; i < 2 * n; ++i) ASSERT_EQ(y[i], numbers[static_cast<size_t>(i / 2)]) << i << " of " << 2 * n;
  }
}
TEST_P(LinearRows, AreDoubled) {
  ExpectDoubled<uint8_t>();
  ExpectDoubled<uint16_t>();
  ExpectDoubled<uint32_t>();
}

}  // namespace
}  // namespace epiphyte::cpu::simd
