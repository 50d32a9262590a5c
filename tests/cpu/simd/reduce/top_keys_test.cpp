// Lower bounds for the k largest of a row, and the elements that reach them.
#include "plugins/cpu/simd/reduce/top_keys.h"

#include <algorithm>

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

// Elements with many equal ones, and special numbers.
template <typename T>
std::vector<T> Elements(int64_t n) {
  std::mt19937_64 random(static_cast<uint64_t>(n) + sizeof(T));
  std::vector<T> x(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<T>(static_cast<int64_t>(random() % 2001) - 1000);
    if constexpr (std::is_floating_point_v<T>) {
      const T special[] = {T(0), -T(0), T(kInfinity), T(-kInfinity), T(kNaN), -T(kNaN)};
      x[i] = i % 7 == 3 ? special[random() % 6] : x[i] / 8;
    } else if (i % 11 == 5) {
      x[i] = i % 2 == 0 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
    }
  }
  return x;
}

TEST(TopKey, OrdersFloatsWithNaNAtTheTopAndZerosEqual) {
  const float ascending[] = {-kInfinity, -1, -0x1p-149f, 0, 0x1p-149f, 1, kInfinity, kNaN};
  for (size_t i = 1; i < std::size(ascending); ++i) {
    EXPECT_LT(TopKeyOf(ascending[i - 1], true), TopKeyOf(ascending[i], true)) << i;
    EXPECT_GT(TopKeyOf(ascending[i - 1], false), TopKeyOf(ascending[i], false)) << i;
  }
  EXPECT_EQ(TopKeyOf(-0.0f, true), TopKeyOf(0.0f, true));
  EXPECT_EQ(TopKeyOf(-kNaN, true), TopKeyOf(kNaN, true));
  EXPECT_EQ(TopKeyOf(-0.0, false), TopKeyOf(0.0, false));
}

template <typename T>
void TestBounds() {
  for (int64_t n : Lengths()) {
    GuardedRow<T> x(Elements<T>(n));
    for (bool largest : {false, true}) {
      for (int64_t groups : {kKeyGroups, 3 * kKeyGroups}) {
        if (groups > n) continue;
        GuardedRow<TopKey<T>> bounds(groups);
        GroupLargest(x.data(), n, largest, bounds.data(), groups);
        for (int64_t g = 0; g < groups; ++g) {
          TopKey<T> expected = TopKeyOf(x[g], largest);
          for (int64_t i = g; i < n; i += groups) expected = std::max(expected, TopKeyOf(x[i], largest));
          ASSERT_EQ(bounds[g], expected) << "group " << g << " of " << groups << " of " << n;
        }
      }
      for (T limit : Elements<T>(12)) {
        const TopKey<T> least = TopKeyOf(limit, largest);
        std::vector<int32_t> expected;
        for (int64_t i = 0; i < n; ++i)
          if (TopKeyOf(x[i], largest) >= least) expected.push_back(static_cast<int32_t>(i));
        GuardedRow<int32_t> indices(n);
        const int64_t count = CollectFrom(x.data(), n, largest, least, indices.data());
        ASSERT_EQ(count, static_cast<int64_t>(expected.size())) << n;
        for (int64_t i = 0; i < count; ++i) ASSERT_EQ(indices[i], expected[static_cast<size_t>(i)]) << n;
      }
    }
  }
}

using TopKeys = EachTarget;
EPIPHYTE_EACH_TARGET(TopKeys);

TEST_P(TopKeys, AreThoseOfEachGroupAndOfAllThatReachTheBound) {
  TestBounds<float>();
  TestBounds<double>();
  TestBounds<int32_t>();
  TestBounds<int64_t>();
}

}  // namespace
}  // namespace epiphyte::cpu::simd
