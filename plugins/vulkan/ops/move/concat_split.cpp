// Concat and Split.
#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/join.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/vulkan/ops/host/host_compute.h"
#include "plugins/vulkan/ops/move/strided_copy.h"

namespace epiphyte::vulkan {
namespace {

void RecordConcat(Recording& r) {
  const Dims first = r.InputDims(0);
  kit::ConcatShape shape(first, r.node().Int("axis", 1));
  for (size_t i = 1; i < r.input_count(); ++i) shape.Add(r.InputDims(i));
  const Dims dims = shape.Result();
  if (r.input_count() == 1) return r.OutputAs(0, 0, dims);

  const int32_t y = r.Output(0, r.InputType(0), dims);
  const Dims to = kit::RowMajorStrides(dims);
  int64_t at = 0;
  for (size_t i = 0; i < r.input_count(); ++i) {
    const Dims part = r.InputDims(i);
    if (part.Count() != 0)
      AddStridedCopy(r, r.InputTensor(i), y,
                     {.dims = part,
                      .from = kit::RowMajorStrides(part),
                      .to = to,
                      .from_offset = 0,
                      .to_offset = at * to[shape.axis()]});
    at += part[shape.axis()];
  }
}

std::vector<HostTensor> ConcatOnHost(const ir::Node& node, HostInputs inputs) {
  kit::ConcatShape shape(inputs[0]->dims, node.Int("axis", 1));
  for (size_t i = 1; i < inputs.size(); ++i) shape.Add(inputs[i]->dims);
  if (!FitsHost(shape.Result())) return {};
  HostTensor y = HostZeros(inputs[0]->type, shape.Result());
  const Dims to = kit::RowMajorStrides(y.dims);
  int64_t at = 0;
  for (const HostTensor* part : inputs) {
    const std::vector<int64_t> places = StridedPositions(part->dims, to, at * to[shape.axis()]);
    for (size_t i = 0; i < places.size(); ++i) {
      const auto place = static_cast<size_t>(places[i]);
      if (y.IsFloat())
        y.floats[place] = part->floats[i];
      else
        y.ints[place] = part->ints[i];
    }
    at += part->dims[shape.axis()];
  }
  return {std::move(y)};
}

// Sizes of the outputs along the axis. `given` is the input that has them, or null.
Dims SplitSizes(const ir::Node& node, int64_t dim, const HostTensor* given) {
  const size_t outputs = node.outputs.size();
  Dims sizes;
  if (given != nullptr) {
    sizes = HostDims(*given, "split");
  } else if (node.Has("split")) {
    sizes = Dims(std::span<const int64_t>(node.Ints("split")));
  } else {
    const int64_t parts = node.Int("num_outputs", 0);
    if (parts != 0 && parts != static_cast<int64_t>(outputs))
      kit::FailArgument("num_outputs ", parts, " found for ", outputs, " outputs, the same number expected");
    return kit::SplitEvenly(dim, outputs, node.since_version >= 18);
  }
  kit::CheckSplit(sizes, outputs, dim);
  return sizes;
}

void RecordSplit(Recording& r) {
  const Dims x = r.InputDims(0);
  const size_t axis = kit::NormalizeAxis(r.node().Int("axis", 0), x.size());
  const Dims sizes = SplitSizes(r.node(), x[axis], r.HasInput(1) ? &r.RequireHost(1) : nullptr);
  if (sizes.size() == 1) return r.OutputAs(0, 0, x);
  const Dims strides = kit::RowMajorStrides(x);
  int64_t at = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Dims part = x;
    part[axis] = sizes[i];
    if (r.HasOutput(i)) OutputView(r, i, r.InputTensor(0), part, strides, at * strides[axis]);
    at += sizes[i];
  }
}

std::vector<HostTensor> SplitOnHost(const ir::Node& node, HostInputs inputs) {
  const HostTensor& x = *inputs[0];
  const size_t axis = kit::NormalizeAxis(node.Int("axis", 0), x.dims.size());
  const Dims strides = kit::RowMajorStrides(x.dims);
  std::vector<HostTensor> parts;
  int64_t at = 0;
  for (int64_t size : SplitSizes(node, x.dims[axis], HostInput(inputs, 1))) {
    Dims part = x.dims;
    part[axis] = size;
    parts.push_back(HostTake(x, part, StridedPositions(part, strides, at * strides[axis])));
    at += size;
  }
  return parts;
}

}  // namespace

void Register_concat_split(OperatorTable& table) {
  table.Add({.op_type = "Concat", .types = kMovableTypes, .record = RecordConcat, .on_host = ConcatOnHost});
  table.Add({.op_type = "Split",
             .types = kMovableTypes,
             .record = RecordSplit,
             .host_inputs = 1u << 1,
             .on_host = SplitOnHost});
}

}  // namespace epiphyte::vulkan
