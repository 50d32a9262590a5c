// Pad: elements that are added to each dimension, or cut off by a negative pad, and the source of each result element.
//
//   const kit::Dims y = kit::PaddedDims(x, before, after);
//   const auto map = kit::PadMap(kit::PadModeOf("reflect"), x[i], before[i], after[i], y[i]);   // for axis i
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

enum class PadMode : uint8_t { kConstant, kReflect, kEdge, kWrap };
PadMode PadModeOf(std::string_view name);

// Shape after padding, with one pad for each dimension on each side. Throws Error(EP_STATUS_INVALID_ARGUMENT) when a
// dimension becomes negative.
Dims PaddedDims(const Dims& x, const Dims& before, const Dims& after);

// Pads from a list as nodes have it: first the numbers before each of `axes`, then the numbers after each. Other axes
// get no padding.
struct Pads {
  Dims before;
  Dims after;

  Pads(size_t rank, std::span<const int64_t> pads, std::span<const int64_t> axes);
  // The list covers all axes.
  Pads(size_t rank, std::span<const int64_t> pads);
};

// For each of the `size` result elements, the index of its source in the dimension; -1: the constant. Negative pads
// crop, and the other modes see only the rest. Throws when the rest is empty.
std::vector<int64_t> PadMap(PadMode mode, int64_t dim, int64_t before, int64_t after, int64_t size);
// The same map for result elements [begin, end) only.
std::vector<int64_t> PadMap(PadMode mode, int64_t dim, int64_t before, int64_t after, int64_t size, int64_t begin,
                            int64_t end);

// Pads before and after that give a dimension `wanted` elements, equal on both sides as in CenterCropPad.
std::pair<int64_t, int64_t> CenterPads(int64_t dim, int64_t wanted);

}  // namespace epiphyte::kit
