// Transpose, DepthToSpace, SpaceToDepth.
#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/depth_space.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/vulkan/ops/host/host_compute.h"
#include "plugins/vulkan/ops/move/strided_copy.h"

namespace epiphyte::vulkan {
namespace {

Dims Permutation(const ir::Node& node, const Dims& x) {
  if (node.Has("perm")) return kit::NormalizePermutation(node.Ints("perm"), x);
  Dims reversed(x.size(), 0);
  for (size_t i = 0; i < x.size(); ++i) reversed[i] = static_cast<int64_t>(x.size() - 1 - i);
  return reversed;
}

Dims Permuted(const Dims& values, const Dims& order) {
  Dims permuted(order.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) permuted[i] = values[static_cast<size_t>(order[i])];
  return permuted;
}

// Whether only axes of one element change place, so that all elements stay in order.
bool KeepsOrder(const Dims& x, const Dims& order) {
  int64_t last = -1;
  for (int64_t axis : order) {
    if (x[static_cast<size_t>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

void RecordTranspose(Recording& r) {
  const Dims x = r.InputDims(0);
  const Dims order = Permutation(r.node(), x);
  const Dims dims = Permuted(x, order);
  if (KeepsOrder(x, order)) return r.OutputAs(0, 0, dims);
  OutputView(r, 0, r.InputTensor(0), dims, Permuted(kit::RowMajorStrides(x), order));
}

std::vector<HostTensor> TransposeOnHost(const ir::Node& node, HostInputs inputs) {
  const Dims& x = inputs[0]->dims;
  const Dims order = Permutation(node, x);
  const Dims dims = Permuted(x, order);
  return {HostTake(*inputs[0], dims, StridedPositions(dims, Permuted(kit::RowMajorStrides(x), order)))};
}

// Adds a copy of input 0 that is viewed in shape move.split, with its axes in the order move.order.
void RecordBlockMove(Recording& r, const kit::BlockMove& move) {
  const int32_t x = r.InputTensor(0);
  const int32_t y = r.Output(0, r.InputType(0), move.dims);
  const Dims dims = Permuted(move.split, move.order);
  AddStridedCopy(r, x, y,
                 {.dims = dims,
                  .from = Permuted(kit::RowMajorStrides(move.split), move.order),
                  .to = kit::RowMajorStrides(dims),
                  .from_offset = 0,
                  .to_offset = 0});
}

bool IsDepthFirst(const ir::Node& node) {
  const std::string mode = node.String("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") kit::FailArgument("mode '", mode, "' found, DCR or CRD expected");
  return mode == "DCR";
}

void RecordDepthToSpace(Recording& r) {
  const int64_t block = kit::CheckedBlockSize(r.node().Int("blocksize", 0));
  RecordBlockMove(r, kit::DepthToSpaceMove(r.InputDims(0), block, IsDepthFirst(r.node())));
}

void RecordSpaceToDepth(Recording& r) {
  const int64_t block = kit::CheckedBlockSize(r.node().Int("blocksize", 0));
  RecordBlockMove(r, kit::SpaceToDepthMove(r.InputDims(0), block));
}

}  // namespace

void Register_transpose(OperatorTable& table) {
  table.Add({.op_type = "Transpose", .types = kMovableTypes, .record = RecordTranspose, .on_host = TransposeOnHost});
  table.Add({.op_type = "DepthToSpace", .types = kMovableTypes, .record = RecordDepthToSpace});
  table.Add({.op_type = "SpaceToDepth", .types = kMovableTypes, .record = RecordSpaceToDepth});
}

}  // namespace epiphyte::vulkan
