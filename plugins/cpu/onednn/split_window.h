// Convolutions by bfloat16 parts, like the GEMMs of split.h: one group, one or two spatial dimensions. The image is
// split into parts once, with its padding, in planes of 32 channels (simd/gemm/split_product.h). The tiles of each
// kernel tap are read from there in place. With strides, pixels that different taps read are in different planes, so
// that the pixels of neighbouring results are adjacent.
//
//   const std::optional<MemoryDesc> desc = SplitWindowDesc(weights->dims);   // layout for PackWeights
//   state.window = SplitWindow::Of(shape);                                   // once for each shape
//   operands.numbers = SplitImages(context, *state.window, x);               // null: a number is not finite
//   ConvolveSplit(context, *state.window, operands);
#pragma once

#include <optional>
#include <vector>

#include "epiphyte/kit/shape/convolution.hpp"
#include "plugins/cpu/onednn/activation.h"
#include "plugins/cpu/onednn/weights.h"

namespace epiphyte::cpu {

// Panels of weights [M, C, k…] of one group, as a layout of floats. Nullopt when oneDNN lacks it.
std::optional<MemoryDesc> SplitWindowDesc(std::span<const int64_t> dims);

class SplitWindow {
 public:
  // Nullopt when the planes would have far more pixels than the image.
  static std::optional<SplitWindow> Of(const kit::ConvolutionShape& shape);

  struct Axis {
    int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
    int64_t pixels = 1;  // in a plane
    int64_t PhaseOf(int64_t tap) const { return tap * dilation % stride; }
    int64_t PixelOf(int64_t tap) const { return tap * dilation / stride; }
  };
  struct Phase {
    int64_t y = 0, x = 0;
  };

  int64_t images = 0, channels = 0, filters = 0, chunks = 0;  // chunks: number of 32-channel chunks
  Axis y, x;
  std::vector<Phase> phases;     // phases that taps read
  std::vector<int64_t> offsets;  // by chunk and tap, from the start of an image's numbers
  int64_t plane() const;         // numbers of one phase of one chunk
  int64_t numbers() const { return plane() * static_cast<int64_t>(phases.size()) * chunks; }  // numbers of one image
  // Rows of the GEMM: the results of an image in lines as long as those of the planes; the last line ends early.
  int64_t rows() const { return (y.out - 1) * x.pixels + x.out; }
  int64_t results_before(int64_t row) const;
};

// Splits channels-last images into both parts, in scratch memory. Returns null when a number is not finite.
const uint16_t* SplitImages(OpContext& context, const SplitWindow& window, const float* x);

struct SplitConvolution {
  const uint16_t* numbers = nullptr;  // returned by SplitImages
  PackedWeights weights;
  const float* bias = nullptr;
  const float* sum = nullptr;  // addend in the layout of y; may be y
  Activation activation;
  float* y = nullptr;  // channels last
};
// y = activation(x * W + bias + sum)
void ConvolveSplit(OpContext& context, const SplitWindow& window, const SplitConvolution& operands);

}  // namespace epiphyte::cpu
