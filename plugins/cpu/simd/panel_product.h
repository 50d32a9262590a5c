// Products with a matrix that is packed once and used many times, for few rows: the recurrent part of RNNs.
//
// W [n, k] is stored in panels of kPanelWidth columns of the result, which a product reads one after another:
//
//     PackPanels(w, n, k, panels);  // PanelFloats(n, k) of them, aligned to 64 bytes
//     PanelProduct(a, a_stride, panels, y, y_stride, rows, n, k, last_first);  // y[rows, n] += a[rows, k] W^T
//
// Whoever multiplies by the same panels again and again takes turns, from the first to the last and back: what a cache
// that is too small for all of them still holds are those that were read last. The numbers don't depend on it.
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

inline constexpr int64_t kPanelWidth = 64;

constexpr int64_t PanelFloats(int64_t n, int64_t k) { return (n + kPanelWidth - 1) / kPanelWidth * kPanelWidth * k; }

void PackPanels(const float* w, int64_t n, int64_t k, float* panels);

// Every element is one sum in the order of k, with fused steps where the CPU has them.
void PanelProduct(const float* a, int64_t a_stride, const float* panels, float* y, int64_t y_stride, int64_t rows,
                  int64_t n, int64_t k, bool last_first = false);

}  // namespace epiphyte::cpu::simd
