// Integer arithmetic of a GEMM or convolution of quantised numbers: QLinearConv, QLinearMatMul, and QDQ units of Conv,
// MatMul and Gemm. With x = (qx - xz) xs, w = (qw - wz) ws, and a bias in steps of xs ws:
//
//   sum = Σ (qx - xz)(qw - wz) + bias                     in int32, which wraps
//   y   = saturate(round(float(sum) * factor) + yz)       halves to even; factor = RequantizationFactor(xs, ws, ys)
//
// A kernel that multiplies the stored numbers subtracts the zero points afterwards:
//
//   Σ (qx - xz)(qw - wz) = Σ qx qw - wz Σ qx - xz Σ (qw - wz)
//
// The last sum is known in advance from the weights (ProductColumn::weights).
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <cstdint>

namespace epiphyte::kit::qdq {

// Requantisation factor from the scales of input, weights (one channel) and result. Each step is rounded to float.
inline float RequantizationFactor(float x_scale, float w_scale, float y_scale) {
  const float ratio = x_scale / y_scale;
  return ratio * w_scale;
}

// The values of one filter of a convolution, or one column of a matrix, that are known before the run.
struct ProductColumn {
  int32_t bias = 0;
  int32_t weights = 0;  // Σ (qw - wz), modulo 2^32
  int32_t weight_zero = 0;
  float factor = 1;
};

}  // namespace epiphyte::kit::qdq
