// Dropout that drops nothing, as in inference: the result is the input, and the mask is all ones.
#include "epiphyte/kit/graph/elements.hpp"
#include "plugins/vulkan/ops/math/map.h"

namespace epiphyte::vulkan {
namespace {

// Whether a constant is false. (ir::NumberAt doesn't read booleans.)
bool IsFalse(const ir::Tensor* constant) {
  return constant != nullptr && constant->type == EP_TYPE_BOOL && constant->Count() == 1 &&
         *static_cast<const uint8_t*>(constant->data) == 0;
}
bool IsZero(const ir::Tensor* constant) {
  double number = 1;
  return constant != nullptr && constant->Count() == 1 && ir::NumberAt(*constant, 0, &number) && number == 0;
}

std::string CheckDropout(const NodeCheck& check) {
  const ir::Node& node = check.node();
  if (node.since_version < 7 && node.Int("is_test", 0) == 0 && node.Float("ratio", 0.5f) != 0)
    return "attribute is_test is 0: the node drops elements at random";
  if (node.since_version < 12 || !check.HasInput(2) || IsFalse(check.Constant(2))) return {};
  if (check.HasInput(1) && IsZero(check.Constant(1))) return {};
  return "input 2 ('training_mode') is not a constant false: the node may drop elements at random";
}

void RecordDropout(Recording& r) {
  const Dims dims = r.InputDims(0);
  r.OutputAs(0, 0, dims);
  if (!r.HasOutput(1)) return;
  // The mask had the type of the data until opset 10.
  const EpElementType type = r.node().since_version < 10 ? r.InputType(0) : EP_TYPE_BOOL;
  HostTensor one = {.type = type, .dims = {}, .ints = {}, .floats = {}};
  (one.IsFloat() ? one.floats.assign(1, 1.0) : one.ints.assign(1, 1));
  const MapOperand operand = {r.Literal(type, {}, BytesOf(one).data()), {}};
  AddElementwise(r, type, {MapOp::kAbs}, {&operand, 1}, r.Output(1, type, dims), dims);
}

}  // namespace

void Register_dropout(OperatorTable& table) {
  table.Add({.op_type = "Dropout", .check = CheckDropout, .record = RecordDropout});
}

}  // namespace epiphyte::vulkan
