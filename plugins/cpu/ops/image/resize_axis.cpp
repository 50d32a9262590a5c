#include "plugins/cpu/ops/image/resize_axis.h"

#include <algorithm>
#include <cmath>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {
namespace {

// Half steps are what the rounding modes decide on; a scale that no float holds exactly must not move a position
// across one.
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

bool IsOutside(const ResizeAxis& axis, CoordinateMode mode, double x) {
  return mode == CoordinateMode::kTfCropAndResize && !(x >= 0 && x <= static_cast<double>(axis.in - 1));
}

// Positions outside of every possible neighbourhood give the same result as those just outside.
int64_t ToIndex(double x, int64_t in) {
  if (std::isnan(x)) return 0;  // of a region of interest that isn't one; such positions are outside
  const double limit = static_cast<double>(in) + 1;
  return static_cast<int64_t>(std::clamp(x, -limit, 2 * limit));
}

}  // namespace

CoordinateMode CoordinateModeOf(const std::string& name) {
  if (name == "half_pixel") return CoordinateMode::kHalfPixel;
  if (name == "half_pixel_symmetric") return CoordinateMode::kHalfPixelSymmetric;
  if (name == "pytorch_half_pixel") return CoordinateMode::kPytorchHalfPixel;
  if (name == "align_corners") return CoordinateMode::kAlignCorners;
  if (name == "asymmetric") return CoordinateMode::kAsymmetric;
  if (name == "tf_half_pixel_for_nn") return CoordinateMode::kTfHalfPixelForNn;
  if (name == "tf_crop_and_resize") return CoordinateMode::kTfCropAndResize;
  FailOp("coordinate_transformation_mode '{}' found, one of ONNX's modes expected, half_pixel for example", name);
}

NearestMode NearestModeOf(const std::string& name) {
  if (name == "round_prefer_floor") return NearestMode::kRoundPreferFloor;
  if (name == "round_prefer_ceil") return NearestMode::kRoundPreferCeil;
  if (name == "floor") return NearestMode::kFloor;
  if (name == "ceil") return NearestMode::kCeil;
  FailOp("nearest_mode '{}' found, round_prefer_floor, round_prefer_ceil, floor or ceil expected", name);
}

double OriginalPosition(const ResizeAxis& axis, CoordinateMode mode, int64_t x_out) {
  const double x = static_cast<double>(x_out), last = static_cast<double>(axis.in - 1);
  switch (mode) {
    case CoordinateMode::kHalfPixel: return (x + 0.5) / axis.scale - 0.5;
    case CoordinateMode::kHalfPixelSymmetric: {
      const double adjustment = static_cast<double>(axis.out) / axis.length;
      return static_cast<double>(axis.in) / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
    }
    case CoordinateMode::kPytorchHalfPixel: return axis.out > 1 ? (x + 0.5) / axis.scale - 0.5 : 0;
    case CoordinateMode::kAlignCorners: return axis.length == 1 ? 0 : x * last / (axis.length - 1);
    case CoordinateMode::kAsymmetric: return x / axis.scale;
    case CoordinateMode::kTfHalfPixelForNn: return (x + 0.5) / axis.scale;
    case CoordinateMode::kTfCropAndResize: {
      const double extent = (axis.roi_end - axis.roi_start) * last;
      return axis.roi_start * last + (axis.out > 1 ? x * extent / (axis.length - 1) : extent / 2);
    }
  }
  return x;
}

std::vector<int64_t> NearestMap(const ResizeAxis& axis, CoordinateMode mode, NearestMode nearest) {
  std::vector<int64_t> map(static_cast<size_t>(axis.out));
  for (int64_t i = 0; i < axis.out; ++i) {
    const double x = SnapToHalf(OriginalPosition(axis, mode, i));
    double rounded = 0;
    switch (nearest) {
      case NearestMode::kRoundPreferFloor: rounded = std::ceil(x - 0.5); break;
      case NearestMode::kRoundPreferCeil: rounded = std::floor(x + 0.5); break;
      case NearestMode::kFloor: rounded = std::floor(x); break;
      case NearestMode::kCeil: rounded = std::ceil(x); break;
      case NearestMode::kSimple: rounded = axis.scale < 1 ? std::ceil(x) : std::floor(x); break;
    }
    map[static_cast<size_t>(i)] =
        IsOutside(axis, mode, x) ? -1 : std::clamp<int64_t>(ToIndex(rounded, axis.in), 0, axis.in - 1);
  }
  return map;
}

Taps MakeTaps(const ResizeAxis& axis, CoordinateMode mode, const Filter& filter) {
  // With antialiasing a filter that shrinks is widened, so that it sees every input element.
  const double narrow = filter.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const auto start = static_cast<int64_t>(std::floor((filter.cubic ? -2 : -1) / narrow)) + 1;
  Taps taps;
  taps.taps = 2 - 2 * start;
  taps.indices.resize(static_cast<size_t>(axis.out * taps.taps));
  taps.weights.resize(taps.indices.size());
  for (int64_t i = 0; i < axis.out; ++i) {
    const double x = OriginalPosition(axis, mode, i);
    if (IsOutside(axis, mode, x)) {
      taps.outside.resize(static_cast<size_t>(axis.out));
      taps.outside[static_cast<size_t>(i)] = 1;
    }
    // The neighbour on the left is strictly left of x, as in the specification's reference.
    const double left = std::ceil(x) - 1;
    const double ratio = x - left;
    const int64_t first = ToIndex(left, axis.in) + start;
    double sum = 0;
    for (int64_t t = 0; t < taps.taps; ++t) {
      const double distance = (static_cast<double>(start + t) - ratio) * narrow;
      double weight = filter.cubic ? Cubic(distance, filter.a) : std::clamp(1 - std::abs(distance), 0.0, 1.0);
      const int64_t index = first + t;
      if (filter.exclude_outside && (index < 0 || index >= axis.in)) weight = 0;
      const auto slot = static_cast<size_t>(i * taps.taps + t);
      taps.indices[slot] = std::clamp<int64_t>(index, 0, axis.in - 1);
      taps.weights[slot] = weight;
      sum += weight;
    }
    if ((filter.antialias || filter.exclude_outside) && sum != 0)
      for (int64_t t = 0; t < taps.taps; ++t) taps.weights[static_cast<size_t>(i * taps.taps + t)] /= sum;
  }
  return taps;
}

}  // namespace epiphyte::cpu
