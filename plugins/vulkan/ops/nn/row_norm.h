// AddRowNorm: normalises rows by their mean and variance or by their mean square, with a scale and a bias. Layer, RMS,
// group and instance normalisation use it.
//
//     AddRowNorm(r, {.rows = 128, .size = 768, .epsilon = 1e-5f, .parameters = place},
//                {.x = x, .scale = scale, .bias = bias, .y = y});
#pragma once

#include <cstdint>

#include "plugins/vulkan/ops/nn/row_parameters.h"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

// Tensors of AddRowNorm; -1: there is none.
struct RowNormTensors {
  int32_t x = -1;
  int32_t scale = -1;
  int32_t bias = -1;
  int32_t y = -1;
  int32_t mean = -1, inverse = -1;  // float results, both or none: mean and inverse deviation of each row
  int32_t skip = -1, sum = -1;      // with `skip`, x + skip is normalised; `sum` gets it if it is there
};

void AddRowNorm(Recording& r, const RowNorm& norm, const RowNormTensors& tensors);

// Value of Operator::bindings for operators that call AddRowNorm.
inline constexpr uint32_t kRowNormBindings = 6;

}  // namespace epiphyte::vulkan
