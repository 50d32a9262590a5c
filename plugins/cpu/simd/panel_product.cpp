#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/panel_product.cpp"
#include "plugins/cpu/simd/panel_product.h"

#include <algorithm>
#include <cstdint>

#include "plugins/cpu/simd/per_target.h"
// After the policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Tag()));
constexpr int kPanelVectors = static_cast<int>(kPanelWidth) / kLanes;
// Beside four rows; more of them don't fit into sixteen registers.
constexpr int kRowsVectors = HWY_CAP_GE512 || HWY_ARCH_ARM_A64 ? std::min(4, kPanelVectors) : 2;
constexpr int kRowVectors = std::min(8, kPanelVectors);

// Some rows times some vectors of columns; `panel` points to the first of these columns.
template <int kRows, int kVectors>
HWY_INLINE void Tile(const float* a, int64_t a_stride, const float* panel, float* y, int64_t y_stride, int64_t columns,
                     int64_t k) {
  const Tag d;
  Vector sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (int64_t i = 0; i < k; ++i, panel += kPanelWidth) {
    Vector weights[kVectors];
    for (int v = 0; v < kVectors; ++v) weights[v] = hn::LoadU(d, panel + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const Vector factor = hn::Set(d, a[r * a_stride + i]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(weights[v], factor, sums[r][v]);
    }
  }
  if (columns >= kVectors * kLanes) {
    for (int r = 0; r < kRows; ++r) {
      float* const out = y + r * y_stride;
      for (int v = 0; v < kVectors; ++v)
        hn::StoreU(hn::Add(hn::LoadU(d, out + v * kLanes), sums[r][v]), d, out + v * kLanes);
    }
    return;
  }
  HWY_ALIGN float row[kVectors * kLanes];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) hn::Store(sums[r][v], d, row + v * kLanes);
    for (int64_t c = 0; c < columns; ++c) y[r * y_stride + c] += row[c];
  }
}

template <int kRows, int kVectors>
HWY_INLINE void Rows(const float* a, int64_t a_stride, const float* panel, float* y, int64_t y_stride, int64_t columns,
                     int64_t k) {
  constexpr int64_t kStep = kVectors * kLanes;
  for (int64_t at = 0; at < columns; at += kStep)
    Tile<kRows, kVectors>(a, a_stride, panel + at, y + at, y_stride, columns - at, k);
}

void PanelProduct(const float* a, int64_t a_stride, const float* panels, float* y, int64_t y_stride, int64_t rows,
                  int64_t n, int64_t k, bool last_first) {
  const int64_t count = (n + kPanelWidth - 1) / kPanelWidth;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t column = (last_first ? count - 1 - i : i) * kPanelWidth;
    const float* const panel = panels + column * k;
    const int64_t columns = std::min(kPanelWidth, n - column);
    int64_t row = 0;
    for (; row + 4 <= rows; row += 4)
      Rows<4, kRowsVectors>(a + row * a_stride, a_stride, panel, y + row * y_stride + column, y_stride, columns, k);
    const float* const left = a + row * a_stride;
    float* const out = y + row * y_stride + column;
    switch (rows - row) {
      case 3: Rows<3, kRowsVectors>(left, a_stride, panel, out, y_stride, columns, k); break;
      case 2: Rows<2, std::min(4, kRowVectors)>(left, a_stride, panel, out, y_stride, columns, k); break;
      case 1: Rows<1, kRowVectors>(left, a_stride, panel, out, y_stride, columns, k); break;
      default: break;
    }
  }
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

void PackPanels(const float* w, int64_t n, int64_t k, float* panels) {
  for (int64_t column = 0; column < n; column += kPanelWidth) {
    const int64_t columns = std::min(kPanelWidth, n - column);
    for (int64_t i = 0; i < k; ++i, panels += kPanelWidth) {
      for (int64_t c = 0; c < columns; ++c) panels[c] = w[(column + c) * k + i];
      std::fill(panels + columns, panels + kPanelWidth, 0.0f);
    }
  }
}

EPIPHYTE_EXPORT(PanelProduct);
void PanelProduct(const float* a, int64_t a_stride, const float* panels, float* y, int64_t y_stride, int64_t rows,
                  int64_t n, int64_t k, bool last_first) {
  EPIPHYTE_DISPATCH(PanelProduct)(a, a_stride, panels, y, y_stride, rows, n, k, last_first);
}

}  // namespace epiphyte::cpu::simd
#endif
