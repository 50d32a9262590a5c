// Product of a single row with a panel of columns that is read once, from memory. Text generation consists of such
// products.
#pragma once

#include <cstdint>

#include "epiphyte/kit/shape/float_types.hpp"

namespace epiphyte::cpu::simd {

constexpr bool IsPanelWidth(int64_t width) { return width == 16 || width == 32 || width == 48 || width == 64; }

// y[width] = a[k] panel[k, width]; `width` must be an IsPanelWidth. Panels of 16-bit floats are converted to float as
// they are read.
void RowTimesPanel(const float* a, const float* panel, int64_t width, int64_t k, float* y);
void RowTimesPanel(const float* a, const kit::Float16* panel, int64_t width, int64_t k, float* y);
void RowTimesPanel(const float* a, const kit::BFloat16* panel, int64_t width, int64_t k, float* y);

}  // namespace epiphyte::cpu::simd
