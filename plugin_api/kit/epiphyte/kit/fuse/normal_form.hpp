// Normalisation as arithmetic: x / sqrt(mean(x²) + epsilon), and the same of x - mean(x), times a scale, plus a bias,
// in the spellings of exporters. What normalization.hpp and channel_normalization.hpp look for.
//
//   const NormalForm form = ShiftedNormalOf(editor, value);
//   if (form && form.centred && form.axes == …) …
#pragma once

#include <cstdint>
#include <vector>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct NormalForm {
  int32_t x = -1;             // -1: the value is something else
  bool centred = false;       // x - mean(x) is what is divided by its deviation
  std::vector<int64_t> axes;  // of mean and deviation; see Reduction
  float epsilon = 0;
  int32_t scale = -1;  // a value
  int32_t bias = -1;   // a value
  explicit operator bool() const { return x >= 0; }
};

// value = normal(x): as a quotient by the root, or a product with its reciprocal, in any spelling of these.
NormalForm NormalOf(const ir::Editor& editor, int32_t value);
// value = normal(x) * scale, or x * (1 / deviation * scale). Looks through a cast between the two, back to the type
// that x had before it was cast for the statistics.
NormalForm ScaledNormalOf(const ir::Editor& editor, int32_t value);
// value = normal(x) * scale + bias, or x * s + (bias - mean(x) * s) with s = 1 / deviation * scale.
NormalForm ShiftedNormalOf(const ir::Editor& editor, int32_t value);

// How many axes, all the last ones, a list from Reduction names; 0 when they are others.
int32_t CountLastAxes(const std::vector<int64_t>& axes, int32_t rank);

}  // namespace epiphyte::kit::fuse
