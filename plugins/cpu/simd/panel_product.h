// Products with a matrix that is packed once and used many times.
//
// It's stored in panels of columns of the result, which a product reads one after another, each row by row:
//
//     PanelProduct product;
//     product.a = …, product.panels = …, product.y = …;
//     RunPanelProduct(product);  // y[rows, n] = a[rows, k] times the matrix + bias + sum
//
// Whoever multiplies by the same panels again and again takes turns, from the first to the last and back: what a cache
// that is too small for all of them still holds are those that were read last. Whoever reads them from memory says
// where they end: while some rows of a panel are multiplied, the next ones are fetched. The numbers don't depend on
// either.
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

inline constexpr int64_t kPanelWidth = 64;

constexpr int64_t PanelFloats(int64_t n, int64_t k) { return (n + kPanelWidth - 1) / kPanelWidth * kPanelWidth * k; }

// The panels of W^T, for W [n, k]: PanelFloats(n, k) of them, kPanelWidth wide.
void PackPanels(const float* w, int64_t n, int64_t k, float* panels);

struct PanelProduct {
  const float* a = nullptr;
  int64_t a_stride = 0;  // between rows, as y_stride
  // Rows that are windows of an image: of as many taps, each of k numbers that lie side by side. Of tap t, those of row
  // r begin at a[places[t * places_stride + r]], or are the k `zeros` where that's below 0. The matrix has taps * k
  // rows.
  const int64_t* places = nullptr;
  int64_t places_stride = 0;
  const float* zeros = nullptr;
  int64_t taps = 1;
  const float* panels = nullptr;
  int64_t width = kPanelWidth;  // of a panel: an IsPanelWidth (row_times_panel.h); of the last one's, columns beyond n
  int64_t panel_stride = 0;     // floats from panel to panel
  const float* bias = nullptr;  // by column; null: none
  const float* sum = nullptr;   // added to the result, as which it lies; may be y, or null
  bool bounded = false;         // numbers below `low` become that, those above `high` that
  float low = 0, high = 0;
  float* y = nullptr;
  int64_t y_stride = 0;
  int64_t rows = 0, n = 0, k = 0;
  bool last_first = false;
  const float* fetched_end = nullptr;  // behind the panels that others may need after these; null: nothing is fetched
};
// Every element is a sum in the order of k, of blocks that are sums themselves; fused steps where the CPU has them.
void RunPanelProduct(const PanelProduct& product);

}  // namespace epiphyte::cpu::simd
