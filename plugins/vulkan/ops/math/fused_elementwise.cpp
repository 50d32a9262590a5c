// epiphyte.kit.Elementwise: a tree of element-wise operators in one dispatch. Specialization constants hold the tree's
// code, so intermediate results stay in registers.
#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/shape/broadcast.hpp"
#include "plugins/vulkan/ops/math/map.h"

namespace epiphyte::vulkan {
namespace {

std::string CheckFused(const NodeCheck& check) {
  try {
    kit::fuse::ReadElementwiseProgram(check.node());
  } catch (const kit::Error& error) {
    return error.what();
  }
  return {};
}

void RecordFused(Recording& r) {
  const kit::fuse::ElementwiseProgram program = kit::fuse::ReadElementwiseProgram(r.node());
  std::vector<MapOperand> operands;
  for (size_t i = 0; i < r.input_count(); ++i) operands.push_back({r.InputTensor(i), r.InputDims(i)});
  std::vector<const Dims*> shapes;
  for (const MapOperand& operand : operands) shapes.push_back(&operand.dims);
  const EpElementType type = r.InputType(0);
  const Dims out = kit::BroadcastShape(shapes);
  AddProgram(r, type, program, operands, r.Output(0, type, out), out);
}

}  // namespace

void Register_fused_elementwise(OperatorTable& table) {
  table.Add(
      {.op_type = kit::fuse::kElementwise, .domain = kit::fuse::kDomain, .check = CheckFused, .record = RecordFused});
}

}  // namespace epiphyte::vulkan
