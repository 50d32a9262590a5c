// Pad: what is added to each dimension, or cut off where a pad is below 0, and where its elements come from.
//
//   const kit::Dims y = kit::PaddedDims(x, before, after);
//   const auto map = kit::PadMap(kit::PadModeOf("reflect"), x[i], before[i], after[i], y[i]);   // of axis i
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

// One pad for each dimension on each side. Throws Error(EP_STATUS_INVALID_ARGUMENT) when less than nothing is left.
Dims PaddedDims(const Dims& x, const Dims& before, const Dims& after);

// The same, of a list as nodes have it: one number before and one after each of `axes`, first all of the former. Axes
// that aren't among them get none.
struct Pads {
  Dims before;
  Dims after;

  Pads(size_t rank, std::span<const int64_t> pads, std::span<const int64_t> axes);
  // For all axes.
  Pads(size_t rank, std::span<const int64_t> pads);
};

// Where in a dimension each of the `size` elements of the result comes from; -1: nowhere, it is the constant. Negative
// pads crop, and the other modes see only what is left. Throws when that is nothing.
std::vector<int64_t> PadMap(PadMode mode, int64_t dim, int64_t before, int64_t after, int64_t size);
// The same of elements [begin, end) only.
std::vector<int64_t> PadMap(PadMode mode, int64_t dim, int64_t before, int64_t after, int64_t size, int64_t begin,
                            int64_t end);

// The pads that give a dimension `wanted` elements, on both sides alike, as CenterCropPad has them: before, after.
std::pair<int64_t, int64_t> CenterPads(int64_t dim, int64_t wanted);

}  // namespace epiphyte::kit
