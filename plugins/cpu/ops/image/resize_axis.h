// One axis of a Resize: from output positions to input positions and the weights of input elements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace epiphyte::cpu {

enum class CoordinateMode {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfHalfPixelForNn,
  kTfCropAndResize,
};
// kSimple is what version 10 and Upsample do: floor, or ceil when the axis shrinks.
enum class NearestMode { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil, kSimple };

CoordinateMode CoordinateModeOf(const std::string& name);
NearestMode NearestModeOf(const std::string& name);

struct ResizeAxis {
  int64_t in = 1;
  int64_t out = 1;
  double scale = 1;
  double length = 1;  // of the output before it was rounded to `out`
  double roi_start = 0;
  double roi_end = 1;
  bool IsIdentity(CoordinateMode mode) const {
    return in == out && scale == 1.0 &&
           (mode != CoordinateMode::kTfCropAndResize || (roi_start == 0 && roi_end == 1)) &&
           mode != CoordinateMode::kTfHalfPixelForNn;
  }
};

// Where in the input output position `x` lies.
double OriginalPosition(const ResizeAxis& axis, CoordinateMode mode, int64_t x);

// The input element of each output position; -1: outside of the region that tf_crop_and_resize cuts out.
std::vector<int64_t> NearestMap(const ResizeAxis& axis, CoordinateMode mode, NearestMode nearest);

// Output position x is the sum over t of weights[x * taps + t] * input[indices[x * taps + t]].
struct Taps {
  int64_t taps = 0;
  std::vector<int64_t> indices;
  std::vector<double> weights;
  std::vector<uint8_t> outside;  // per output position, empty if there are none; see NearestMap
};
struct Filter {
  bool cubic = false;
  bool antialias = false;
  bool exclude_outside = false;
  double a = -0.75;
};
Taps MakeTaps(const ResizeAxis& axis, CoordinateMode mode, const Filter& filter);

}  // namespace epiphyte::cpu
