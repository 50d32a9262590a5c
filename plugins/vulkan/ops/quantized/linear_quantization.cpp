// DequantizeLinear, QuantizeLinear and DynamicQuantizeLinear.
#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/ops/quantized/quantization.h"

namespace epiphyte::vulkan {
namespace {

void CheckZeroPoint(const Recording& r) {
  if (!r.HasInput(2)) return;
  const Dims &scale = r.InputDims(1), &zero = r.InputDims(2);
  if (zero != scale && (zero.Count() != 1 || scale.Count() != 1))
    kit::FailArgument("zero point has shape ", kit::ShapeText(zero), ", expected that of the scale, ",
                      kit::ShapeText(scale));
}

ScaleIndex IndexOf(const Recording& r) {
  return ScaleIndex(r.InputDims(0), r.InputDims(1), r.node().Int("axis", 1), r.node().Int("block_size", 0));
}

// --- DequantizeLinear

constexpr kit::TypeSet kComputed = kDeviceBytes | kit::Types(EP_TYPE_INT32);
// Types without a kernel. Constants of these types become floats, or weights of MatMulNBits, when a partition is
// compiled (kit/fuse/dequantized.hpp).
constexpr kit::TypeSet kFolded =
    kit::Types(EP_TYPE_INT4, EP_TYPE_UINT4, EP_TYPE_INT2, EP_TYPE_UINT2, EP_TYPE_INT16, EP_TYPE_UINT16);

std::string CheckDequantize(const NodeCheck& check) {
  if (!kit::Contains(kComputed, check.InputType(0)))
    for (size_t i = 0; i < 3; ++i)
      if (check.HasInput(i) && check.Constant(i) == nullptr)
        return kit::TextOf("input ", i, " of a dequantisation of ", kit::TypeName(check.InputType(0)),
                           " is no constant");
  const EpElementType y = check.Output(0).type;
  if (!kit::Contains(kDeviceFloats, y)) return "the result is of " + kit::TypeName(y);
  return ExpectType(check, 1, y, "the scale");
}

void RecordDequantize(Recording& r) {
  CheckZeroPoint(r);
  const ScaleIndex index = IndexOf(r);
  const Dims dims = r.InputDims(0);
  const EpElementType type = r.InputType(1);
  const int32_t y = r.Output(0, type, dims);
  const std::string name = Recording::ShaderFor("_", r.InputType(0)).substr(2);
  r.Add({.shader = Recording::ShaderFor("dequantize_linear_" + name, type),
         .specialization = {index.mode, r.HasInput(2) ? 1u : 0u},
         .parameters = index.parameters,
         .bindings = {r.Read(0), r.Read(1), r.HasInput(2) ? r.Read(2) : r.Read(0), Recording::Write(y)},
         .groups = r.GroupsFor(dims.Count())});
}

// --- QuantizeLinear

std::string CheckQuantize(const NodeCheck& check) {
  const EpElementType y = check.Output(0).type;
  if (!kit::Contains(kDeviceBytes, y)) return "quantising to " + kit::TypeName(y) + "; int8 and uint8 are possible";
  return ExpectType(check, 1, check.InputType(0), "the scale");
}

EpElementType QuantizedType(const Recording& r) {
  if (r.HasInput(2)) return r.InputType(2);
  const int64_t asked = r.node().Int("output_dtype", EP_TYPE_UNDEFINED);
  return asked == EP_TYPE_UNDEFINED ? EP_TYPE_UINT8 : static_cast<EpElementType>(asked);
}

constexpr uint32_t kQuantizeBindings = 4;

void AddQuantize(Recording& r, const ScaleIndex& index, int32_t x, int32_t scale, int32_t zero, int32_t y) {
  r.Add({.shader = Recording::ShaderFor("quantize_linear", r.tensor(x).type),
         .specialization = {index.mode, zero >= 0 ? 1u : 0u, r.tensor(y).type == EP_TYPE_INT8 ? 1u : 0u},
         .parameters = index.parameters,
         .bindings = {Recording::ReadTensor(x), Recording::ReadTensor(scale),
                      Recording::ReadTensor(zero >= 0 ? zero : scale), Recording::Write(y)},
         .groups = r.GroupsFor(r.tensor(x).dims.Count())});
}

void RecordQuantize(Recording& r) {
  CheckZeroPoint(r);
  const ScaleIndex index = IndexOf(r);
  const int32_t y = r.Output(0, QuantizedType(r), r.InputDims(0));
  AddQuantize(r, index, r.InputTensor(0), r.InputTensor(1), r.HasInput(2) ? r.InputTensor(2) : -1, y);
}

// --- DynamicQuantizeLinear

// Largest number of invocations that search for the range of the input.
constexpr int64_t kMostParts = 1024;

void RecordDynamicQuantize(Recording& r) {
  const Dims dims = r.InputDims(0);
  const int64_t count = dims.Count();
  const int32_t x = r.InputTensor(0);
  const int32_t y = r.Output(0, EP_TYPE_UINT8, dims);
  const int32_t scale = r.Output(1, EP_TYPE_FLOAT, {});
  const int32_t zero = r.Output(2, EP_TYPE_UINT8, {});
  const int64_t parts = std::min(kMostParts, (count + 31) / 32);
  const int32_t ranges = r.Scratch(EP_TYPE_FLOAT, {std::max<int64_t>(parts, 1), 2});
  r.Add({.shader = "value_range.f32",
         .parameters = {Word(count), Word(parts)},
         .bindings = {Recording::ReadTensor(x), Recording::Write(ranges)},
         .groups = r.GroupsFor(parts),
         .work = static_cast<uint64_t>(count)});
  r.Add({.shader = "dynamic_scale.f32",
         .parameters = {Word(parts)},
         .bindings = {Recording::ReadTensor(ranges), Recording::Write(scale), Recording::Write(zero)}});
  AddQuantize(r, ScaleIndex(dims, {}, 0, 0), x, scale, zero, y);
}

}  // namespace

void Register_linear_quantization(OperatorTable& table) {
  table.Add({.op_type = "DequantizeLinear",
             .first_version = 10,
             .types = kComputed | kFolded,
             .check = CheckDequantize,
             .record = RecordDequantize,
             .bindings = 4});
  table.Add({.op_type = "QuantizeLinear",
             .first_version = 10,
             .check = CheckQuantize,
             .record = RecordQuantize,
             .bindings = kQuantizeBindings});
  table.Add({.op_type = "DynamicQuantizeLinear",
             .first_version = 11,
             .types = kit::Types(EP_TYPE_FLOAT),
             .record = RecordDynamicQuantize,
             .bindings = kQuantizeBindings});
}

}  // namespace epiphyte::vulkan
