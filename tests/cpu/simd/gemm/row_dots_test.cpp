#include "plugins/cpu/simd/gemm/row_dots.h"

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using RowDotProducts = EachTarget;
EPIPHYTE_EACH_TARGET(RowDotProducts);

template <typename T>
std::vector<T> Numbers(int64_t n, unsigned seed) {
  std::vector<T> numbers;
  for (const float value : RandomFloats(n, -1, 1, seed))
    numbers.push_back(std::is_integral_v<T> ? static_cast<T>(static_cast<int64_t>(static_cast<double>(value) * 0x1p62))
                                            : static_cast<T>(value));
  return numbers;
}

template <typename T>
void ExpectDots(int64_t count, int64_t depth, int64_t gap) {
  SCOPED_TRACE(::testing::Message() << count << " rows of " << depth << ", " << gap << " apart");
  const int64_t stride = depth + gap;
  GuardedRow<T> a(Numbers<T>(depth, 1)), y(count);
  GuardedRow<T> rows(Numbers<T>(count == 0 ? 0 : (count - 1) * stride + depth, 2));
  RowDots(a.data(), rows.data(), stride, count, depth, y.data());
  for (int64_t r = 0; r < count; ++r) {
    if constexpr (std::is_integral_v<T>) {
      T expected = 0;
      for (int64_t i = 0; i < depth; ++i) expected += a[i] * rows[r * stride + i];
      ASSERT_EQ(y[r], expected) << "row " << r;
    } else {
      long double expected = 0, magnitude = 0;
      for (int64_t i = 0; i < depth; ++i) {
        const long double product = static_cast<long double>(a[i]) * rows[r * stride + i];
        expected += product;
        magnitude += std::fabs(product);
      }
      const long double unit = std::numeric_limits<T>::epsilon() / 2;
      ASSERT_LE(std::fabs(y[r] - expected), unit * static_cast<long double>(depth + 1) * magnitude) << "row " << r;
    }
  }
}
template <typename T>
void ExpectDotsOfEverySize() {
  for (int64_t depth : Lengths()) ExpectDots<T>(5, depth, 3);
  for (int64_t count = 0; count <= 20; ++count) ExpectDots<T>(count, 64, 0);
}

TEST_P(RowDotProducts, OfFloats) { ExpectDotsOfEverySize<float>(); }
TEST_P(RowDotProducts, OfDoubles) { ExpectDotsOfEverySize<double>(); }
TEST_P(RowDotProducts, OfIntegersWhichWrap) {
  ExpectDotsOfEverySize<uint32_t>();
  ExpectDotsOfEverySize<uint64_t>();
}

}  // namespace
}  // namespace epiphyte::cpu::simd
