#include "plugins/cpu/simd/window/local_response.h"

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using PowersOfSquares = EachTarget;
EPIPHYTE_EACH_TARGET(PowersOfSquares);

// `ulp`: bound in units in the last place. For beta = 3/4 there are four roundings. Otherwise the errors of log and exp
// count, and exp multiplies the error of its argument by the argument's size, at most 2 log(41) here.
void ExpectPowers(float beta, double ulp) {
  for (int64_t n : Lengths()) {
    for (bool in_place : {false, true}) {
      SCOPED_TRACE(::testing::Message() << n << " numbers, beta " << beta << ", in place " << in_place);
      const std::vector<float> before = RandomFloats(n, -3, 3, 1);
      GuardedRow<float> x(before), squares(RandomFloats(n, 0, 400, 2)), y(n);
      float* const to = in_place ? x.data() : y.data();
      ScaleByPower(x.data(), squares.data(), to, n, 1, 0.1f, beta);
      for (int64_t i = 0; i < n; ++i) {
        const double base = 1 + static_cast<double>(0.1f) * squares[i];
        const double expected = before[static_cast<size_t>(i)] * std::pow(base, -static_cast<double>(beta));
        ASSERT_LE(UlpError(to[i], expected), ulp) << i << ": " << to[i] << " for " << expected;
      }
    }
  }
}

TEST_P(PowersOfSquares, OfThreeQuarters) { ExpectPowers(0.75f, 4); }
TEST_P(PowersOfSquares, OfOtherExponents) {
  ExpectPowers(0.5f, 12);
  ExpectPowers(2.0f, 16);
}

}  // namespace
}  // namespace epiphyte::cpu::simd
