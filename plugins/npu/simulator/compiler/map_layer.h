// Layers that compute each element by itself, or only move it. They are elementwise operators with broadcasting, lookup
// tables, and box copies (Concat, Slice, Pad, Reshape, Transpose), with a change of scale if needed. An operator has
// one or more pieces; each maps a box of its inputs to a box of its results.
#pragma once

#include "plugins/npu/simulator/compiler/layer.h"

namespace epiphyte::npusim {

struct MapPiece {
  enum Kind { kFill, kCopy, kElementwise, kLookup } kind = kCopy;
  struct Operand {
    StorageId storage = kNoStorage;
    int64_t offset = 0;
    std::vector<int64_t> strides;  // by extent; 0 broadcasts; an input's may be negative
  };
  std::vector<int64_t> extents;
  std::vector<Operand> inputs;   // their number depends on the kind of command
  std::vector<Operand> targets;  // all receive the same result
  ElementwiseCommand command;    // kElementwise: kind, types, numbers
  uint64_t table = 0;            // kLookup: offset in the weights
  uint8_t value = 0;             // kFill
};

class MapLayer : public Layer {
 public:
  std::vector<MapPiece> pieces;

  std::vector<Tiling> Tilings(const Config& config, Choices choices) const override;
  void Emit(const Tiling& tiling, Emitter& emit) const override;
  bool TakesResident(StorageId storage) const override;
};

}  // namespace epiphyte::npusim
