// What a product of quantised numbers is in integers, for all who compute one: QLinearConv, QLinearMatMul and QDQ units
// of Conv, MatMul and Gemm. With x = (qx - xz) xs, w = (qw - wz) ws and a bias in steps of xs ws,
//
//   sum = Σ (qx - xz)(qw - wz) + bias                     in int32, which wraps
//   y   = saturate(round(float(sum) * factor) + yz)       halves to even; factor = RequantizationFactor(xs, ws, ys)
//
// A kernel that multiplies what is stored takes the zero points out afterwards:
//
//   Σ (qx - xz)(qw - wz) = Σ qx qw - wz Σ qx - xz Σ (qw - wz)
//
// where the last sum is known with the weights (ProductColumn::weights).
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <cstdint>

namespace epiphyte::kit::qdq {

// Of the scales of the input, of the weights (of the channel) and of the result: each step is rounded to float.
inline float RequantizationFactor(float x_scale, float w_scale, float y_scale) {
  const float ratio = x_scale / y_scale;
  return ratio * w_scale;
}

// What is known of one filter of a convolution or one column of a matrix before anything runs.
struct ProductColumn {
  int32_t bias = 0;
  int32_t weights = 0;  // Σ (qw - wz), which wraps
  int32_t weight_zero = 0;
  float factor = 1;
};

}  // namespace epiphyte::kit::qdq
