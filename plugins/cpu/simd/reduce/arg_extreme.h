// Index of the greatest or smallest element, along a row or down columns. Among equal elements the first or the last
// one counts. A NaN wins over every number, as in numpy.
//
//     const int64_t best = simd::ArgExtreme(x, n, {.largest = true, .last = false});
//     simd::ArgExtremes(x, n, stride, columns, {.largest = true, .last = false}, indices);   // of each column
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

struct Extreme {
  bool largest = true;
  bool last = false;
};

// T: float, double, int32_t, int64_t, int8_t or uint8_t. n > 0.
template <typename T>
int64_t ArgExtreme(const T* x, int64_t n, Extreme which);
// indices[c] is the index of the extreme among x[c], x[c + stride], x[c + 2 stride] …; 0 < n < 2^31. T: float, double,
// int32_t or int64_t.
template <typename T>
void ArgExtremes(const T* x, int64_t n, int64_t stride, int64_t columns, Extreme which, int64_t* indices);

}  // namespace epiphyte::cpu::simd
