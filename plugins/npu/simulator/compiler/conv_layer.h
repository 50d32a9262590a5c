// All layers that the array multiplies: Conv with groups, depthwise Conv, ConvTranspose (a convolution over an image
// with gaps), and MatMul (an image of one row, or of one row for each batch). A layer includes the operators on a
// result tile that is in the scratchpad: lookup tables and elementwise operators.
//
// Weights in the blob form bricks of as many output channels as the array has columns, [brick][kernel row][kernel
// column][input channel][column]. Bricks don't depend on tiles, so that graphs that share weights share their bytes.
#pragma once

#include <functional>
#include <optional>

#include "plugins/npu/simulator/compiler/layer.h"

namespace epiphyte::npusim {

// An elementwise operator on the result's tile, with another tensor of the result's shape.
struct FusedOp {
  ElementwiseCommand command;  // kinds, types, numbers; operand a is the tile unless tile_is_b
  bool tile_is_b = false;
  ImageView other;  // unused for kRescale
  uint32_t op = 0;
};

class ConvLayer : public Layer {
 public:
  uint32_t in_rows = 1, in_columns = 1, in_channels = 1;     // image of an instance
  uint32_t out_rows = 1, out_columns = 1, out_channels = 1;  // result of an instance
  Window window;                                             // its pads are those before the image
  uint32_t up_y = 1, up_x = 1;                               // the image has up - 1 zeros between its rows and pixels
  bool depthwise = false;
  Type x_type = Type::kInt8, w_type = Type::kInt8;
  int32_t x_zero_point = 0, w_zero_point = 0;
  ImageView x;

  // Constant weights: begin of each instance's bricks. Otherwise weights are another tensor, with the stride of n as
  // channel and that of k as pixel.
  std::vector<uint64_t> weights;
  ImageView b;
  std::vector<uint64_t> tables;                        // ChannelFactor of each output channel
  std::vector<uint64_t> zero_points;                   // int32 of each output channel; empty: w_zero_point
  int32_t out_zero_point = 0, low = -128, high = 127;  // POST's output
  Type post_type = Type::kInt8;
  std::optional<uint64_t> lookup;  // table in the weights, applied after POST
  std::vector<FusedOp> fused;
  std::vector<ImageView> targets;

  std::vector<Tiling> Tilings(const Config& config, Choices choices) const override;
  uint64_t LeastCycles(const Tiling& tiling, const Config& config) const override;
  void Emit(const Tiling& tiling, Emitter& emit) const override;
  bool TakesResident(StorageId storage) const override;

 private:
  class Writer;

  // Whether the kernel's columns count as channels, because that fills the array better.
  bool FoldsKernel(const Config& config) const;
};

}  // namespace epiphyte::npusim
