// Rows normalised by their mean and variance, with a scale and a bias: what layer, RMS, group and instance normalisation
// come down to.
//
//     AddRowNorm(r, {.rows = 128, .size = 768, .epsilon = 1e-5f, .parameters = ParameterPlace::OfRow(scale, row)},
//                {.x = x, .scale = scale, .bias = bias, .y = y});
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

// Element i of row r has parameter (r % row_period) * row_parameters + i / repeated % period.
struct ParameterPlace {
  int64_t row_period = 1;
  int64_t row_parameters = 0;
  int64_t repeated = 1;
  int64_t period = 1;

  // Parameters that broadcast to a row of several dimensions. Those of which several dimensions, with others between them,
  // are repeated throw NOT_IMPLEMENTED.
  static ParameterPlace OfRow(const Dims& parameters, const Dims& row);
  bool operator==(const ParameterPlace&) const = default;
};

struct RowNorm {
  int64_t rows = 0;
  int64_t size = 0;
  bool centred = true;  // false: by the mean square
  float epsilon = 0;
  ParameterPlace parameters;

  std::vector<uint32_t> Words() const;  // of shaders/normalization.glsl
};

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

}  // namespace epiphyte::vulkan
