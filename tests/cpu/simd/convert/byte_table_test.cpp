#include "plugins/cpu/simd/convert/byte_table.h"

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using ByteTables = EachTarget;
EPIPHYTE_EACH_TARGET(ByteTables);

TEST_P(ByteTables, MapEveryByteOfEveryLength) {
  std::array<uint8_t, 256> table;
  for (size_t i = 0; i < 256; ++i) table[i] = static_cast<uint8_t>(i * 77 + 13);  // all entries differ
  for (const int64_t n : Lengths()) {
    std::vector<uint8_t> numbers(static_cast<size_t>(n));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint8_t>(i * 5 + i / 256);
    for (const bool in_place : {false, true}) {
      GuardedRow<uint8_t> x(numbers), y(n);
      uint8_t* const to = in_place ? x.data() : y.data();
      MapBytes(table, x.data(), to, n);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(to[i], table[numbers[static_cast<size_t>(i)]]) << i << " of " << n;
    }
  }
}

}  // namespace
}  // namespace epiphyte::cpu::simd
