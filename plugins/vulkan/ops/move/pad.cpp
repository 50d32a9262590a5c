// Pad and CenterCropPad.
#include "epiphyte/kit/shape/pad.hpp"

#include <algorithm>
#include <tuple>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/vulkan/ops/host/host_compute.h"
#include "plugins/vulkan/ops/move/mapped_copy.h"

namespace epiphyte::vulkan {
namespace {

// The pads of a node. `pads` and `axes` are inputs 1 and 3 since version 11.
kit::Pads PadsOf(const ir::Node& node, size_t rank, const HostTensor* pads, const HostTensor* axes) {
  if (node.since_version < 11) return kit::Pads(rank, node.Ints(node.since_version < 2 ? "paddings" : "pads"));
  if (pads == nullptr) kit::FailArgument("no pads found, an input expected");
  if (axes == nullptr) return kit::Pads(rank, HostDims(*pads, "pads"));
  return kit::Pads(rank, HostDims(*pads, "pads"), HostDims(*axes, "axes"));
}

std::string CheckPad(const NodeCheck& check) {
  const float value = check.node().Float("value", 0);
  if (value != 0 && !IsHostType(check.InputType(0)))
    return kit::TextOf("a padding value that isn't 0 has no kernel for ", kit::TypeName(check.InputType(0)));
  return {};
}

// The padding value: an input, or an attribute.
int32_t PadValue(Recording& r) {
  const EpElementType type = r.InputType(0);
  if (r.node().since_version >= 11 && r.HasInput(2)) {
    if (r.InputDims(2).Count() != 1)
      kit::FailArgument("constant_value of shape ", kit::ShapeText(r.InputDims(2)), " found, one element expected");
    return r.InputTensor(2);
  }
  const float value = r.node().since_version < 11 ? r.node().Float("value", 0) : 0;
  if (value == 0) return ZeroOf(r, type);
  HostTensor scalar{.type = type, .dims = {}, .ints = {}, .floats = {}};
  HostAppend(scalar, value);
  return r.Literal(type, Dims{}, BytesOf(scalar).data());
}

void AddPad(Recording& r, kit::PadMode mode, const kit::Pads& pads, int32_t (*value)(Recording& r)) {
  const Dims x = r.InputDims(0);
  const Dims dims = kit::PaddedDims(x, pads.before, pads.after);
  const auto none = [](const Dims& list) {
    return std::all_of(list.begin(), list.end(), [](int64_t pad) { return pad == 0; });
  };
  if (none(pads.before) && none(pads.after)) return r.OutputAs(0, 0, dims);
  const int32_t y = r.Output(0, r.InputType(0), dims);
  if (dims.Count() == 0) return;  // an empty result may have a long dimension, so no maps are made
  std::vector<AxisMap> maps(dims.size());
  for (size_t i = 0; i < dims.size(); ++i)
    if (pads.before[i] != 0 || pads.after[i] != 0)
      maps[i].positions = kit::PadMap(mode, x[i], pads.before[i], pads.after[i], dims[i]);
  AddMappedCopy(r, r.InputTensor(0), value(r), y, maps);
}

void RecordPad(Recording& r) {
  const bool inputs = r.node().since_version >= 11;
  const kit::Pads pads = PadsOf(r.node(), r.InputDims(0).size(), inputs ? &r.RequireHost(1) : nullptr,
                                inputs && r.HasInput(3) ? &r.RequireHost(3) : nullptr);
  AddPad(r, kit::PadModeOf(r.node().String("mode", "constant")), pads, PadValue);
}

// Pads a tensor that the host knows, as shape computations do, with zeros or with the value of input 2.
std::vector<HostTensor> PadOnHost(const ir::Node& node, HostInputs inputs) {
  const HostTensor& x = *inputs[0];
  const kit::Pads pads = PadsOf(node, x.dims.size(), HostInput(inputs, 1), HostInput(inputs, 3));
  const Dims dims = kit::PaddedDims(x.dims, pads.before, pads.after);
  if (!FitsHost(dims) || node.since_version < 11) return {};
  const kit::PadMode mode = kit::PadModeOf(node.String("mode", "constant"));
  const Dims strides = kit::RowMajorStrides(x.dims);
  const bool nothing = dims.Count() == 0;  // an empty result may have a long dimension, so no maps are made
  std::vector<int64_t> positions(nothing ? 0 : 1, 0);
  for (size_t i = 0; !nothing && i < dims.size(); ++i) {
    const std::vector<int64_t> map = kit::PadMap(mode, x.dims[i], pads.before[i], pads.after[i], dims[i]);
    std::vector<int64_t> next;
    for (int64_t at : positions)
      for (int64_t place : map) next.push_back(at < 0 || place < 0 ? -1 : at + place * strides[i]);
    positions = std::move(next);
  }
  HostTensor y = HostTake(x, dims, positions);
  if (const HostTensor* value = HostInput(inputs, 2)) {
    if (value->Count() != 1 || value->type != x.type)
      kit::FailArgument("constant_value of type ", kit::TypeName(value->type), " and shape ",
                        kit::ShapeText(value->dims), " found, one element of ", kit::TypeName(x.type), " expected");
    for (size_t i = 0; i < positions.size(); ++i) {
      if (positions[i] >= 0) continue;
      if (y.IsFloat())
        y.floats[i] = value->floats[0];
      else
        y.ints[i] = value->ints[0];
    }
  }
  return {std::move(y)};
}

// CenterCropPad crops or pads each axis to the wanted size, equally on both sides.
void RecordCenterCropPad(Recording& r) {
  const Dims x = r.InputDims(0);
  const Dims wanted = HostDims(r.RequireHost(1), "shape");
  Dims axes(x.size(), 0);
  for (size_t i = 0; i < x.size(); ++i) axes[i] = static_cast<int64_t>(i);
  if (r.node().Has("axes")) axes = kit::NormalizeAxes(r.node().Ints("axes"), x.size());
  if (wanted.size() != axes.size())
    kit::FailArgument("shape ", kit::ShapeText(wanted), " found, ", axes.size(), " dimensions expected");
  kit::Pads pads(x.size(), Dims(2 * x.size(), 0));
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    if (wanted[i] < 0) kit::FailArgument("shape ", kit::ShapeText(wanted), " found, dimensions of at least 0 expected");
    std::tie(pads.before[axis], pads.after[axis]) = kit::CenterPads(x[axis], wanted[i]);
  }
  AddPad(r, kit::PadMode::kConstant, pads, [](Recording& of) { return ZeroOf(of, of.InputType(0)); });
}

}  // namespace

void Register_pad(OperatorTable& table) {
  table.Add({.op_type = "Pad",
             .types = kMovableTypes,
             .check = CheckPad,
             .record = RecordPad,
             .host_inputs = 1u << 1 | 1u << 3,
             .on_host = PadOnHost});
  table.Add(
      {.op_type = "CenterCropPad", .types = kMovableTypes, .record = RecordCenterCropPad, .host_inputs = 1u << 1});
}

}  // namespace epiphyte::vulkan
