// Operators with windows over images that the array doesn't compute, channel by channel: pools and Resize.
#pragma once

#include <variant>

#include "plugins/npu/simulator/compiler/layer.h"

namespace epiphyte::npusim {

// Sources of each row (or column) of a resized image in x.
struct ResizeAxis {
  std::vector<uint32_t> first, second, fraction;  // fields of ResizeSource
};

class ImageLayer : public Layer {
 public:
  uint32_t in_rows = 1, in_columns = 1, channels = 1;
  uint32_t out_rows = 1, out_columns = 1;
  ImageView x;
  std::vector<ImageView> targets;

  // The command, complete except for the tiles. The window's pads are those before the image.
  std::variant<PoolCommand, ResizeCommand> work;
  // Pools: parts of the result with their own divisor (0: the elements within the image).
  struct Area {
    Range rows, columns;
    uint32_t divisor = 0;
  };
  std::vector<Area> areas;
  // Sources of rows and columns, for Resize.
  ResizeAxis rows, columns;

  std::vector<Tiling> Tilings(const Config& config, Choices choices) const override;
  void Emit(const Tiling& tiling, Emitter& emit) const override;
  bool TakesResident(StorageId storage) const override;

 private:
  class Writer;
};

}  // namespace epiphyte::npusim
