// Resize and Upsample of all versions: the size of each axis, and the input elements and weights that make each output
// element. All of ONNX's filters are separable, so each axis has its own elements and weights.
//
//   const auto attributes = kit::ResizeAttributes::Read(node);
//   for (const kit::ResizeAxis& axis : attributes.Resolve(x, {.scales = scales})) {
//     if (axis.IsIdentity(attributes.coordinates)) continue;
//     const kit::ResizeTaps taps = kit::MakeResizeTaps(axis, attributes);   // or NearestMap
//   }
//
// All throw Error(EP_STATUS_INVALID_ARGUMENT).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

enum class ResizeFilter : uint8_t { kNearest, kLinear, kCubic };
enum class ResizeCoordinates : uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfHalfPixelForNn,
  kTfCropAndResize,
};
// kSimple is the rounding of version 10 and of Upsample: floor, or ceil when the axis shrinks.
enum class ResizeRounding : uint8_t { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil, kSimple };
// Whether axes keep their aspect ratio, and if so, whether the smaller or the larger result counts.
enum class ResizePolicy : uint8_t { kStretch, kNotLarger, kNotSmaller };

ResizeFilter ResizeFilterOf(std::string_view mode);
ResizeCoordinates ResizeCoordinatesOf(std::string_view name);
ResizeRounding ResizeRoundingOf(std::string_view name);
ResizePolicy ResizePolicyOf(std::string_view name);

struct ResizeAxis {
  int64_t in = 1;
  int64_t out = 1;
  double scale = 1;
  double length = 1;  // length of the output before rounding to `out`
  double roi_start = 0;
  double roi_end = 1;

  // True when the axis does not change.
  bool IsIdentity(ResizeCoordinates coordinates) const {
    return in == out && scale == 1.0 &&
           (coordinates != ResizeCoordinates::kTfCropAndResize || (roi_start == 0 && roi_end == 1)) &&
           coordinates != ResizeCoordinates::kTfHalfPixelForNn;
  }
};

// The inputs of a node; empty for inputs that it does not have. Sizes count if there are any, else scales.
struct ResizeInputs {
  std::span<const double> roi = {};
  std::span<const double> scales = {};
  std::span<const int64_t> sizes = {};
};

struct ResizeAttributes {
  ResizeFilter filter = ResizeFilter::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  ResizeRounding rounding = ResizeRounding::kRoundPreferFloor;
  ResizePolicy policy = ResizePolicy::kStretch;
  bool antialias = false;
  bool exclude_outside = false;
  double cubic_a = -0.75;
  float extrapolation = 0;
  bool has_axes = false;
  Dims axes;
  std::vector<double> scales;  // for versions with scales as attributes

  // Indices of the inputs; 0: the node has no such input.
  size_t roi_input = 0;
  size_t scales_input = 0;
  size_t sizes_input = 0;

  // `Node` is ir::Node or a type like it.
  template <typename Node>
  static ResizeAttributes Read(const Node& node) {
    ResizeAttributes result;
    const bool upsample = node.op_type == "Upsample";
    const int64_t version = node.since_version;
    result.filter = ResizeFilterOf(node.String("mode", "nearest"));
    if (upsample || version < 11) {
      result.coordinates = ResizeCoordinates::kAsymmetric;
      result.rounding = upsample ? ResizeRounding::kFloor : ResizeRounding::kSimple;
      result.scales_input = upsample && version < 9 ? 0 : 1;
    } else {
      result.coordinates = ResizeCoordinatesOf(node.String("coordinate_transformation_mode", "half_pixel"));
      result.rounding = ResizeRoundingOf(node.String("nearest_mode", "round_prefer_floor"));
      result.roi_input = 1;
      result.scales_input = 2;
      result.sizes_input = 3;
    }
    if (upsample && version < 7)
      result.scales = {1, 1, node.Float("height_scale", 1), node.Float("width_scale", 1)};
    else if (upsample && version < 9)
      for (float scale : node.Floats("scales")) result.scales.push_back(scale);
    result.antialias = node.Int("antialias", 0) != 0;
    result.exclude_outside = node.Int("exclude_outside", 0) != 0;
    result.cubic_a = node.Float("cubic_coeff_a", -0.75f);
    result.extrapolation = node.Float("extrapolation_value", 0);
    result.has_axes = node.Has("axes");
    const auto& axes = node.Ints("axes");
    result.axes.assign(axes.data(), axes.size());
    result.policy = ResizePolicyOf(node.String("keep_aspect_ratio_policy", "stretch"));
    return result;
  }

  // The axes of an input with dimensions x.
  std::vector<ResizeAxis> Resolve(const Dims& x, const ResizeInputs& inputs) const;

 private:
  void ApplySizes(std::span<const int64_t> sizes, const Dims& which, std::vector<ResizeAxis>& all) const;
};

// Dimensions of the output. Throws when no memory could hold it, or when the input has no elements to make the output
// from.
Dims ResizedDims(const Dims& x, std::span<const ResizeAxis> axes);

// The input element of each output position; -1: outside of the region of tf_crop_and_resize.
std::vector<int64_t> NearestMap(const ResizeAxis& axis, const ResizeAttributes& attributes);

// Output position i is the sum over t of weights[i * taps + t] * input[indices[i * taps + t]].
struct ResizeTaps {
  int64_t taps = 0;
  std::vector<int64_t> indices;
  std::vector<double> weights;
  // True for output positions outside of the region of tf_crop_and_resize; empty if there are none.
  std::vector<uint8_t> outside;
};
// Makes the taps of an axis for kLinear and kCubic.
ResizeTaps MakeResizeTaps(const ResizeAxis& axis, const ResizeAttributes& attributes);

}  // namespace epiphyte::kit
