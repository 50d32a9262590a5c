#include "plugins/cpu/simd/sequence/fft.h"

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using Transforms = EachTarget;
EPIPHYTE_EACH_TARGET(Transforms);

using Complex = Fft::Complex;

std::vector<Complex> RandomComplex(int64_t n) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> distribution(-1, 1);
  std::vector<Complex> values(static_cast<size_t>(n));
  for (Complex& value : values) value = {distribution(random), distribution(random)};
  return values;
}

using Precise = std::complex<long double>;

// Returns exp(2 pi i k / n) for k = 0 … n - 1.
std::vector<Precise> Roots(int64_t n) {
  std::vector<Precise> roots;
  for (int64_t k = 0; k < n; ++k)
    roots.push_back(std::polar(1.0L, 2 * 3.14159265358979323846264L * static_cast<long double>(k) / n));
  return roots;
}

// Returns element k of the transform by its definition.
Complex Plain(const std::vector<Complex>& values, const std::vector<Precise>& roots, int64_t k, bool inverse) {
  Precise sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const Precise root = roots[i * static_cast<size_t>(k) % roots.size()];
    sum += Precise(values[i]) * (inverse ? root : std::conj(root));
  }
  return Complex(sum);
}

// The bound grows with the logarithm of the length and with the magnitude of results, the square root of the length.
// Its factor 16 covers Bluestein's method, which makes three transforms.
void ExpectTransform(int64_t n, bool inverse, int64_t step) {
  SCOPED_TRACE(::testing::Message() << n << " numbers, inverse " << inverse);
  const std::vector<Complex> before = RandomComplex(n);
  std::vector<Complex> values = before;
  Fft(n).Transform(values, inverse);
  const std::vector<Precise> roots = Roots(n);
  const double size = static_cast<double>(n);
  const double bound = 16 * std::numeric_limits<double>::epsilon() * std::sqrt(size) * (1 + std::log2(size));
  for (int64_t k = 0; k < n; k += step) {
    const Complex expected = Plain(before, roots, k, inverse);
    ASSERT_NEAR(values[static_cast<size_t>(k)].real(), expected.real(), bound) << k;
    ASSERT_NEAR(values[static_cast<size_t>(k)].imag(), expected.imag(), bound) << k;
  }
}

TEST_P(Transforms, OfEveryLengthBothWays) {
  for (int64_t n = 1; n <= 70; ++n) {
    ExpectTransform(n, false, 1);
    ExpectTransform(n, true, 1);
  }
}
TEST_P(Transforms, OfLongRows) {
  for (int64_t n : {256, 400, 1000, 4096}) ExpectTransform(n, n % 3 == 0, 97);
}

}  // namespace
}  // namespace epiphyte::cpu::simd
