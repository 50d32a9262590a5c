// Operators that make a tensor out of parameters: ConstantOfShape and Range.
#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/range.hpp"
#include "plugins/vulkan/ops/host/host_compute.h"
#include "plugins/vulkan/ops/move/strided_copy.h"

namespace epiphyte::vulkan {
namespace {

// --- ConstantOfShape

// The element that fills the result: its type and its bytes, at any alignment.
struct FillValue {
  EpElementType type = EP_TYPE_FLOAT;
  const void* data = nullptr;
};
constexpr float kZero = 0;

FillValue FillValueOf(const ir::Node& node) {
  const ir::Tensor* value = node.TensorOf("value");
  if (value == nullptr) return {EP_TYPE_FLOAT, &kZero};
  if (value->Count() != 1)
    kit::FailArgument("a value of shape ", kit::ShapeText(value->dims), " found, one element expected");
  return {value->type, value->data};
}

std::string CheckConstantOfShape(const NodeCheck& check) {
  const EpElementType type = FillValueOf(check.node()).type;
  return kit::Contains(kMovableTypes, type) ? "" : kit::TextOf("there is no kernel for ", kit::TypeName(type));
}

void RecordConstantOfShape(Recording& r) {
  const Dims dims = HostDims(r.RequireHost(0), "shape");
  kit::CheckedCount(dims);
  const FillValue value = FillValueOf(r.node());
  const int32_t fill = r.Literal(value.type, Dims{}, value.data);
  AddFill(r, fill, r.Output(0, value.type, dims));
}

std::vector<HostTensor> ConstantOfShapeOnHost(const ir::Node& node, HostInputs inputs) {
  const Dims dims = HostDims(*inputs[0], "shape");
  const FillValue value = FillValueOf(node);
  if (!FitsHost(dims) || !IsHostType(value.type)) return {};
  const HostTensor one = ReadHostTensor(value.type, Dims{}, value.data);
  return {HostTake(one, dims, std::vector<int64_t>(static_cast<size_t>(dims.Count()), 0))};
}

// --- Range

struct RangeInputs {
  const HostTensor& start;
  const HostTensor& limit;
  const HostTensor& delta;
};

int64_t CountOf(const RangeInputs& range) {
  for (const HostTensor* scalar : {&range.start, &range.limit, &range.delta})
    if (scalar->Count() != 1 || scalar->type != range.start.type)
      kit::FailArgument("numbers of type ", kit::TypeName(scalar->type), " and shape ", kit::ShapeText(scalar->dims),
                        " found, scalars of one type expected");
  if (range.start.IsFloat())
    return kit::RangeCount(range.start.floats[0], range.limit.floats[0], range.delta.floats[0]);
  return kit::RangeCount(range.start.ints[0], range.limit.ints[0], range.delta.ints[0]);
}

HostTensor MakeRange(const RangeInputs& range, int64_t count) {
  HostTensor y{.type = range.start.type, .dims = {count}, .ints = {}, .floats = {}};
  for (int64_t i = 0; i < count; ++i) {
    if (y.type == EP_TYPE_DOUBLE) {
      HostAppend(y, range.start.floats[0] + static_cast<double>(i) * range.delta.floats[0]);
    } else if (y.IsFloat()) {
      const auto first = static_cast<float>(range.start.floats[0]), step = static_cast<float>(range.delta.floats[0]);
      HostAppend(y, first + static_cast<float>(i) * step);
    } else {
      const auto first = static_cast<uint64_t>(range.start.ints[0]), step = static_cast<uint64_t>(range.delta.ints[0]);
      HostAppend(y, static_cast<int64_t>(first + static_cast<uint64_t>(i) * step));
    }
  }
  return y;
}

std::string CheckRange(const NodeCheck& check) {
  return check.InputType(0) == EP_TYPE_UINT64 ? "there is no kernel for uint64" : "";
}

void RecordRange(Recording& r) {
  const RangeInputs inputs{r.RequireHost(0), r.RequireHost(1), r.RequireHost(2)};
  const Dims dims{CountOf(inputs)};
  const int32_t y = r.Output(0, inputs.start.type, dims);  // checks the size before the host allocates the values
  const std::vector<std::byte> values = BytesOf(MakeRange(inputs, dims[0]));
  const int32_t literal = r.Literal(inputs.start.type, dims, values.data());
  AddStridedCopy(r, literal, y, {.dims = dims, .from = {1}, .to = {1}, .from_offset = 0, .to_offset = 0});
}

std::vector<HostTensor> RangeOnHost(const ir::Node&, HostInputs given) {
  const RangeInputs inputs{*given[0], *given[1], *given[2]};
  const int64_t count = CountOf(inputs);
  if (count > kMostHostElements) return {};
  return {MakeRange(inputs, count)};
}

}  // namespace

void Register_generate(OperatorTable& table) {
  table.Add({.op_type = "ConstantOfShape",
             .types = kit::Types(EP_TYPE_INT64, EP_TYPE_UINT64),
             .check = CheckConstantOfShape,
             .record = RecordConstantOfShape,
             .host_inputs = 1u << 0,
             .on_host = ConstantOfShapeOnHost});
  table.Add({.op_type = "Range",
             .types = kMovableTypes,
             .check = CheckRange,
             .record = RecordRange,
             .host_inputs = 1u << 0 | 1u << 1 | 1u << 2,
             .on_host = RangeOnHost});
}

}  // namespace epiphyte::vulkan
