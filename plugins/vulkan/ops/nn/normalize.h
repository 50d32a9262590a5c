// Normalisation by statistics that other dispatches made: of any dimensions, or of rows.
//
//     AddNormalize(r, NormalizeForm::kDivide, {}, {.x = x, .a = norms, .y = y}, dims, kept);
#pragma once

#include <vector>

#include "plugins/vulkan/ops/nn/row_parameters.h"
#include "plugins/vulkan/ops/recording.h"
#include "plugins/vulkan/ops/shader_numbers.h"

namespace epiphyte::vulkan {

enum class NormalizeForm : uint32_t {
  kDivide = shader::kNormalizeDivide,
  kCentred = shader::kNormalizeCentred,
  kRows = shader::kNormalizeRows,  // as a RowNorm says
};

// Statistics are of floats. -1: the form needs none.
struct NormalizeTensors {
  int32_t x = -1;
  int32_t a = -1, b = -1;
  int32_t scale = -1, bias = -1;
  int32_t y = -1;
};

// The statistics have an element for each index of the dimensions of x that `kept` marks.
void AddNormalize(Recording& r, NormalizeForm form, const RowNorm& norm, const NormalizeTensors& tensors,
                  const Dims& dims, const std::vector<bool>& kept);

// For Operator::bindings of who uses it.
inline constexpr uint32_t kNormalizeBindings = 6;

}  // namespace epiphyte::vulkan
