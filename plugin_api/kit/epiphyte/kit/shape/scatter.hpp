// Scatter, ScatterElements and ScatterND: how updates are combined, and which shapes fit.
//
//   const kit::ScatterReduction reduction = kit::ScatterReductionOf(node.String("reduction", "none"));
//   kit::CheckScatterElements(data, indices, updates, axis);
//   const kit::ScatterNdShape shape(data, indices, updates);
//
// All throw Error(EP_STATUS_INVALID_ARGUMENT). They do not see the index values: code that reads these must check them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

enum class ScatterReduction : uint8_t { kNone, kAdd, kMultiply, kMaximum, kMinimum };
ScatterReduction ScatterReductionOf(std::string_view name);

// Checks that updates have the shape of the indices, and that it does not exceed the data's except along the axis.
void CheckScatterElements(const Dims& data, const Dims& indices, const Dims& updates, size_t axis);

// Each tuple along the last dimension of `indices` selects a part of the data.
struct ScatterNdShape {
  size_t depth;  // numbers in a tuple
  int64_t tuples;
  int64_t run;  // elements that a tuple selects

  ScatterNdShape(const Dims& data, const Dims& indices, const Dims& updates);
};

}  // namespace epiphyte::kit
