// epiphyte.kit.QLinearElementwise: an element-wise operator between a DequantizeLinear for each operand and a
// QuantizeLinear, in one dispatch, with the arithmetic that they would have one by one.
#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/shape/broadcast.hpp"
#include "plugins/vulkan/ops/math/map.h"
#include "plugins/vulkan/ops/quantized/quantization.h"

namespace epiphyte::vulkan {
namespace {

std::string CheckQuantized(const NodeCheck& check) {
  const ir::Node& node = check.node();
  const size_t operands = node.inputs.size();
  try {
    const kit::fuse::ElementwiseProgram program = kit::fuse::ReadElementwiseProgram(node);
    if (program.instructions.size() != 1)
      return kit::TextOf("it has ", program.instructions.size(), " instructions, one expected");
    const kit::fuse::ElementwiseProgram::Instruction& instruction = program.instructions.front();
    if (operands != (IsBinary(instruction.op) ? 2u : 1u) || instruction.a != 0 ||
        (IsBinary(instruction.op) && instruction.b != 2))
      return kit::TextOf("its instruction doesn't take its ", operands, " operands in their order");
    return CheckQuantizedEnds(node, operands);
  } catch (const kit::Error& error) {
    return error.what();
  }
}

void RecordQuantized(Recording& r) {
  const ir::Node& node = r.node();
  const kit::fuse::ElementwiseProgram::Instruction instruction =
      kit::fuse::ReadElementwiseProgram(node).instructions.front();
  std::vector<MapOperand> operands;
  std::vector<const Dims*> shapes;
  for (size_t i = 0; i < r.input_count(); ++i) operands.push_back({r.InputTensor(i), r.InputDims(i)});
  for (const MapOperand& operand : operands) shapes.push_back(&operand.dims);
  const EpElementType type = r.InputType(0);
  const QuantizedEnds ends(node, type);
  const Dims out = kit::BroadcastShape(shapes);
  AddQuantizedElementwise(
      r, type, {static_cast<MapOp>(instruction.op), MapParameter::Of(instruction.p0), MapParameter::Of(instruction.p1)},
      operands, {ends.quantizations, static_cast<float>(ends.bounds.low), static_cast<float>(ends.bounds.high)},
      r.Output(0, type, out), out);
}

}  // namespace

void Register_quantized_elementwise(OperatorTable& table) {
  table.Add({.op_type = kit::fuse::kQLinearElementwise,
             .domain = kit::fuse::kDomain,
             .types = kDeviceBytes,
             .check = CheckQuantized,
             .record = RecordQuantized});
}

}  // namespace epiphyte::vulkan
