// Element-wise operators: by their own NSDK operators, or by a table of all results.
#include "epiphyte/kit/shape/broadcast.hpp"
#include "plugins/npu/graph/functions.h"
#include "plugins/npu/graph/lower.h"
#include "plugins/npu/graph/rows.h"

namespace epiphyte::npu {
namespace {

NsdkOpKind KindOf(std::string_view op) {
  if (op == "Sub") return NSDK_SUB;
  if (op == "Mul") return NSDK_MUL;
  if (op == "Max") return NSDK_MAXIMUM;
  return op == "Min" ? NSDK_MINIMUM : NSDK_ADD;
}

// Emits a lookup table, for a result with the size of the operand.
void EmitLookup(Lowering& to, const QuantizedOp& work, size_t operand, const Function& function, qdq::Clamp range) {
  const Operand& x = work.inputs[operand];
  const Operand& y = work.outputs[0];
  if (!x.quantization || qdq::BitsOf(x.quantization->type) != 8 || qdq::BitsOf(y.quantization->type) != 8 ||
      !x.quantization->IsPerTensor())
    Refuse("a table of its results needs numbers of 8 bits with one scale");
  if (!(to.DimsOf(x) == to.DimsOf(y)))
    Refuse("its constant has more dimensions than what it is computed with, which a table of its results can't add");
  // The table applies the unit's clamp.
  const auto table = MakeTable(function, *x.quantization, *y.quantization, range.low, range.high);
  const uint32_t input = to.Stored(x);
  to.EmitTable(work, table, y, input, to.Stored(y));
}

// Requantises the input, clamped to the range.
void Requantise(Lowering& to, const QuantizedOp& work, qdq::Clamp range) {
  const Operand &x = work.inputs[0], &y = work.outputs[0];
  if (!to.target().Has(NSDK_RESCALE))
    return EmitLookup(
        to, work, 0, [](double number) { return number; }, range);
  const uint32_t input = to.Stored(x);
  to.EmitRequantisation(work, x, y, range, input, to.Stored(y));
}

}  // namespace

void LowerLookup(Lowering& to, const QuantizedOp& work) {
  size_t operand = 0;
  const Function function = FunctionOf(to, work, &operand);
  EmitLookup(to, work, operand, function, RangeOf(work));
}

void LowerBinary(Lowering& to, const QuantizedOp& work) {
  if (work.inputs.size() == 1) return LowerRescale(to, work);
  if (work.inputs.size() != 2) Refuse("it has ", work.inputs.size(), " inputs; two expected");
  const NsdkOpKind kind = KindOf(work.op);
  if (!to.target().Has(kind)) return LowerLookup(to, work);
  to.EmitLast(work, kind, {to.Stored(work.inputs[0]), to.Stored(work.inputs[1])});
}

// Combines the inputs in pairs. Intermediate results are quantised as the final result, because everything is
// requantised to it in the end.
void LowerMaxMin(Lowering& to, const QuantizedOp& work) {
  const NsdkOpKind kind = KindOf(work.op);
  const size_t count = work.inputs.size();
  if (count == 1) return LowerRescale(to, work);
  if (count == 2 && !to.target().Has(kind)) return LowerLookup(to, work);
  uint32_t so_far = to.Stored(work.inputs[0]);
  kit::Dims dims = to.DimsOf(work.inputs[0]);
  for (size_t i = 1; i + 1 < count; ++i) {
    dims = kit::BroadcastShape(dims, to.DimsOf(work.inputs[i]));
    const uint32_t made = to.Temporary(work.outputs[0], {dims.data(), dims.size()});
    to.Emit(work, kind, {so_far, to.Stored(work.inputs[i])}, made);
    so_far = made;
  }
  to.EmitLast(work, kind, {so_far, to.Stored(work.inputs[count - 1])});
}

// Relu and Clip as separate operators: they only clamp.
void LowerClamp(Lowering& to, const QuantizedOp& work) {
  std::string why;
  std::vector<int32_t> unused;
  const qdq::Quantization& y = *work.outputs[0].quantization;
  const std::optional<qdq::Clamp> own = qdq::ReadClamp(to.editor(), to.NodeOf(work), y, &unused, &why);
  if (!own) Refuse(why);
  const qdq::Clamp all = RangeOf(work);
  // One range may be outside the other. The later one then wins, as in the model.
  const qdq::Clamp range = {std::clamp(own->low, all.low, all.high), std::clamp(own->high, all.low, all.high)};
  Requantise(to, work, range);
}

void LowerRescale(Lowering& to, const QuantizedOp& work) { Requantise(to, work, RangeOf(work)); }

}  // namespace epiphyte::npu
