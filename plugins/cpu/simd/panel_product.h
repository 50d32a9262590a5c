// Products with a matrix that is packed once and used many times, for few rows: the recurrent part of RNNs.
//
// W [n, k] is stored in panels of kPanel columns of the result, which a product reads one after another:
//
//     PackPanels(w, n, k, panels);  // PanelCount<float>(n, k) floats, aligned to 64 bytes
//     PanelProduct(a, a_stride, panels, y, y_stride, rows, n, k, last_first);  // y[rows, n] += a[rows, k] W^T
//
// Whoever multiplies by the same panels again and again takes turns, from the first to the last and back: what a cache
// that is too small for all of them still holds are those that were read last. The numbers don't depend on it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "plugins/cpu/simd/simd.h"

namespace epiphyte::cpu {

template <typename T>
inline constexpr int64_t kPanel = 256 / sizeof(T);

template <typename T>
constexpr int64_t PanelCount(int64_t n, int64_t k) {
  return (n + kPanel<T> - 1) / kPanel<T> * kPanel<T> * k;
}

template <typename T, typename From>
void PackPanels(const From* w, int64_t n, int64_t k, T* panels) {
  for (int64_t column = 0; column < n; column += kPanel<T>) {
    const int64_t columns = std::min(kPanel<T>, n - column);
    for (int64_t i = 0; i < k; ++i, panels += kPanel<T>) {
      for (int64_t c = 0; c < columns; ++c) panels[c] = static_cast<T>(w[(column + c) * k + i]);
      std::fill(panels + columns, panels + kPanel<T>, T(0));
    }
  }
}

namespace panel_detail {

template <typename T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(32)));
  static constexpr int kLanes = 32 / sizeof(T);
};

// Some rows times some vectors of columns; `panel` points to the first of these columns.
template <typename T, int kRows, int kVectors>
EPIPHYTE_INLINE void Tile(const T* a, int64_t a_stride, const T* panel, T* y, int64_t y_stride, int64_t columns,
                          int64_t k) {
  using Vector = typename VectorOf<T>::Type;
  constexpr int kLanes = VectorOf<T>::kLanes;
  Vector sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = Vector{};
  }
  for (int64_t i = 0; i < k; ++i, panel += kPanel<T>) {
    Vector weights[kVectors];
    std::memcpy(weights, panel, sizeof(weights));
    for (int r = 0; r < kRows; ++r) {
      const T factor = a[r * a_stride + i];
      for (int v = 0; v < kVectors; ++v) sums[r][v] += weights[v] * factor;
    }
  }
  for (int r = 0; r < kRows; ++r) {
    T row[kVectors * kLanes];
    std::memcpy(row, sums[r], sizeof(row));
    const int64_t count = std::min<int64_t>(columns, kVectors * kLanes);
    for (int64_t c = 0; c < count; ++c) y[r * y_stride + c] += row[c];
  }
}

}  // namespace panel_detail

template <typename T>
EPIPHYTE_MULTIVERSION void PanelProduct(const T* a, int64_t a_stride, const T* panels, T* y, int64_t y_stride,
                                        int64_t rows, int64_t n, int64_t k, bool last_first = false) {
  constexpr int kRows = 4;
  constexpr int kVectors = 2;  // beside four rows; more don't fit into sixteen registers
  constexpr int64_t kStep = kVectors * panel_detail::VectorOf<T>::kLanes;
  const int64_t count = (n + kPanel<T> - 1) / kPanel<T>;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t column = (last_first ? count - 1 - i : i) * kPanel<T>;
    const T* panel = panels + column * k;
    const int64_t columns = std::min(kPanel<T>, n - column);
    int64_t row = 0;
    for (; row + kRows <= rows; row += kRows) {
      for (int64_t at = 0; at < columns; at += kStep) {
        panel_detail::Tile<T, kRows, kVectors>(a + row * a_stride, a_stride, panel + at,
                                               y + row * y_stride + column + at, y_stride, columns - at, k);
      }
    }
    for (; row < rows; ++row) {
      panel_detail::Tile<T, 1, 8>(a + row * a_stride, a_stride, panel, y + row * y_stride + column, y_stride, columns,
                                  k);
    }
  }
}

}  // namespace epiphyte::cpu
