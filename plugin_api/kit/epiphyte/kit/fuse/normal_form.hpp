// NormalForm: recognises normalisation written as arithmetic, in the spellings of exporters: x / sqrt(mean(x²) +
// epsilon), and the same with x - mean(x) as x, times a scale, plus a bias. normalization.hpp and
// channel_normalization.hpp use it.
//
//   const NormalForm form = ShiftedNormalOf(editor, value);
//   if (form && form.centred && form.axes == …) …
#pragma once

#include <cstdint>
#include <vector>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct NormalForm {
  int32_t x = -1;             // -1: the value is not a normalisation
  bool centred = false;       // x - mean(x) is divided by its deviation, instead of x
  std::vector<int64_t> axes;  // axes of mean and deviation; see Reduction
  float epsilon = 0;
  int32_t scale = -1;  // index of a value
  int32_t bias = -1;   // index of a value
  explicit operator bool() const { return x >= 0; }
};

// Recognises value = normal(x), as a quotient by the root or a product with its reciprocal, in any spelling of these.
NormalForm NormalOf(const ir::Editor& editor, int32_t value);
// Recognises value = normal(x) * scale, or x * (1 / deviation * scale). Between the two there may be a cast back to the
// type that x had before it was cast for the statistics.
NormalForm ScaledNormalOf(const ir::Editor& editor, int32_t value);
// Recognises value = normal(x) * scale + bias, or x * s + (bias - mean(x) * s) with s = 1 / deviation * scale.
NormalForm ShiftedNormalOf(const ir::Editor& editor, int32_t value);

// Number of axes in a list from Reduction if they are exactly the last ones; else 0.
int32_t CountLastAxes(const std::vector<int64_t>& axes, int32_t rank);

}  // namespace epiphyte::kit::fuse
