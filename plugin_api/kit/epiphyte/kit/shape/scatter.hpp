// Scatter, ScatterElements and ScatterND: what is done with updates, and the shapes of those that fit.
//
//   const kit::ScatterReduction reduction = kit::ScatterReductionOf(node.String("reduction", "none"));
//   kit::CheckScatterElements(data, indices, updates, axis);
//   const kit::ScatterNdShape shape(data, indices, updates);
//
// They throw Error(EP_STATUS_INVALID_ARGUMENT). What the indices are is for whoever reads them to check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

enum class ScatterReduction : uint8_t { kNone, kAdd, kMultiply, kMaximum, kMinimum };
ScatterReduction ScatterReductionOf(std::string_view name);

// Updates have the shape of the indices, which must lie inside the data apart from the axis.
void CheckScatterElements(const Dims& data, const Dims& indices, const Dims& updates, size_t axis);

// Tuples along the last dimension of `indices` name parts of the data.
struct ScatterNdShape {
  size_t depth;  // numbers in a tuple
  int64_t tuples;
  int64_t run;  // elements that a tuple names

  ScatterNdShape(const Dims& data, const Dims& indices, const Dims& updates);
};

}  // namespace epiphyte::kit
