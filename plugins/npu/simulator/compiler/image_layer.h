// Windows over images beside the array, channel by channel: pools, and Resize.
#pragma once

#include <variant>

#include "plugins/npu/simulator/compiler/layer.h"

namespace epiphyte::npusim {

// Row (or column) i of a resized image: of which of x's it is made.
struct ResizeAxis {
  std::vector<uint32_t> first, second, fraction;  // as ResizeSource's
};

class ImageLayer : public Layer {
 public:
  uint32_t in_rows = 1, in_columns = 1, channels = 1;
  uint32_t out_rows = 1, out_columns = 1;
  ImageView x;
  std::vector<ImageView> targets;

  // With all that isn't about tiles filled in. window: pads of the begins.
  std::variant<PoolCommand, ResizeCommand> work;
  // Pools: the parts of the result that have a divisor of their own (0: what is within the image).
  struct Area {
    Range rows, columns;
    uint32_t divisor = 0;
  };
  std::vector<Area> areas;
  // Resize.
  ResizeAxis rows, columns;

  std::vector<Tiling> Tilings(const Config& config, Choices choices) const override;
  void Emit(const Tiling& tiling, Emitter& emit) const override;
  bool TakesResident(StorageId storage) const override;

 private:
  class Writer;
};

}  // namespace epiphyte::npusim
