// Max, Min, Sum and Mean of any number of tensors, broadcast together.
#include "epiphyte/kit/shape/broadcast.hpp"
#include "plugins/vulkan/ops/math/host_math.h"
#include "plugins/vulkan/ops/math/map.h"

namespace epiphyte::vulkan {
namespace {

using kit::fuse::ElementwiseOp;
using kit::fuse::ElementwiseProgram;

// Adds an operator on floats as one program. The program of a Mean ends with a multiplication by 1 / count.
void AddFloats(Recording& r, ElementwiseOp op, std::span<const MapOperand> operands, bool mean, int32_t y,
               const Dims& out) {
  ElementwiseProgram program;
  for (size_t k = 1; k < operands.size(); ++k) {
    const auto input = static_cast<int32_t>(2 * k);
    program.instructions.push_back({op, k == 1 ? 0 : input - 3, input, 0, 0});
  }
  if (mean) {
    const auto sum = static_cast<int32_t>(2 * operands.size()) - 3;
    program.instructions.push_back({ElementwiseOp::kMul, sum, -1, 1.0f / static_cast<float>(operands.size()), 0});
  }
  AddProgram(r, r.InputType(0), program, operands, y, out);
}

void RecordVariadic(Recording& r) {
  const std::string& name = r.node().op_type;
  const ElementwiseOp op = name == "Max"   ? ElementwiseOp::kMax
                           : name == "Min" ? ElementwiseOp::kMin
                                           : ElementwiseOp::kAdd;
  const bool mean = name == "Mean";
  const size_t count = r.input_count();
  if (count == 1) return r.OutputAs(0, 0, r.InputDims(0));
  std::vector<MapOperand> operands;
  for (size_t i = 0; i < count; ++i) operands.push_back({r.InputTensor(i), r.InputDims(i)});
  std::vector<const Dims*> shapes;
  for (const MapOperand& operand : operands) shapes.push_back(&operand.dims);
  const EpElementType type = r.InputType(0);
  const Dims out = kit::BroadcastShape(shapes);
  const int32_t y = r.Output(0, type, out);
  if (kit::Contains(kDeviceFloats, type) && (count > 2 || mean)) return AddFloats(r, op, operands, mean, y, out);
  MapOperand sum = operands[0];
  for (size_t k = 1; k < count; ++k) {
    const MapOperand both[] = {sum, operands[k]};
    const Dims dims = k + 1 == count ? out : kit::BroadcastShape(sum.dims, operands[k].dims);
    sum = {k + 1 == count ? y : r.Scratch(type, dims), dims};
    AddElementwise(r, type, {static_cast<MapOp>(op)}, both, sum.tensor, dims);
  }
}

}  // namespace

void Register_variadic(OperatorTable& table) {
  for (const char* name : {"Max", "Min"})
    table.Add({.op_type = name,
               .types = kDeviceFloats | kDeviceIntegers,
               .record = RecordVariadic,
               .on_host = VariadicOnHost});
  for (const char* name : {"Sum", "Mean"})
    table.Add({.op_type = name, .record = RecordVariadic, .on_host = VariadicOnHost});
}

}  // namespace epiphyte::vulkan
