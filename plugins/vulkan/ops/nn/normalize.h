// AddNormalize: normalises a tensor by statistics over some of its dimensions, which earlier dispatches computed.
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
  kRows = shader::kNormalizeRows,  // by a RowNorm
};

// Tensors of AddNormalize; -1: the form doesn't use it. `a` and `b` are the statistics, of floats, as the forms in
// shaders/numbers.inc use them.
struct NormalizeTensors {
  int32_t x = -1;
  int32_t a = -1, b = -1;
  int32_t scale = -1, bias = -1;
  int32_t y = -1;
};

// Adds the dispatch. `dims` is the shape of x. The statistics have an element for each index of the dimensions that
// `kept` marks.
void AddNormalize(Recording& r, NormalizeForm form, const RowNorm& norm, const NormalizeTensors& tensors,
                  const Dims& dims, const std::vector<bool>& kept);

// Value of Operator::bindings for operators that call AddNormalize.
inline constexpr uint32_t kNormalizeBindings = 6;

}  // namespace epiphyte::vulkan
