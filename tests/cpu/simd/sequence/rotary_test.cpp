#include "plugins/cpu/simd/sequence/rotary.h"

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using Rotary = EachTarget;
EPIPHYTE_EACH_TARGET(Rotary);

template <typename T>
std::vector<T> Numbers(int64_t n, unsigned seed) {
  std::vector<T> numbers;
  for (const float value : RandomFloats(n, -1, 1, seed)) numbers.push_back(static_cast<T>(value));
  return numbers;
}
double Real(double number) { return number; }
double Real(kit::Float16 number) { return static_cast<float>(number); }
double Real(kit::BFloat16 number) { return static_cast<float>(number); }

// `rounding`: bound of the rounding error of a result with magnitude below 2.
template <typename T>
void ExpectTurned(int64_t half, bool interleaved, double rounding) {
  SCOPED_TRACE(::testing::Message() << half << " pairs, interleaved " << interleaved);
  GuardedRow<T> x(Numbers<T>(2 * half, 1)), cosines(Numbers<T>(half, 2)), sines(Numbers<T>(half, 3));
  GuardedRow<T> y(2 * half);
  TurnPairs(x.data(), cosines.data(), sines.data(), y.data(), half, interleaved);
  for (int64_t i = 0; i < half; ++i) {
    const int64_t first = interleaved ? 2 * i : i, second = interleaved ? 2 * i + 1 : half + i;
    const double a = Real(x[first]), b = Real(x[second]), c = Real(cosines[i]), s = Real(sines[i]);
    ASSERT_NEAR(Real(y[first]), c * a - s * b, rounding) << i;
    ASSERT_NEAR(Real(y[second]), s * a + c * b, rounding) << i;
  }
}

TEST_P(Rotary, TurnsEveryNumberOfPairs) {
  for (const bool interleaved : {false, true}) {
    for (int64_t half = 0; half <= 70; ++half) {
      ExpectTurned<float>(half, interleaved, 0x1p-22);
      ExpectTurned<double>(half, interleaved, 0x1p-51);
      ExpectTurned<kit::Float16>(half, interleaved, 0x1.01p-11);
      ExpectTurned<kit::BFloat16>(half, interleaved, 0x1.01p-8);
    }
  }
}

}  // namespace
}  // namespace epiphyte::cpu::simd
