// Everything that the array multiplies: Conv with its groups, depthwise ones, ConvTranspose (a convolution over an
// image with gaps), MatMul (an image of one row, or of a row for each of a batch). With it what is done to a tile of
// the result while that is in the scratchpad: lookup tables and elementwise operators.
//
// Weights stand in the blob in bricks of as many output channels as the array has columns, [brick][kernel row][kernel
// column][input channel][column]: independent of tiles, so that graphs that share weights share their bytes.
#pragma once

#include <functional>
#include <optional>

#include "plugins/npu/simulator/compiler/layer.h"

namespace epiphyte::npusim {

// An elementwise operator on the result's tile, with another tensor of the result's shape.
struct FusedOp {
  ElementwiseCommand command;  // kinds, types, numbers; a is the tile unless tile_is_b
  bool tile_is_b = false;
  ImageView other;  // unless kRescale
  uint32_t op = 0;
};

class ConvLayer : public Layer {
 public:
  uint32_t in_rows = 1, in_columns = 1, in_channels = 1;     // of an instance's image
  uint32_t out_rows = 1, out_columns = 1, out_channels = 1;  // of an instance's result
  Window window;                                             // pads: of the begins
  uint32_t up_y = 1, up_x = 1;                               // the image has up - 1 zeros between its rows and pixels
  bool depthwise = false;
  Type x_type = Type::kInt8, w_type = Type::kInt8;
  int32_t x_zero_point = 0, w_zero_point = 0;
  ImageView x;

  // Constant weights: where the instance's bricks begin; or another tensor, channel: n's stride, pixel: k's.
  std::vector<uint64_t> weights;
  ImageView b;
  std::vector<uint64_t> tables;                        // ChannelFactor of each output channel
  std::vector<uint64_t> zero_points;                   // int32 of each; empty: w_zero_point
  int32_t out_zero_point = 0, low = -128, high = 127;  // of what POST writes
  Type post_type = Type::kInt8;
  std::optional<uint64_t> lookup;  // a table in the weights, after POST
  std::vector<FusedOp> fused;
  std::vector<ImageView> targets;

  std::vector<Tiling> Tilings(const Config& config, Choices choices) const override;
  uint64_t LeastCycles(const Tiling& tiling, const Config& config) const override;
  void Emit(const Tiling& tiling, Emitter& emit) const override;
  bool TakesResident(StorageId storage) const override;

 private:
  class Writer;

  // The kernel's columns count as channels, where that fills the array better.
  bool FoldsKernel(const Config& config) const;
};

}  // namespace epiphyte::npusim
