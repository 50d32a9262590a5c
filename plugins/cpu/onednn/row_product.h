// Rows times a matrix that oneDNN packed, and a single row times one that lies as it came. oneDNN's kernels read
// weights when they need them, and wait: of memory, the limit of a language model that makes one token after the other,
// they leave much unused, and of the arithmetic a fifth. Nor is anything made for the number of rows before it's known.
#pragma once

#include <optional>

#include "plugins/cpu/onednn/activation.h"

namespace epiphyte::cpu {

// A matrix [k, n] of floats in panels of columns, each panel row by row.
struct Panels {
  int64_t width = 0;   // columns of a panel; those behind n are zero
  int64_t stride = 0;  // floats from panel to panel
};
// Nullopt when the layout is no such one, or of a width that RowTimesPanels lacks.
std::optional<Panels> PanelsOf(const MemoryDesc& desc);

struct RowOperands {
  const float* a = nullptr;
  const void* b = nullptr;  // of b_type: float, float16 or bfloat16
  ElementType b_type = EP_TYPE_FLOAT;
  const float* bias = nullptr;      // n values, or null
  const float* residual = nullptr;  // n values, or null; may be y
  float* y = nullptr;
  int64_t k = 0, n = 0;
};
// y = activation(a B + bias + residual), where B is panels.
void RowTimesPanels(OpContext& context, const Panels& panels, const RowOperands& operands,
                    const Activation& activation);
// Of `rows` of these, one behind the other in `a`, the residual and y; B is floats. For no more than kMostPanelRows:
// many multiply what a cache holds anyway, and with that oneDNN's kernels are as fast or a little faster.
inline constexpr int64_t kMostPanelRows = 512;
// As simd::PanelProduct has them: o.k numbers of each tap, of images that begin at o.a.
struct WindowRows {
  const int64_t* places = nullptr;  // by tap and row
  int64_t taps = 1;
  const float* zeros = nullptr;
};
void RowsTimesPanels(OpContext& context, const Panels& panels, const RowOperands& operands, int64_t rows,
                     const Activation& activation, const WindowRows* windows = nullptr);

// The same where B is floats [k, n], or [n, k] when `transposed`. `one_bias`: it is one number for all columns.
void RowTimesMatrix(OpContext& context, const RowOperands& operands, bool transposed, bool one_bias,
                    const Activation& activation);

}  // namespace epiphyte::cpu
