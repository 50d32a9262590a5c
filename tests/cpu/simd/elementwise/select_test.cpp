// Selection between two rows, element by element.
#include "plugins/cpu/simd/elementwise/select.h"

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
    loop(c.data(), a.data(), 1, b.data(), 1, y.data(), n);
    loop(c.data(), over_a.data(), 1, b.data(), 1, over_a.data(), n);
    loop(c.data(), a.data(), 1, over_b.data(), 1, over_b.data(), n);
    for (int64_t i = 0; i < n; ++i) {
      const T expected = c[i] != 0 ? a[i] : b[i];
      ASSERT_EQ(y[i], expected) << "element " << i << " of " << n << " of " << sizeof(T) << " bytes";
      ASSERT_EQ(over_a[i], expected) << "element " << i << " of " << n << " of " << sizeof(T) << " bytes";
      ASSERT_EQ(over_b[i], expected) << "element " << i << " of " << n << " of " << sizeof(T) << " bytes";
    }
  }
}

template <typename T>
void TestSelectOfOne() {
  const SelectLoop<T> loop;
  for (int64_t n : Lengths()) {
    GuardedRow<uint8_t> c(RandomIntegers<uint8_t>(n, 1));
    for (int64_t i = 0; i < n; i += 3) c[i] = 0;
    GuardedRow<T> a(RandomIntegers<T>(n, 2)), b(RandomIntegers<T>(n, 3)), one(std::vector<T>{T(77)}),
        other(std::vector<T>{T(9)});
    GuardedRow<T> of_a(n), of_b(n), of_none(n);
    loop(c.data(), a.data(), 1, one.data(), 0, of_a.data(), n);
    loop(c.data(), one.data(), 0, b.data(), 1, of_b.data(), n);
    loop(c.data(), one.data(), 0, other.data(), 0, of_none.data(), n);
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(of_a[i], c[i] != 0 ? a[i] : T(77)) << "element " << i << " of " << n;
      ASSERT_EQ(of_b[i], c[i] != 0 ? T(77) : b[i]) << "element " << i << " of " << n;
      ASSERT_EQ(of_none[i], c[i] != 0 ? T(77) : T(9)) << "element " << i << " of " << n;
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

TEST_P(Selection, TakesOneElementForAllOfARow) {
  TestSelectOfOne<uint8_t>();
  TestSelectOfOne<uint16_t>();
  TestSelectOfOne<uint32_t>();
  TestSelectOfOne<uint64_t>();
}

}  // namespace
}  // namespace epiphyte::cpu::simd
