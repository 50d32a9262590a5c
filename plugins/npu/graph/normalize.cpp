// Softmax and LayerNormalization.
#include <cstring>

#include "epiphyte/kit/graph/elements.hpp"
#include "epiphyte/kit/memory/heap.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/npu/graph/lower.h"
#include "plugins/npu/graph/rows.h"

namespace epiphyte::npu {
namespace {

// A constant as floats; it is dequantised if it is quantised.
uint32_t Floats(Lowering& to, const Operand& operand) {
  const ir::Value& value = to.editor().info(operand.value);
  const ir::Tensor* elements = ir::ElementsOf(to.editor().graph(), operand.value);
  if (elements == nullptr) Refuse("its parameter '", value.name, "' isn't a constant");
  const auto count = static_cast<size_t>(elements->Count());
  const std::shared_ptr<void> owner = kit::AllocateShared(count * sizeof(float));
  auto* const floats = static_cast<float*>(owner.get());
  for (size_t i = 0; i < count; ++i) {
    double number = 0;
    if (!ir::NumberAt(*elements, i, &number)) Refuse("its parameter '", value.name, "' isn't of numbers");
    if (operand.quantization) {
      const qdq::Quantization& q = *operand.quantization;
      if (q.block != 0 || (q.Count() != 1 && q.Count() != count)) Refuse("its parameter '", value.name, "' has blocks");
      const size_t scale = q.Count() == 1 ? 0 : i;
      number = (number - static_cast<double>(q.ZeroPoint(scale))) * q.Scale(scale);
    }
    floats[i] = static_cast<float>(number);
  }
  return to.Constant(value.name, EP_TYPE_FLOAT, value.dims, {}, owner.get(), count * sizeof(float), owner);
}

}  // namespace

void LowerSoftmax(Lowering& to, const QuantizedOp& work) {
  const ir::Node& node = to.NodeOf(work);
  const kit::Dims x = to.DimsOf(work.inputs[0]);
  const bool coerces = work.version < 13;  // the operator treats all dimensions from the axis on as one
  const size_t axis = kit::NormalizeAxis(node.Int("axis", coerces ? 1 : -1), x.size());
  if (coerces && x.Count(axis + 1, x.size()) != 1)
    Refuse("it is over several axes, as versions before 13 have it; the NPU's interface has one");
  to.EmitLast(work, NSDK_SOFTMAX, {to.Stored(work.inputs[0])}).Ints(NSDK_AXIS, {static_cast<int64_t>(axis)});
}

void LowerLayerNormalization(Lowering& to, const QuantizedOp& work) {
  const ir::Node& node = to.NodeOf(work);
  for (size_t i = 1; i < work.outputs.size(); ++i)
    if (work.outputs[i].value >= 0) Refuse("it gives its mean or deviation, too, which the NPU's interface hasn't");
  const kit::Dims x = to.DimsOf(work.inputs[0]);
  const size_t axis = kit::NormalizeAxis(node.Int("axis", -1), x.size());
  std::vector<uint32_t> inputs = {to.Stored(work.inputs[0]), Floats(to, work.inputs.at(1))};
  if (to.Has(work, 2)) inputs.push_back(Floats(to, work.inputs[2]));
  to.EmitLast(work, NSDK_LAYER_NORM, std::move(inputs))
      .Ints(NSDK_AXIS, {static_cast<int64_t>(axis)})
      .Floats(NSDK_EPSILON, {node.Float("epsilon", 1e-5f)});
}

}  // namespace epiphyte::npu
