// Choosing between two rows, element by element.
#include "plugins/cpu/simd/select.h"

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

template <typename T>
std::vector<T> RandomIntegers(int64_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(static_cast<size_t>(n));
  for (T& value : values) value = static_cast<T>(random());
  return values;
}

template <typename T>
void TestSelect() {
  const SelectLoop<T> loop;
  for (int64_t n : Lengths()) {
    std::vector<uint8_t> conditions = RandomIntegers<uint8_t>(n, 1);
    for (size_t i = 0; i < conditions.size(); ++i) conditions[i] = i % 5 < 2 ? 0 : i % 5 == 2 ? 1 : conditions[i];
    GuardedRow<uint8_t> c(conditions);
    GuardedRow<T> a(RandomIntegers<T>(n, 2)), b(RandomIntegers<T>(n, 3)), y(n);
    GuardedRow<T> over_a(a.values()), over_b(b.values());
    loop(c.data(), a.data(), b.data(), y.data(), n);
    loop(c.data(), over_a.data(), b.data(), over_a.data(), n);
    loop(c.data(), a.data(), over_b.data(), over_b.data(), n);
    for (int64_t i = 0; i < n; ++i) {
      const T expected = c[i] != 0 ? a[i] : b[i];
      ASSERT_EQ(y[i], expected) << "element " << i << " of " << n << " of " << sizeof(T) << " bytes";
      ASSERT_EQ(over_a[i], expected) << "element " << i << " of " << n << " of " << sizeof(T) << " bytes";
      ASSERT_EQ(over_b[i], expected) << "element " << i << " of " << n << " of " << sizeof(T) << " bytes";
    }
  }
}

using Selection = EachTarget;
EPIPHYTE_EACH_TARGET(Selection);

TEST_P(Selection, TakesTheFirstRowWhereTheConditionIsNotZero) {
  TestSelect<uint8_t>();
  TestSelect<uint16_t>();
  TestSelect<uint32_t>();
  TestSelect<uint64_t>();
}

}  // namespace
}  // namespace epiphyte::cpu::simd
