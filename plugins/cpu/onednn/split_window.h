// Convolutions by parts of bfloat16, as split.h has them for matrices: of one group, over one or two spatial
// dimensions. The image's parts are made once, with its padding, in planes of 32 channels (simd/split_product.h); for
// each tap of the kernel tiles are read from there as they lie. With strides, planes have the pixels apart that
// different taps read, so that those of neighbouring results are neighbours.
//
//   const std::optional<MemoryDesc> desc = SplitWindowDesc(weights->dims);   // what PackWeights shall make
//   state.window = SplitWindow::Of(shape);                                   // once for each shape
//   operands.numbers = SplitImages(context, *state.window, x);               // null: not all are finite
//   ConvolveSplit(context, *state.window, operands);
#pragma once

#include <optional>
#include <vector>

#include "epiphyte/kit/shape/convolution.hpp"
#include "plugins/cpu/onednn/activation.h"
#include "plugins/cpu/onednn/weights.h"

namespace epiphyte::cpu {

// Panels of weights [M, C, k…] of one group, as a layout of floats. Nullopt where oneDNN has no such one.
std::optional<MemoryDesc> SplitWindowDesc(std::span<const int64_t> dims);

class SplitWindow {
 public:
  // Nullopt where planes would have far more pixels than the image.
  static std::optional<SplitWindow> Of(const kit::ConvolutionShape& shape);

  struct Axis {
    int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
    int64_t pixels = 1;  // of a plane
    int64_t PhaseOf(int64_t tap) const { return tap * dilation % stride; }
    int64_t PixelOf(int64_t tap) const { return tap * dilation / stride; }
  };
  struct Phase {
    int64_t y = 0, x = 0;
  };

  int64_t images = 0, channels = 0, filters = 0, chunks = 0;  // chunks of channels
  Axis y, x;
  std::vector<Phase> phases;     // those that taps read
  std::vector<int64_t> offsets;  // by chunk and tap, behind an image's numbers
  int64_t plane() const;         // numbers of a phase of a chunk
  int64_t numbers() const { return plane() * static_cast<int64_t>(phases.size()) * chunks; }  // of an image
  // Rows of a product: the results of an image in lines as long as those of planes, of which the last ends early.
  int64_t rows() const { return (y.out - 1) * x.pixels + x.out; }
  int64_t results_before(int64_t row) const;
};

// Both parts of images with channels last, in scratch memory. Null when a number isn't finite.
const uint16_t* SplitImages(OpContext& context, const SplitWindow& window, const float* x);

struct SplitConvolution {
  const uint16_t* numbers = nullptr;  // of SplitImages
  PackedWeights weights;
  const float* bias = nullptr;
  const float* sum = nullptr;  // what is added, as y lies; may be y
  Activation activation;
  float* y = nullptr;  // channels last
};
// y = activation(x * W + bias + sum)
void ConvolveSplit(OpContext& context, const SplitWindow& window, const SplitConvolution& operands);

}  // namespace epiphyte::cpu
