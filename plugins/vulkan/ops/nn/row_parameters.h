// RowNorm: rows and statistics of a row normalisation. ParameterPlace: how its scale and bias lie over a row.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/vulkan/program/program.h"

namespace epiphyte::vulkan {

// Element i of row r has the scale and bias with index (r % row_period) * row_parameters + i / repeated % period.
struct ParameterPlace {
  int64_t row_period = 1;
  int64_t row_parameters = 0;
  int64_t repeated = 1;
  int64_t period = 1;

  // The place of parameters of shape `all`, which broadcast to rows of shape `row`. Returns nothing if they differ from
  // row to row, or if a broadcast dimension lies between two that are not broadcast.
  static std::optional<ParameterPlace> OfRow(const Dims& all, const Dims& row);
  bool operator==(const ParameterPlace&) const = default;
};

struct RowNorm {
  int64_t rows = 0;
  int64_t size = 0;
  bool centred = true;  // false: normalised by the mean square alone
  float epsilon = 0;
  ParameterPlace parameters;

  std::vector<uint32_t> Words() const;  // parameter words for shaders/normalization.glsl
};

}  // namespace epiphyte::vulkan
