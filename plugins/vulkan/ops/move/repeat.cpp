// Operators that repeat their input: Expand, Tile.
#include "epiphyte/kit/shape/repeat.hpp"

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/vulkan/ops/host/host_compute.h"
#include "plugins/vulkan/ops/move/strided_copy.h"

namespace epiphyte::vulkan {
namespace {

void RecordExpand(Recording& r) {
  const Dims x = r.InputDims(0);
  const kit::ExpandShape expand(x, HostDims(r.RequireHost(1), "shape"));
  if (expand.dims.Count() == x.Count()) return r.OutputAs(0, 0, expand.dims);
  OutputView(r, 0, r.InputTensor(0), expand.dims, expand.strides);
}

std::vector<HostTensor> ExpandOnHost(const ir::Node&, HostInputs inputs) {
  const kit::ExpandShape expand(inputs[0]->dims, HostDims(*inputs[1], "shape"));
  if (!FitsHost(expand.dims)) return {};
  return {HostTake(*inputs[0], expand.dims, StridedPositions(expand.dims, expand.strides))};
}

// An input of Tile version 1, which has a single axis and gives numbers in the type of the data.
int64_t WholeNumber(const HostTensor& tensor, std::string_view name) {
  const std::vector<double> numbers = HostNumbers(tensor);
  if (numbers.size() != 1 || !(numbers[0] > -1e9 && numbers[0] < 1e9))
    kit::FailArgument(name, " of shape ", kit::ShapeText(tensor.dims), " found, one small integer expected");
  return static_cast<int64_t>(numbers[0]);
}

Dims Repeats(const ir::Node& node, size_t rank, const HostTensor& first, const HostTensor* second) {
  if (node.since_version >= 6) return HostDims(first, "repeats");
  if (second == nullptr) kit::FailArgument("no axis found, one expected");
  Dims repeats(rank, 1);
  repeats[kit::NormalizeAxis(WholeNumber(*second, "axis"), rank)] = WholeNumber(first, "tiles");
  return repeats;
}

void RecordTile(Recording& r) {
  const Dims x = r.InputDims(0);
  const kit::TileShape tile(x, Repeats(r.node(), x.size(), r.RequireHost(1), r.Host(2)));
  if (tile.dims == x) return r.OutputAs(0, 0, tile.dims);
  const int32_t y = r.Output(0, r.InputType(0), tile.dims);
  AddStridedCopy(r, r.InputTensor(0), y,
                 {.dims = tile.move,
                  .from = tile.strides,
                  .to = kit::RowMajorStrides(tile.move),
                  .from_offset = 0,
                  .to_offset = 0});
}

std::vector<HostTensor> TileOnHost(const ir::Node& node, HostInputs inputs) {
  const HostTensor& x = *inputs[0];
  const kit::TileShape tile(x.dims, Repeats(node, x.dims.size(), *inputs[1], HostInput(inputs, 2)));
  if (!FitsHost(tile.dims)) return {};
  return {HostTake(x, tile.dims, StridedPositions(tile.move, tile.strides))};
}

}  // namespace

void Register_repeat(OperatorTable& table) {
  table.Add({.op_type = "Expand",
             .types = kMovableTypes,
             .record = RecordExpand,
             .host_inputs = 1u << 1,
             .on_host = ExpandOnHost});
  table.Add({.op_type = "Tile",
             .types = kMovableTypes,
             .record = RecordTile,
             .host_inputs = 1u << 1 | 1u << 2,
             .on_host = TileOnHost});
}

}  // namespace epiphyte::vulkan
