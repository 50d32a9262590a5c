// Layers that compute whole rows: Softmax, LayerNorm, and ReduceMean, with the reduced elements as a row. Rows needn't
// be contiguous in memory; they are in the scratchpad.
#pragma once

#include <variant>

#include "plugins/npu/simulator/compiler/layer.h"

namespace epiphyte::npusim {

class RowsLayer : public Layer {
 public:
  StorageId x = kNoStorage;
  int64_t x_offset = 0;
  // Dimensions that stay, and dimensions that form a row, each with strides in x and in the results.
  std::vector<int64_t> kept, kept_x, row, row_x;
  struct Target {
    StorageId storage = kNoStorage;
    int64_t offset = 0;
    std::vector<int64_t> kept, row;  // `row` is empty for ReduceMean
  };
  std::vector<Target> targets;

  // The command, complete except for the tiles.
  std::variant<SoftmaxCommand, LayerNormCommand, PoolCommand> work;
  uint64_t first_table = 0, second_table = 0;  // offsets in the weights: exponentials; scale and bias

  std::vector<Tiling> Tilings(const Config& config, Choices choices) const override;
  void Emit(const Tiling& tiling, Emitter& emit) const override;
  bool TakesResident(StorageId) const override { return false; }
};

}  // namespace epiphyte::npusim
