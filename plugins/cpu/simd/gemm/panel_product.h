// GEMM with a matrix that is packed once and used many times.
//
// The matrix is stored in panels of columns of the result. A GEMM reads the panels one after another, each row by row:
//
//     PanelProduct product;
//     product.a = …, product.panels = …, product.y = …;
//     RunPanelProduct(product);  // y[rows, n] = a[rows, k] times the matrix + bias + sum
//
// A caller that multiplies by the same panels repeatedly should alternate their order, from the first to the last and
// back. A cache that is too small for all panels still holds those that were read last. A caller that reads the panels
// from memory sets `fetched_end`: while some rows of a panel are multiplied, the next ones are prefetched. Results
// depend on neither.
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

inline constexpr int64_t kPanelWidth = 64;

constexpr int64_t PanelFloats(int64_t n, int64_t k) { return (n + kPanelWidth - 1) / kPanelWidth * kPanelWidth * k; }

// Packs the panels of W^T, for W [n, k]: PanelFloats(n, k) floats in panels that are kPanelWidth wide.
void PackPanels(const float* w, int64_t n, int64_t k, float* panels);

struct PanelProduct {
  const float* a = nullptr;
  int64_t a_stride = 0;  // between rows; y_stride alike
  // Rows that are windows of an image. A row has `taps` taps of k adjacent numbers each. Tap t of row r begins at
  // a[places[t * places_stride + r]]. A negative place stands for the k `zeros`. The matrix has taps * k rows.
  const int64_t* places = nullptr;
  int64_t places_stride = 0;
  const float* zeros = nullptr;
  int64_t taps = 1;
  const float* panels = nullptr;
  // Columns of a panel: an IsPanelWidth (row_times_panel.h). The last panel may have columns beyond n.
  int64_t width = kPanelWidth;
  int64_t panel_stride = 0;     // floats from panel to panel
  const float* bias = nullptr;  // by column; null: none
  const float* sum = nullptr;   // added to the result, with the layout of y; may be y, or null
  bool bounded = false;         // results below `low` become `low`, those above `high` become `high`
  float low = 0, high = 0;
  float* y = nullptr;
  int64_t y_stride = 0;
  int64_t rows = 0, n = 0, k = 0;
  bool last_first = false;
  const float* fetched_end = nullptr;  // end of the panels that may be needed after these; null: nothing is prefetched
};
// Each element is a sum in the order of k, over blocks that are summed first. Uses fused multiply-add where the CPU has
// it.
void RunPanelProduct(const PanelProduct& product);

}  // namespace epiphyte::cpu::simd
