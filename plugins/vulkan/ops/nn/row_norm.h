// Rows normalised by their mean and variance, with a scale and a bias: what layer, RMS, group and instance
// normalisation come down to.
//
//     AddRowNorm(r, {.rows = 128, .size = 768, .epsilon = 1e-5f, .parameters = place},
//                {.x = x, .scale = scale, .bias = bias, .y = y});
#pragma once

#include <cstdint>

#include "plugins/vulkan/ops/nn/row_parameters.h"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

// -1: there is none.
struct RowNormTensors {
  int32_t x = -1;
  int32_t scale = -1;
  int32_t bias = -1;
  int32_t y = -1;
  int32_t mean = -1, inverse = -1;  // both or none, of floats
  int32_t skip = -1, sum = -1;      // normalises x + skip, which is also written to `sum`
};

void AddRowNorm(Recording& r, const RowNorm& norm, const RowNormTensors& tensors);

// For Operator::bindings of who uses it.
inline constexpr uint32_t kRowNormBindings = 6;

}  // namespace epiphyte::vulkan
