// A matrix product for kernels that need one inside: einsum, attention, integer products. MatMul, Gemm and convolutions
// of floats have oneDNN.
#pragma once

#include <algorithm>
#include <cstdint>

#include "plugins/cpu/simd/simd.h"

namespace epiphyte::cpu {

// y[m,n] += a[m,k] b[k,n], row-major with the given distances between rows. T: float, double, or an unsigned integer
// (which wraps, as sums of integers must be allowed to).
template <typename T>
EPIPHYTE_MULTIVERSION void TileMatMul(const T* a, int64_t a_stride, const T* b, int64_t b_stride, T* y,
                                      int64_t y_stride, int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kRows = 4;
  constexpr int64_t kColumns = 128 / sizeof(T);
  for (int64_t column = 0; column < n; column += kColumns) {
    const int64_t columns = std::min(kColumns, n - column);
    for (int64_t row = 0; row < m; row += kRows) {
      const int64_t rows = std::min(kRows, m - row);
      const T* left = a + row * a_stride;
      const T* right = b + column;
      if (rows == kRows && columns == kColumns) {
        T sums[kRows][kColumns] = {};
        for (int64_t i = 0; i < k; ++i) {
          for (int64_t r = 0; r < kRows; ++r) {
            for (int64_t c = 0; c < kColumns; ++c) sums[r][c] += left[r * a_stride + i] * right[i * b_stride + c];
          }
        }
        for (int64_t r = 0; r < kRows; ++r) {
          for (int64_t c = 0; c < kColumns; ++c) y[(row + r) * y_stride + column + c] += sums[r][c];
        }
        continue;
      }
      for (int64_t r = 0; r < rows; ++r) {
        T* out = y + (row + r) * y_stride + column;
        for (int64_t i = 0; i < k; ++i) {
          const T factor = left[r * a_stride + i];
          for (int64_t c = 0; c < columns; ++c) out[c] += factor * right[i * b_stride + c];
        }
      }
    }
  }
}

}  // namespace epiphyte::cpu
