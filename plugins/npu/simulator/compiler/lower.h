// From operators to layers. What an operator may have is checked here and nowhere else: CheckOp lowers it alone, and
// Unsupported says what the NPU doesn't have. Nothing is made of constants' data yet.
//
//   Lowered lowered = Lower(graph, config, /*fusion=*/true);
//   for (const auto& layer : lowered.layers) ...
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugins/npu/simulator/compiler/conv_layer.h"
#include "plugins/npu/simulator/compiler/image_layer.h"
#include "plugins/npu/simulator/compiler/map_layer.h"
#include "plugins/npu/simulator/compiler/rows_layer.h"
#include "plugins/npu/simulator/graph/graph.h"

namespace epiphyte::npusim {

struct Lowered {
  std::vector<Storage> storages;
  std::vector<std::unique_ptr<Layer>> layers;  // in an order in which they can run
  WeightStore weights;
};

// The graph's data is read when weights are made: it must still be there. tick is called now and then, and may throw to
// stop.
Lowered Lower(const Graph& graph, const Config& config, bool fusion, const std::function<void()>& tick = {});

// Of a tensor of 8 bits with one scale.
struct Quant {
  Type type = Type::kInt8;
  double scale = 1;
  int32_t zero_point = 0;

  friend bool operator==(const Quant&, const Quant&) = default;
};

struct Bounds {
  int32_t low = 0, high = 0;
};

// The state of Lower(), and what its parts (lower_*.cpp) share.
class Lowering {
 public:
  Lowering(const Graph& graph, const Config& config, bool fusion);
  Lowered Run(const std::function<void()>& tick);

 private:
  void LowerOp(const Op& op);
  void LowerConv(const Op& op);  // and ConvTranspose
  void LowerMatMul(const Op& op);
  void LowerPool(const Op& op);
  void LowerResize(const Op& op);
  void LowerElementwise(const Op& op);  // of two operands
  void LowerLookup(const Op& op);
  void LowerRescale(const Op& op);
  void LowerConcat(const Op& op);
  void LowerSlice(const Op& op);
  void LowerPad(const Op& op);
  void LowerReshape(const Op& op);
  void LowerTranspose(const Op& op);
  void LowerSoftmax(const Op& op);
  void LowerLayerNorm(const Op& op);
  void LowerReduceMean(const Op& op);

  // Which elementwise operators work on tiles of which convolution or product while those are in the scratchpad.
  void FindFusions();
  void CheckKeys(const Op& op) const;

  // Of inputs and results.
  const Tensor& In(const Op& op, size_t i) const { return graph_.tensors[op.inputs[i]]; }
  const Tensor& Out(const Op& op) const { return graph_.tensors[op.outputs[0]]; }
  void CheckCounts(const Op& op, size_t least, size_t most) const;
  Quant QuantOf(const Tensor& tensor, const char* what) const;
  Bounds BoundsOf(const Op& op, Type type) const;

  View ViewOf(uint32_t tensor);                  // of an input, a constant or what an earlier layer wrote
  std::vector<View> TargetsOf(uint32_t tensor);  // where a result goes: its own storage, an output's, or both
  bool ChannelsLast(uint32_t tensor) const { return channels_last_[tensor]; }
  StorageId AddStorage(Storage storage);
  // By batch and group; base of (n, g) is n's and g channels'.
  ImageView ImageOf(const View& view, uint32_t groups, int64_t group_channels) const;

  template <typename L>
  L& AddLayer(const Op& op) {
    auto layer = std::make_unique<L>();
    L& reference = *layer;
    reference.op = static_cast<uint32_t>(&op - graph_.ops.data());
    lowered_.layers.push_back(std::move(layer));
    return reference;
  }

  // Finishes an array's layer: bounds, lookup and elementwise operators fused behind op, and targets.
  // image: views a tensor of the result's shape as instances of the layer.
  void FinishConv(const Op& op, ConvLayer& layer, const std::function<ImageView(const View&)>& image);
  // The tensor that op, with what is fused behind it, writes.
  uint32_t FinalOutput(const Op& op) const;
  // ChannelFactor of `channels` results: where they stand.
  uint64_t AddFactors(const Op& op, const Tensor& weights, uint32_t bias, int64_t channels, double x_scale,
                      const Quant& y);
  void FinishImage(const Op& op, ImageLayer& layer);
  // in_row: which of x's dimensions make a row.
  void FinishRows(const Op& op, RowsLayer& layer, const std::vector<bool>& in_row);
  void CheckRow(int64_t elements) const;
  // Of a Lookup: its table, kept within the bounds, in the weights.
  uint64_t AddTable(const Op& op);
  // The elementwise command of two operands.
  ElementwiseCommand BinaryCommand(const Op& op) const;
  // Copies, where both mean the same numbers, or rescales.
  MapPiece CopyPiece(const Op& op, const Tensor& x, const Tensor& y) const;
  // A layer of one piece: y's box from x's view, which has y's extents.
  void AddCopy(const Op& op, const View& x, const std::vector<View>& targets);
  // The same, or nothing: the result is x seen in another way.
  void AddCopyOrView(const Op& op, const View& x);
  // What pieces read and write is what the layer does.
  void AddMapAccess(MapLayer& layer) const;

  const Graph& graph_;
  const Config& config_;
  const bool fusion_;
  Lowered lowered_;
  std::vector<View> views_;            // by tensor
  std::vector<bool> channels_last_;    // by tensor
  std::vector<uint32_t> uses_;         // by tensor: how many inputs of operators it is
  std::vector<int32_t> output_index_;  // by tensor; -1: none
  // By operator: what is fused behind it, in order; and whether it is fused itself.
  std::vector<std::vector<uint32_t>> fused_;
  std::vector<bool> is_fused_;
};

// Whether the NPU has tensors of this size: more than that no blob has.
void CheckSize(const Tensor& tensor);

[[noreturn]] void Refuse(const std::string& what);
[[noreturn]] void Wrong(const Op& op, const std::string& what);  // InvalidGraph

// The factor of a requantisation, which fixed point has only up to 2^28.
double CheckFactor(double factor);

}  // namespace epiphyte::npusim
