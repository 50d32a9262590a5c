#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/sequence/fft.cpp"
#include "plugins/cpu/simd/sequence/fft.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Complex numbers are pairs of lanes. Gives a b, or a conj(b).
template <bool kConjugate, class D, class V = hn::Vec<D>>
HWY_INLINE V Product(D d, V a, V b) {
  const V real = hn::DupEven(b), crossed = hn::Mul(hn::Reverse2(d, a), hn::DupOdd(b));
  const V sum = hn::MulAdd(a, real, crossed), difference = hn::MulSub(a, real, crossed);
  return kConjugate ? hn::OddEven(difference, sum) : hn::OddEven(sum, difference);
}

// The stage that joins transforms of `half` numbers to transforms of twice as many. A vector must not be longer than
// `half` numbers.
template <bool kInverse, class D>
HWY_INLINE void StageBy(D d, double* values, const double* roots, int64_t n, int64_t half) {
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  for (double* low = values; low < values + 2 * n; low += 4 * half) {
    double* const high = low + 2 * half;
    for (int64_t k = 0; k < 2 * half; k += kLanes) {
      const auto a = hn::LoadU(d, low + k);
      const auto product = Product<kInverse>(d, hn::LoadU(d, high + k), hn::LoadU(d, roots + k));
      hn::StoreU(hn::Add(a, product), d, low + k);
      hn::StoreU(hn::Sub(a, product), d, high + k);
    }
  }
}

template <bool kInverse>
HWY_INLINE void Stages(double* values, const double* roots, int64_t n) {
  for (int64_t half = 1; half < n; roots += 2 * half, half *= 2) {
    if (half == 1) {
      StageBy<kInverse>(hn::CappedTag<double, 2>(), values, roots, n, half);
    } else if (half == 2) {
      StageBy<kInverse>(hn::CappedTag<double, 4>(), values, roots, n, half);
    } else {
      StageBy<kInverse>(hn::CappedTag<double, 8>(), values, roots, n, half);
    }
  }
}
void FftStages(double* values, const double* roots, int64_t n, bool inverse) {
  inverse ? Stages<true>(values, roots, n) : Stages<false>(values, roots, n);
}

// values *= factors, n complex numbers.
void ComplexProducts(double* values, const double* factors, int64_t n) {
  const hn::CappedTag<double, 8> d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(hn::CappedTag<double, 8>()));
  int64_t i = 0;
  for (; i + kLanes <= 2 * n; i += kLanes)
    hn::StoreU(Product<false>(d, hn::LoadU(d, values + i), hn::LoadU(d, factors + i)), d, values + i);
  const hn::CappedTag<double, 2> one;
  for (; i < 2 * n; i += 2)
    hn::StoreU(Product<false>(one, hn::LoadU(one, values + i), hn::LoadU(one, factors + i)), one, values + i);
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(FftStages);
EPIPHYTE_EXPORT(ComplexProducts);

namespace {

// An array of complex numbers may be read as an array of real and imaginary parts.
double* Parts(std::vector<Fft::Complex>& values) { return reinterpret_cast<double*>(values.data()); }
const double* Parts(const std::vector<Fft::Complex>& values) { return reinterpret_cast<const double*>(values.data()); }

constexpr double kPi = 3.14159265358979323846;

bool IsPowerOfTwo(int64_t n) { return (n & (n - 1)) == 0; }

int64_t PaddedLength(int64_t length) {
  const int64_t needed = IsPowerOfTwo(length) ? length : 2 * length - 1;
  int64_t padded = 1;
  while (padded < needed) padded *= 2;
  return padded;
}

}  // namespace

uint64_t Fft::BytesFor(int64_t length) {
  const int64_t padded = PaddedLength(length);
  // The first term counts roots and values. Bluestein's method also needs the chirp, the filter and its work buffer.
  const int64_t numbers = padded == length ? 2 * padded : 3 * padded + 2 * length;
  return static_cast<uint64_t>(numbers) * sizeof(Complex);
}

Fft::Fft(int64_t length) : length_(length), padded_(PaddedLength(length)) {
  roots_.reserve(static_cast<size_t>(padded_));
  for (int64_t half = 1; half < padded_; half *= 2) {
    for (int64_t k = 0; k < half; ++k)
      roots_.push_back(std::polar(1.0, -kPi * static_cast<double>(k) / static_cast<double>(half)));
  }
  if (padded_ == length_) return;
  chirp_.reserve(static_cast<size_t>(length_));
  for (int64_t k = 0; k < length_; ++k) {
    // k^2 modulo 2n keeps the angle, and with it its error, small.
    const auto square = static_cast<uint64_t>(k) * static_cast<uint64_t>(k) % static_cast<uint64_t>(2 * length_);
    chirp_.push_back(std::polar(1.0, -kPi * static_cast<double>(square) / static_cast<double>(length_)));
  }
  filter_.assign(static_cast<size_t>(padded_), Complex());
  for (int64_t k = 0; k < length_; ++k) {
    const Complex value = std::conj(chirp_[static_cast<size_t>(k)]);
    filter_[static_cast<size_t>(k)] = value;
    if (k != 0) filter_[static_cast<size_t>(padded_ - k)] = value;
  }
  PowerOfTwo(filter_, false);
}

void Fft::PowerOfTwo(std::vector<Complex>& values, bool inverse) const {
  const auto n = static_cast<size_t>(padded_);
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n / 2;
    for (; j & bit; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(values[i], values[j]);
  }
  EPIPHYTE_DISPATCH(FftStages)(Parts(values), Parts(roots_), padded_, inverse);
}

void Fft::Transform(std::vector<Complex>& values, bool inverse) const {
  if (padded_ == length_) return PowerOfTwo(values, inverse);
  // The inverse is computed as the conjugate of the transform of the conjugate.
  std::vector<Complex> work(static_cast<size_t>(padded_));
  for (size_t k = 0; k < chirp_.size(); ++k) work[k] = inverse ? std::conj(values[k]) : values[k];
  EPIPHYTE_DISPATCH(ComplexProducts)(Parts(work), Parts(chirp_), length_);
  PowerOfTwo(work, false);
  EPIPHYTE_DISPATCH(ComplexProducts)(Parts(work), Parts(filter_), padded_);
  PowerOfTwo(work, true);
  EPIPHYTE_DISPATCH(ComplexProducts)(Parts(work), Parts(chirp_), length_);
  const double scale = 1.0 / static_cast<double>(padded_);
  for (size_t k = 0; k < chirp_.size(); ++k) {
    const Complex value = work[k] * scale;
    values[k] = inverse ? std::conj(value) : value;
  }
}

}  // namespace epiphyte::cpu::simd
#endif
