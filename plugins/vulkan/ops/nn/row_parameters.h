// The statistics that a row normalisation computes, and the layout of its parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/vulkan/program/program.h"

namespace epiphyte::vulkan {

// Element i of row r has parameter (r % row_period) * row_parameters + i / repeated % period.
struct ParameterPlace {
  int64_t row_period = 1;
  int64_t row_parameters = 0;
  int64_t repeated = 1;
  int64_t period = 1;

  // Parameters of those dimensions, which broadcast to a row of several dimensions. None is returned for those that
  // differ from row to row, and where several dimensions, with others between them, are repeated.
  static std::optional<ParameterPlace> OfRow(const Dims& all, const Dims& row);
  bool operator==(const ParameterPlace&) const = default;
};

struct RowNorm {
  int64_t rows = 0;
  int64_t size = 0;
  bool centred = true;  // false: by the mean square
  float epsilon = 0;
  ParameterPlace parameters;

  std::vector<uint32_t> Words() const;  // parameter words for shaders/normalization.glsl
};

}  // namespace epiphyte::vulkan
