#include "plugins/cpu/simd/fft.h"

#include <cmath>
#include <utility>

namespace epiphyte::cpu {
namespace {

constexpr double kPi = 3.14159265358979323846;

bool IsPowerOfTwo(int64_t n) { return (n & (n - 1)) == 0; }

}  // namespace

Fft::Fft(int64_t length) : length_(length), padded_(1) {
  const int64_t needed = IsPowerOfTwo(length) ? length : 2 * length - 1;
  while (padded_ < needed) padded_ *= 2;
  for (int64_t k = 0; k < padded_ / 2; ++k) {
    roots_.push_back(std::polar(1.0, -2.0 * kPi * static_cast<double>(k) / static_cast<double>(padded_)));
  }
  if (padded_ == length_) return;
  for (int64_t k = 0; k < length_; ++k) {
    // k^2 modulo 2n keeps the angle small, and with it its error.
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
  for (size_t half = 1; half < n; half *= 2) {
    const size_t step = n / (2 * half);
    for (size_t base = 0; base < n; base += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        const Complex root = inverse ? std::conj(roots_[k * step]) : roots_[k * step];
        const Complex a = values[base + k];
        const Complex b = values[base + k + half];
        const Complex product(b.real() * root.real() - b.imag() * root.imag(),
                              b.real() * root.imag() + b.imag() * root.real());
        values[base + k] = a + product;
        values[base + k + half] = a - product;
      }
    }
  }
}

void Fft::Transform(std::vector<Complex>& values, bool inverse) const {
  if (padded_ == length_) return PowerOfTwo(values, inverse);
  // The inverse is the transform of the conjugate, conjugated.
  std::vector<Complex> work(static_cast<size_t>(padded_));
  for (size_t k = 0; k < chirp_.size(); ++k) work[k] = (inverse ? std::conj(values[k]) : values[k]) * chirp_[k];
  PowerOfTwo(work, false);
  for (size_t k = 0; k < work.size(); ++k) work[k] *= filter_[k];
  PowerOfTwo(work, true);
  const double scale = 1.0 / static_cast<double>(padded_);
  for (size_t k = 0; k < chirp_.size(); ++k) {
    const Complex value = work[k] * chirp_[k] * scale;
    values[k] = inverse ? std::conj(value) : value;
  }
}

}  // namespace epiphyte::cpu
