// The discrete Fourier transform of any length, in double: powers of two directly, other lengths by Bluestein's method,
// which expresses them as a convolution of a power of two.
//
//     const simd::Fft fft(n);
//     fft.Transform(values, inverse);   // in place; the inverse is not divided by n
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace epiphyte::cpu::simd {

class Fft {
 public:
  using Complex = std::complex<double>;

  explicit Fft(int64_t length);
  // Bytes of the tables for a length and of the numbers that are being transformed.
  static uint64_t BytesFor(int64_t length);
  int64_t length() const { return length_; }
  // `values` has `length` elements. Threads may share an Fft.
  void Transform(std::vector<Complex>& values, bool inverse) const;

 private:
  void PowerOfTwo(std::vector<Complex>& values, bool inverse) const;

  int64_t length_;
  int64_t padded_;               // length of the power-of-two transform
  std::vector<Complex> roots_;   // exp(-pi i k / half), k < half, for half = 1, 2, 4 … padded / 2, one after another
  std::vector<Complex> chirp_;   // Bluestein: exp(-pi i k^2 / length)
  std::vector<Complex> filter_;  // Bluestein: the transformed conjugate chirp
};

}  // namespace epiphyte::cpu::simd
