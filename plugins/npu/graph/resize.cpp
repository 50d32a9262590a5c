// Resize and Upsample.
#include "epiphyte/kit/shape/resize.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plugins/npu/graph/lower.h"
#include "plugins/npu/graph/rows.h"

namespace epiphyte::npu {
namespace {

// Converts to NSDK_COORDINATES.
int64_t CoordinatesOf(kit::ResizeCoordinates coordinates) {
  switch (coordinates) {
    case kit::ResizeCoordinates::kHalfPixel: return 0;
    case kit::ResizeCoordinates::kAsymmetric: return 1;
    case kit::ResizeCoordinates::kAlignCorners: return 2;
    case kit::ResizeCoordinates::kPytorchHalfPixel: return 3;
    default: Refuse("the NPU's interface hasn't its coordinate_transformation_mode");
  }
}

// Converts to NSDK_ROUNDING.
int64_t RoundingOf(kit::ResizeRounding rounding, std::span<const kit::ResizeAxis> axes) {
  switch (rounding) {
    case kit::ResizeRounding::kRoundPreferFloor: return 0;
    case kit::ResizeRounding::kRoundPreferCeil: return 1;
    case kit::ResizeRounding::kFloor: return 2;
    case kit::ResizeRounding::kCeil: return 3;
    case kit::ResizeRounding::kSimple: break;
  }
  const bool shrinks = std::ranges::any_of(axes, [](const kit::ResizeAxis& axis) { return axis.scale < 1; });
  const bool grows = std::ranges::any_of(axes, [](const kit::ResizeAxis& axis) { return axis.scale > 1; });
  if (shrinks && grows) Refuse("it grows one axis and shrinks another, with a rounding of its own for each");
  return shrinks ? 3 : 2;
}

// The element of x that nsdk.h selects for position i of the result.
int64_t NearestOfSdk(const kit::ResizeAxis& axis, int64_t coordinates, int64_t rounding, float scale, int64_t i) {
  const auto at = static_cast<double>(i), step = static_cast<double>(scale);
  double source = (at + 0.5) / step - 0.5;
  if (coordinates == 1) source = at / step;
  if (coordinates == 2)
    source = axis.out == 1 ? 0 : at * static_cast<double>(axis.in - 1) / static_cast<double>(axis.out - 1);
  if (coordinates == 3 && axis.out == 1) source = 0;
  const double nearest = rounding == 0   ? std::ceil(source - 0.5)
                         : rounding == 1 ? std::floor(source + 0.5)
                         : rounding == 2 ? std::floor(source)
                                         : std::ceil(source);
  return static_cast<int64_t>(std::clamp(nearest, 0.0, static_cast<double>(axis.in - 1)));
}

// A float scale with which nsdk.h selects the same elements as ONNX. nsdk.h has single-precision scales, and a scale
// from given sizes is rarely representable. Positions on a border between two elements may then select the wrong
// element; a neighbouring float gives the right one.
float ScaleWithMap(const kit::ResizeAxis& axis, const kit::ResizeAttributes& attributes, int64_t coordinates,
                   int64_t rounding) {
  constexpr int kMostSteps = 8;
  const std::vector<int64_t> map = kit::NearestMap(axis, attributes);
  const auto first = static_cast<float>(axis.scale);
  float above = first, below = first;
  for (int step = 0; step <= kMostSteps; ++step) {
    for (const float scale : {above, below}) {
      bool equal = scale > 0 && std::isfinite(scale);
      for (size_t i = 0; equal && i < map.size(); ++i)
        equal = NearestOfSdk(axis, coordinates, rounding, scale, static_cast<int64_t>(i)) == map[i];
      if (equal) return scale;
    }
    above = std::nextafter(above, std::numeric_limits<float>::infinity());
    below = std::nextafter(below, 0.0f);
  }
  Refuse("no scale of single precision, as the NPU's interface has them, chooses the same ", axis.out, " of ", axis.in,
         " elements");
}

}  // namespace

void LowerResize(Lowering& to, const QuantizedOp& work) {
  const auto attributes = kit::ResizeAttributes::Read(to.NodeOf(work));
  if (attributes.filter == kit::ResizeFilter::kCubic || attributes.antialias || attributes.exclude_outside)
    Refuse("it is cubic, or with antialias or exclude_outside; the NPU's interface has nearest and linear without");
  std::vector<double> scales = attributes.scales;
  std::vector<int64_t> sizes;
  if (attributes.scales_input != 0 && to.Has(work, attributes.scales_input)) {
    const std::optional<std::vector<float>> floats = to.editor().Floats(work.inputs[attributes.scales_input].value);
    if (!floats) Refuse("its scales aren't constants");
    scales.assign(floats->begin(), floats->end());
  }
  if (attributes.sizes_input != 0 && to.Has(work, attributes.sizes_input))
    sizes = to.Ints(work, attributes.sizes_input);
  const Operand &x = work.inputs[0], &y = work.outputs[0];
  const std::vector<kit::ResizeAxis> axes = attributes.Resolve(to.DimsOf(x), {.scales = scales, .sizes = sizes});
  const bool linear = attributes.filter == kit::ResizeFilter::kLinear;
  const int64_t coordinates = CoordinatesOf(attributes.coordinates);
  const int64_t rounding = linear ? 0 : RoundingOf(attributes.rounding, axes);
  std::vector<float> factors;
  for (const kit::ResizeAxis& axis : axes) {
    const bool chooses = !linear && !axis.IsIdentity(attributes.coordinates);
    factors.push_back(chooses ? ScaleWithMap(axis, attributes, coordinates, rounding) : static_cast<float>(axis.scale));
  }
  // Nearest interpolation only selects elements, so a table may requantise before it.
  const uint32_t input = linear ? to.Stored(x) : to.MovedAs(work, x, y);
  to.EmitLast(work, NSDK_RESIZE, {input})
      .Ints(NSDK_MODE, {linear ? 1 : 0})
      .Ints(NSDK_COORDINATES, {coordinates})
      .Ints(NSDK_ROUNDING, {rounding})
      .Floats(NSDK_SCALES, std::move(factors));
}

}  // namespace epiphyte::npu
