// Rows times a matrix packed by oneDNN, and a single row times an unpacked matrix. oneDNN's kernels load weights only
// when they need them, and stall. They leave much of the memory bandwidth unused, which limits a language model that
// generates token by token, and a fifth of the arithmetic. These loops also need no primitive per number of rows.
#pragma once

#include <optional>

#include "plugins/cpu/onednn/activation.h"

namespace epiphyte::cpu {

// A matrix [k, n] of floats in panels of columns; each panel is stored row by row.
struct Panels {
  int64_t width = 0;   // columns of a panel; columns beyond n are zero
  int64_t stride = 0;  // floats between the starts of two panels
};
// Nullopt when the layout has no panels, or a width that RowTimesPanels does not support.
std::optional<Panels> PanelsOf(const MemoryDesc& desc);

struct RowOperands {
  const float* a = nullptr;
  const void* b = nullptr;  // elements of b_type: float, float16 or bfloat16
  ElementType b_type = EP_TYPE_FLOAT;
  const float* bias = nullptr;      // n values, or null
  const float* residual = nullptr;  // n values, or null; may be y
  float* y = nullptr;
  int64_t k = 0, n = 0;
};
// y = activation(a B + bias + residual), with B in panels.
void RowTimesPanels(OpContext& context, const Panels& panels, const RowOperands& operands,
                    const Activation& activation);
// Maximum number of rows in RowsTimesPanels. With many rows, the operands are in a cache anyway, and oneDNN's kernels
// are as fast or slightly faster.
inline constexpr int64_t kMostPanelRows = 512;
// Rows that are convolution windows, as in simd::PanelProduct: o.k numbers for each tap, from images at o.a.
struct WindowRows {
  const int64_t* places = nullptr;  // by tap and row
  int64_t taps = 1;
  const float* zeros = nullptr;
};
void RowsTimesPanels(OpContext& context, const Panels& panels, const RowOperands& operands, int64_t rows,
                     const Activation& activation, const WindowRows* windows = nullptr);

// Row times B as floats [k, n], or [n, k] when `transposed`. `one_bias`: the bias is one number for all columns.
void RowTimesMatrix(OpContext& context, const RowOperands& operands, bool transposed, bool one_bias,
                    const Activation& activation);

}  // namespace epiphyte::cpu
