// The operator Where: selects from two tensors, element by element.
#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/broadcast.hpp"
#include "plugins/vulkan/ops/math/host_math.h"
#include "plugins/vulkan/ops/math/map.h"

namespace epiphyte::vulkan {
namespace {

std::string CheckWhere(const NodeCheck& check) {
  const EpElementType type = check.InputType(1);
  return kit::Contains(kMovableTypes, type) ? "" : "elements of type " + kit::TypeName(type) + " are not moved";
}

void RecordWhere(Recording& r) {
  MapOperand operands[3];
  std::vector<const Dims*> shapes;
  for (size_t i = 0; i < 3; ++i) {
    operands[i] = {r.InputTensor(i), r.InputDims(i)};
    shapes.push_back(&operands[i].dims);
  }
  const EpElementType type = r.InputType(1);
  const Dims out = kit::BroadcastShape(shapes);
  const bool fours = kit::ElementBytes(type, 1) < 8;
  AddMap(
      r,
      {.name = Recording::MoverFor("where", type), .slots = 3, .fours = fours, .parameters = {}, .specialization = {}},
      operands, r.Output(0, type, out), out);
}

}  // namespace

void Register_where(OperatorTable& table) {
  table.Add({.op_type = "Where",
             .types = kit::Types(EP_TYPE_BOOL),
             .check = CheckWhere,
             .record = RecordWhere,
             .on_host = WhereOnHost,
             .bindings = 4});
}

}  // namespace epiphyte::vulkan
