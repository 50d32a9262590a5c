// Slice. Its bounds are attributes up to version 9, and inputs that the host knows since version 10.
#include "epiphyte/kit/shape/slice.hpp"

#include <optional>

#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/vulkan/ops/host/host_compute.h"
#include "plugins/vulkan/ops/move/strided_copy.h"

namespace epiphyte::vulkan {
namespace {

// The shape of a slice. `given` has the inputs that the host knows; null: left out.
kit::SliceShape ShapeOf(const ir::Node& node, const Dims& x, HostInputs given) {
  if (node.since_version < 10) {
    const Dims axes(std::span<const int64_t>(node.Ints("axes")));
    return {x, node.Ints("starts"), node.Ints("ends"), node.Has("axes") ? &axes : nullptr, nullptr};
  }
  std::optional<Dims> axes, steps;
  if (const HostTensor* input = HostInput(given, 3)) axes = HostDims(*input, "axes");
  if (const HostTensor* input = HostInput(given, 4)) steps = HostDims(*input, "steps");
  return {x, HostDims(*given[1], "starts"), HostDims(*given[2], "ends"), axes ? &*axes : nullptr,
          steps ? &*steps : nullptr};
}

void RecordSlice(Recording& r) {
  const Dims x = r.InputDims(0);
  std::vector<const HostTensor*> given = {nullptr};
  for (size_t i = 1; i < r.input_count(); ++i) given.push_back(r.HasInput(i) ? &r.RequireHost(i) : nullptr);
  const kit::SliceShape slice = ShapeOf(r.node(), x, given);
  if (slice.whole) return r.OutputAs(0, 0, slice.dims);
  Dims strides = kit::RowMajorStrides(x);
  const int64_t begin = slice.dims.Count() == 0 ? 0 : kit::ApplySlice(slice.ranges, strides);
  OutputView(r, 0, r.InputTensor(0), slice.dims, strides, begin);
}

std::vector<HostTensor> SliceOnHost(const ir::Node& node, HostInputs inputs) {
  const kit::SliceShape slice = ShapeOf(node, inputs[0]->dims, inputs);
  Dims strides = kit::RowMajorStrides(inputs[0]->dims);
  const int64_t begin = slice.dims.Count() == 0 ? 0 : kit::ApplySlice(slice.ranges, strides);
  return {HostTake(*inputs[0], slice.dims, StridedPositions(slice.dims, strides, begin))};
}

}  // namespace

void Register_slice(OperatorTable& table) {
  table.Add({.op_type = "Slice",
             .types = kMovableTypes,
             .record = RecordSlice,
             .host_inputs = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4,
             .on_host = SliceOnHost});
}

}  // namespace epiphyte::vulkan
