// Lowers operators to layers. All limits on operators are checked here: CheckOp lowers an operator alone, and
// Unsupported says which feature the NPU lacks. Data of constants isn't processed yet.
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
  std::vector<std::unique_ptr<Layer>> layers;  // in an execution order
  WeightStore weights;
};

// The graph's data is read when weights are made, so it must still exist then. `tick` is called from time to time and
// may throw to stop.
Lowered Lower(const Graph& graph, const Config& config, bool fusion, const std::function<void()>& tick = {});

// Quantisation of an 8-bit tensor with one scale.
struct Quant {
  Type type = Type::kInt8;
  double scale = 1;
  int32_t zero_point = 0;

  friend bool operator==(const Quant&, const Quant&) = default;
};

struct Bounds {
  int32_t low = 0, high = 0;
};

// The state of Lower(), which its parts (lower_*.cpp) share.
class Lowering {
 public:
  Lowering(const Graph& graph, const Config& config, bool fusion);
  Lowered Run(const std::function<void()>& tick);

 private:
  void LowerOp(const Op& op);
  void LowerConv(const Op& op);  // lowers Conv and ConvTranspose
  void LowerMatMul(const Op& op);
  void LowerPool(const Op& op);
  void LowerResize(const Op& op);
  void LowerElementwise(const Op& op);  // two operands
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

  // Finds elementwise operators that can work on tiles of a convolution or GEMM while those are in the scratchpad.
  void FindFusions();
  void CheckKeys(const Op& op) const;

  // Tensors of an operator's inputs and results.
  const Tensor& In(const Op& op, size_t i) const { return graph_.tensors[op.inputs[i]]; }
  const Tensor& Out(const Op& op) const { return graph_.tensors[op.outputs[0]]; }
  void CheckCounts(const Op& op, size_t least, size_t most) const;
  Quant QuantOf(const Tensor& tensor, const char* what) const;
  Bounds BoundsOf(const Op& op, Type type) const;

  View ViewOf(uint32_t tensor);                  // view of an input, a constant or an earlier layer's result
  std::vector<View> TargetsOf(uint32_t tensor);  // destinations of a result: its own storage, an output's, or both
  bool ChannelsLast(uint32_t tensor) const { return channels_last_[tensor]; }
  StorageId AddStorage(Storage storage);
  // Instances by batch and group. The base of (n, g) is that of batch n plus g * group_channels channels.
  ImageView ImageOf(const View& view, uint32_t groups, int64_t group_channels) const;

  template <typename L>
  L& AddLayer(const Op& op) {
    auto layer = std::make_unique<L>();
    L& reference = *layer;
    reference.op = static_cast<uint32_t>(&op - graph_.ops.data());
    lowered_.layers.push_back(std::move(layer));
    return reference;
  }

  // Finishes a layer of the array: bounds, the lookup and elementwise operators that are fused after `op`, and targets.
  // `image` views a tensor of the result's shape as instances of the layer.
  void FinishConv(const Op& op, ConvLayer& layer, const std::function<ImageView(const View&)>& image);
  // The tensor that `op` writes, including its fused operators.
  uint32_t FinalOutput(const Op& op) const;
  // Adds the ChannelFactors of `channels` results and returns their offset in the weights.
  uint64_t AddFactors(const Op& op, const Tensor& weights, uint32_t bias, int64_t channels, double x_scale,
                      const Quant& y);
  void FinishImage(const Op& op, ImageLayer& layer);
  // `in_row` marks the dimensions of x that form a row.
  void FinishRows(const Op& op, RowsLayer& layer, const std::vector<bool>& in_row);
  void CheckRow(int64_t elements) const;
  // Adds the table of a Lookup, clamped to the bounds, to the weights and returns its offset.
  uint64_t AddTable(const Op& op);
  // The elementwise command of an operator with two operands.
  ElementwiseCommand BinaryCommand(const Op& op) const;
  // Copies if x and y have the same quantisation, otherwise rescales.
  MapPiece CopyPiece(const Op& op, const Tensor& x, const Tensor& y) const;
  // Adds a layer of one piece that writes y's box from x's view. The view has y's extents.
  void AddCopy(const Op& op, const View& x, const std::vector<View>& targets);
  // Like AddCopy, but adds nothing if the result can be another view of x.
  void AddCopyOrView(const Op& op, const View& x);
  // Sets the layer's reads and writes from those of its pieces.
  void AddMapAccess(MapLayer& layer) const;

  const Graph& graph_;
  const Config& config_;
  const bool fusion_;
  Lowered lowered_;
  std::vector<View> views_;            // by tensor
  std::vector<bool> channels_last_;    // by tensor
  std::vector<uint32_t> uses_;         // by tensor: number of operator inputs that use it
  std::vector<int32_t> output_index_;  // by tensor; -1: none
  // By operator: the operators fused after it, in order, and whether it is fused itself.
  std::vector<std::vector<uint32_t>> fused_;
  std::vector<bool> is_fused_;
};

// Throws if the tensor is larger than any blob may have.
void CheckSize(const Tensor& tensor);

[[noreturn]] void Refuse(const std::string& what);
[[noreturn]] void Wrong(const Op& op, const std::string& what);  // throws InvalidGraph

// Checks the factor of a requantisation; fixed point allows less than 2^28.
double CheckFactor(double factor);

}  // namespace epiphyte::npusim
