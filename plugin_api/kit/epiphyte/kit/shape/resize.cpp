#include "epiphyte/kit/shape/resize.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/axes.hpp"

namespace epiphyte::kit {
namespace {

// The rounding modes decide at half steps. A scale that float can't represent exactly must not move a position across a
// half step.
double SnapToHalf(double x) {
  const double halves = std::nearbyint(2 * x);
  return std::abs(2 * x - halves) < 1e-5 ? halves / 2 : x;
}

double Cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

bool IsOutside(const ResizeAxis& axis, ResizeCoordinates coordinates, double x) {
  return coordinates == ResizeCoordinates::kTfCropAndResize && !(x >= 0 && x <= static_cast<double>(axis.in - 1));
}

// Converts a position to an index, and limits it to one just outside of every possible neighbourhood. Positions farther
// out give the same result.
int64_t ToIndex(double x, int64_t in) {
  if (std::isnan(x)) return 0;  // from an invalid region of interest; such positions are outside
  const double limit = static_cast<double>(in) + 1;
  return static_cast<int64_t>(std::clamp(x, -limit, 2 * limit));
}

// The position in the input that corresponds to output position `at`.
double OriginalPosition(const ResizeAxis& axis, ResizeCoordinates coordinates, int64_t at) {
  const double x = static_cast<double>(at), last = static_cast<double>(axis.in - 1);
  switch (coordinates) {
    case ResizeCoordinates::kHalfPixel: return (x + 0.5) / axis.scale - 0.5;
    case ResizeCoordinates::kHalfPixelSymmetric: {
      const double adjustment = static_cast<double>(axis.out) / axis.length;
      return static_cast<double>(axis.in) / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
    }
    case ResizeCoordinates::kPytorchHalfPixel: return axis.out > 1 ? (x + 0.5) / axis.scale - 0.5 : 0;
    case ResizeCoordinates::kAlignCorners: return axis.length == 1 ? 0 : x * last / (axis.length - 1);
    case ResizeCoordinates::kAsymmetric: return x / axis.scale;
    case ResizeCoordinates::kTfHalfPixelForNn: return (x + 0.5) / axis.scale;
    case ResizeCoordinates::kTfCropAndResize: {
      const double extent = (axis.roi_end - axis.roi_start) * last;
      return axis.roi_start * last + (axis.out > 1 ? x * extent / (axis.length - 1) : extent / 2);
    }
  }
  return x;
}

}  // namespace

ResizeFilter ResizeFilterOf(std::string_view mode) {
  if (mode == "nearest") return ResizeFilter::kNearest;
  if (mode == "linear" || mode == "bilinear") return ResizeFilter::kLinear;
  if (mode == "cubic") return ResizeFilter::kCubic;
  FailArgument("mode '", mode, "' found, nearest, linear or cubic expected");
}

ResizeCoordinates ResizeCoordinatesOf(std::string_view name) {
  if (name == "half_pixel") return ResizeCoordinates::kHalfPixel;
  if (name == "half_pixel_symmetric") return ResizeCoordinates::kHalfPixelSymmetric;
  if (name == "pytorch_half_pixel") return ResizeCoordinates::kPytorchHalfPixel;
  if (name == "align_corners") return ResizeCoordinates::kAlignCorners;
  if (name == "asymmetric") return ResizeCoordinates::kAsymmetric;
  if (name == "tf_half_pixel_for_nn") return ResizeCoordinates::kTfHalfPixelForNn;
  if (name == "tf_crop_and_resize") return ResizeCoordinates::kTfCropAndResize;
  FailArgument("coordinate_transformation_mode '", name,
               "' found, one of ONNX's modes expected, half_pixel for example");
}

ResizeRounding ResizeRoundingOf(std::string_view name) {
  if (name == "round_prefer_floor") return ResizeRounding::kRoundPreferFloor;
  if (name == "round_prefer_ceil") return ResizeRounding::kRoundPreferCeil;
  if (name == "floor") return ResizeRounding::kFloor;
  if (name == "ceil") return ResizeRounding::kCeil;
  FailArgument("nearest_mode '", name, "' found, round_prefer_floor, round_prefer_ceil, floor or ceil expected");
}

ResizePolicy ResizePolicyOf(std::string_view name) {
  if (name == "stretch") return ResizePolicy::kStretch;
  if (name == "not_larger") return ResizePolicy::kNotLarger;
  if (name == "not_smaller") return ResizePolicy::kNotSmaller;
  FailArgument("keep_aspect_ratio_policy '", name, "' found, stretch, not_larger or not_smaller expected");
}

std::vector<ResizeAxis> ResizeAttributes::Resolve(const Dims& x, const ResizeInputs& inputs) const {
  const size_t rank = x.size();
  std::vector<ResizeAxis> all(rank);
  Dims which(rank, 0);
  for (size_t i = 0; i < rank; ++i) {
    all[i].in = all[i].out = x[i];
    all[i].length = static_cast<double>(x[i]);
    which[i] = static_cast<int64_t>(i);
  }
  if (has_axes) which = NormalizeAxes(axes, rank);

  if (coordinates == ResizeCoordinates::kTfCropAndResize) {
    if (inputs.roi.empty()) FailArgument("no roi found, one expected in mode tf_crop_and_resize");
    if (inputs.roi.size() != 2 * which.size())
      FailArgument("roi of ", inputs.roi.size(), " numbers found, ", 2 * which.size(), " expected");
    for (size_t i = 0; i < which.size(); ++i) {
      all[static_cast<size_t>(which[i])].roi_start = inputs.roi[i];
      all[static_cast<size_t>(which[i])].roi_end = inputs.roi[i + which.size()];
    }
  }
  if (!inputs.sizes.empty()) {
    ApplySizes(inputs.sizes, which, all);
    return all;
  }
  const std::span<const double> given = inputs.scales.empty() ? std::span(scales) : inputs.scales;
  if (given.size() != which.size()) FailArgument(given.size(), " scales found, ", which.size(), " expected");
  for (size_t i = 0; i < which.size(); ++i) {
    ResizeAxis& axis = all[static_cast<size_t>(which[i])];
    // Computed in float, as ONNX's shape inference does: 0.7f * 10 is 7.
    const float length = static_cast<float>(axis.in) * static_cast<float>(given[i]);
    if (!(given[i] > 0) || !(length < 0x1p57f))
      FailArgument("scale ", std::to_string(given[i]), " found for a dimension of ", axis.in,
                   ", a positive number that leads to a possible size expected");
    axis.scale = given[i];
    axis.length = static_cast<double>(axis.in) * given[i];
    axis.out = static_cast<int64_t>(std::floor(length));
  }
  return all;
}

void ResizeAttributes::ApplySizes(std::span<const int64_t> sizes, const Dims& which,
                                  std::vector<ResizeAxis>& all) const {
  if (sizes.size() != which.size()) FailArgument(sizes.size(), " sizes found, ", which.size(), " expected");
  double common = -1;
  for (size_t i = 0; i < which.size(); ++i) {
    const ResizeAxis& axis = all[static_cast<size_t>(which[i])];
    if (sizes[i] < 0) FailArgument("sizes ", ShapeText(sizes), " found, numbers of at least 0 expected");
    const double scale = axis.in == 0 ? 1 : static_cast<double>(sizes[i]) / static_cast<double>(axis.in);
    if (common < 0 || (policy == ResizePolicy::kNotLarger ? scale < common : scale > common)) common = scale;
  }
  for (size_t i = 0; i < which.size(); ++i) {
    ResizeAxis& axis = all[static_cast<size_t>(which[i])];
    if (policy == ResizePolicy::kStretch) {
      axis.out = sizes[i];
      axis.scale = axis.in == 0 ? 1 : static_cast<double>(axis.out) / static_cast<double>(axis.in);
      axis.length = static_cast<double>(axis.out);
    } else {
      axis.scale = common;
      axis.length = common * static_cast<double>(axis.in);
      if (!(axis.length < 0x1p57)) FailArgument("sizes ", ShapeText(sizes), " found, a smaller common scale expected");
      axis.out = static_cast<int64_t>(std::floor(axis.length + 0.5));
    }
  }
}

Dims ResizedDims(const Dims& x, std::span<const ResizeAxis> axes) {
  Dims dims = x;
  for (size_t i = 0; i < axes.size(); ++i) dims[i] = axes[i].out;
  if (CheckedCount(dims) != 0 && x.Count() == 0)
    FailArgument("input of shape ", ShapeText(x), " found for an output of shape ", ShapeText(dims),
                 ", elements expected");
  return dims;
}

std::vector<int64_t> NearestMap(const ResizeAxis& axis, const ResizeAttributes& attributes) {
  std::vector<int64_t> map(static_cast<size_t>(axis.out));
  for (int64_t i = 0; i < axis.out; ++i) {
    const double x = SnapToHalf(OriginalPosition(axis, attributes.coordinates, i));
    double rounded = 0;
    switch (attributes.rounding) {
      case ResizeRounding::kRoundPreferFloor: rounded = std::ceil(x - 0.5); break;
      case ResizeRounding::kRoundPreferCeil: rounded = std::floor(x + 0.5); break;
      case ResizeRounding::kFloor: rounded = std::floor(x); break;
      case ResizeRounding::kCeil: rounded = std::ceil(x); break;
      case ResizeRounding::kSimple: rounded = axis.scale < 1 ? std::ceil(x) : std::floor(x); break;
    }
    map[static_cast<size_t>(i)] = IsOutside(axis, attributes.coordinates, x)
                                      ? -1
                                      : std::clamp<int64_t>(ToIndex(rounded, axis.in), 0, axis.in - 1);
  }
  return map;
}

ResizeTaps MakeResizeTaps(const ResizeAxis& axis, const ResizeAttributes& attributes) {
  const bool cubic = attributes.filter == ResizeFilter::kCubic;
  // With antialiasing, the filter is widened when the axis shrinks, so that it covers every input element.
  const double narrow = attributes.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const auto start = static_cast<int64_t>(std::floor((cubic ? -2 : -1) / narrow)) + 1;
  ResizeTaps taps;
  taps.taps = 2 - 2 * start;
  taps.indices.resize(static_cast<size_t>(axis.out * taps.taps));
  taps.weights.resize(taps.indices.size());
  for (int64_t i = 0; i < axis.out; ++i) {
    const double x = OriginalPosition(axis, attributes.coordinates, i);
    if (IsOutside(axis, attributes.coordinates, x)) {
      taps.outside.resize(static_cast<size_t>(axis.out));
      taps.outside[static_cast<size_t>(i)] = 1;
    }
    // As in the specification's reference, the left neighbour is strictly left of x.
    const double left = std::ceil(x) - 1;
    const double ratio = x - left;
    const int64_t first = ToIndex(left, axis.in) + start;
    double sum = 0;
    for (int64_t t = 0; t < taps.taps; ++t) {
      const double distance = (static_cast<double>(start + t) - ratio) * narrow;
      double weight = cubic ? Cubic(distance, attributes.cubic_a) : std::clamp(1 - std::abs(distance), 0.0, 1.0);
      const int64_t index = first + t;
      if (attributes.exclude_outside && (index < 0 || index >= axis.in)) weight = 0;
      const auto slot = static_cast<size_t>(i * taps.taps + t);
      taps.indices[slot] = std::clamp<int64_t>(index, 0, axis.in - 1);
      taps.weights[slot] = weight;
      sum += weight;
    }
    if ((attributes.antialias || attributes.exclude_outside) && sum != 0)
      for (int64_t t = 0; t < taps.taps; ++t) taps.weights[static_cast<size_t>(i * taps.taps + t)] /= sum;
  }
  return taps;
}

}  // namespace epiphyte::kit
