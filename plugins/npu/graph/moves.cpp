// Operators that move elements. If they also requantise or clamp, the last emitted operator does that.
#include <algorithm>
#include <cmath>

#include "epiphyte/kit/graph/elements.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/depth_space.hpp"
#include "epiphyte/kit/shape/join.hpp"
#include "epiphyte/kit/shape/pad.hpp"
#include "epiphyte/kit/shape/slice.hpp"
#include "plugins/npu/graph/lower.h"
#include "plugins/npu/graph/rows.h"

namespace epiphyte::npu {
namespace {

std::vector<int64_t> ListOf(const kit::Dims& dims) { return {dims.begin(), dims.end()}; }
std::span<const int64_t> SpanOf(const kit::Dims& dims) { return {dims.data(), dims.size()}; }

void EmitSlice(Lowering& to, const QuantizedOp& work, const Operand& y, std::vector<int64_t> starts,
               std::vector<int64_t> steps) {
  const Operand& x = work.inputs[0];
  // The result is not larger than x, so the table comes after the slice.
  const bool has_table = to.NeedsTable(x, y);
  const uint32_t input = to.Stored(x);
  const uint32_t sliced = has_table ? to.Temporary(x, SpanOf(to.DimsOf(y))) : to.Stored(y);
  FlatGraph::Op& op = to.Emit(work, NSDK_SLICE, {input}, sliced);
  op.Ints(NSDK_STARTS, std::move(starts));
  if (std::ranges::any_of(steps, [](int64_t step) { return step != 1; })) op.Ints(NSDK_STEPS, std::move(steps));
  if (has_table) to.EmitRequantisation(work, x, y, RangeOf(y.quantization->type), sliced, to.Stored(y));
}

}  // namespace

void LowerConcat(Lowering& to, const QuantizedOp& work) {
  const size_t axis = kit::NormalizeAxis(to.NodeOf(work).Int("axis", 1), to.DimsOf(work.outputs[0]).size());
  std::vector<uint32_t> inputs;
  for (const Operand& input : work.inputs) inputs.push_back(to.MovedAs(work, input, work.outputs[0]));
  to.EmitLast(work, NSDK_CONCAT, std::move(inputs)).Ints(NSDK_AXIS, {static_cast<int64_t>(axis)});
}

void LowerSplit(Lowering& to, const QuantizedOp& work) {
  const kit::Dims x = to.DimsOf(work.inputs[0]);
  const size_t axis = kit::NormalizeAxis(to.NodeOf(work).Int("axis", 0), x.size());
  int64_t at = 0;
  for (const Operand& y : work.outputs) {
    if (y.value < 0) Refuse("an output of it is left out");
    const kit::Dims dims = to.DimsOf(y);
    if (dims.size() != x.size() || at + dims[axis] > x[axis]) Refuse("its outputs are more than its input");
    std::vector<int64_t> starts(x.size(), 0);
    starts[axis] = at;
    at += dims[axis];
    EmitSlice(to, work, y, std::move(starts), {});
  }
}

void LowerSlice(Lowering& to, const QuantizedOp& work) {
  const ir::Node& node = to.NodeOf(work);
  const kit::Dims x = to.DimsOf(work.inputs[0]);
  const bool has_inputs = work.version >= 10;
  const std::vector<int64_t> starts = has_inputs ? to.Ints(work, 1) : node.Ints("starts");
  const std::vector<int64_t> ends = has_inputs ? to.Ints(work, 2) : node.Ints("ends");
  std::optional<kit::Dims> axes, steps;
  if (has_inputs && to.Has(work, 3)) axes.emplace(std::span<const int64_t>(to.Ints(work, 3)));
  if (!has_inputs && node.Has("axes")) axes.emplace(std::span<const int64_t>(node.Ints("axes")));
  if (has_inputs && to.Has(work, 4)) steps.emplace(std::span<const int64_t>(to.Ints(work, 4)));
  const kit::SliceShape slice(x, starts, ends, axes ? &*axes : nullptr, steps ? &*steps : nullptr);
  std::vector<int64_t> first, step;
  for (const kit::SliceRange& range : slice.ranges) {
    first.push_back(range.start);
    step.push_back(range.step);
  }
  EmitSlice(to, work, work.outputs[0], std::move(first), std::move(step));
}

void LowerPad(Lowering& to, const QuantizedOp& work) {
  const ir::Node& node = to.NodeOf(work);
  if (kit::PadModeOf(node.String("mode", "constant")) != kit::PadMode::kConstant)
    Refuse("its mode is ", node.String("mode"), "; the NPU's interface has constant padding");
  const kit::Dims x = to.DimsOf(work.inputs[0]);
  const bool has_inputs = work.version >= 11;
  const std::vector<int64_t> given = has_inputs ? to.Ints(work, 1) : node.Ints("pads");
  const kit::Pads pads =
      has_inputs && to.Has(work, 3) ? kit::Pads(x.size(), given, to.Ints(work, 3)) : kit::Pads(x.size(), given);
  std::vector<int64_t> all = ListOf(pads.before);
  all.insert(all.end(), pads.after.begin(), pads.after.end());
  for (const int64_t pad : all)
    if (pad < 0) Refuse("it cuts off, with a pad of ", pad, "; the NPU's interface has padding only");
  const Operand& y = work.outputs[0];
  const qdq::Quantization& meaning = *y.quantization;
  double value = has_inputs ? 0 : static_cast<double>(node.Float("value", 0));
  if (has_inputs && to.Has(work, 2)) {
    const Operand& number = work.inputs[2];
    const ir::Tensor* elements = ir::ElementsOf(to.editor().graph(), number.value);
    if (elements == nullptr || elements->Count() != 1 || !ir::NumberAt(*elements, 0, &value))
      Refuse("what it pads with isn't a constant number");
    if (number.quantization)
      value = (value - static_cast<double>(number.quantization->ZeroPoint(0))) * number.quantization->Scale(0);
  }
  const float steps = static_cast<float>(value) / static_cast<float>(meaning.Scale(0));
  const double stored =
      std::clamp(std::nearbyint(static_cast<double>(steps)) + static_cast<double>(meaning.ZeroPoint(0)),
                 static_cast<double>(qdq::LowestOf(meaning.type)), static_cast<double>(qdq::HighestOf(meaning.type)));
  // The pad value is quantised as the result, so the input must be too.
  to.EmitLast(work, NSDK_PAD, {to.StoredAs(work, work.inputs[0], y)})
      .Ints(NSDK_PADS, std::move(all))
      .Ints(NSDK_VALUE, {static_cast<int64_t>(stored)});
}

void LowerReshape(Lowering& to, const QuantizedOp& work) {
  if (to.DimsOf(work.inputs[0]).Count() != to.DimsOf(work.outputs[0]).Count())
    Refuse("its result has another number of elements than its input");
  to.EmitLast(work, NSDK_RESHAPE, {to.MovedAs(work, work.inputs[0], work.outputs[0])});
}

void LowerTranspose(Lowering& to, const QuantizedOp& work) {
  const kit::Dims x = to.DimsOf(work.inputs[0]);
  std::vector<int64_t> perm = to.NodeOf(work).Ints("perm");
  if (perm.empty())
    for (size_t i = x.size(); i-- > 0;) perm.push_back(static_cast<int64_t>(i));
  perm = ListOf(kit::NormalizePermutation(perm, SpanOf(x)));
  to.EmitLast(work, NSDK_TRANSPOSE, {to.MovedAs(work, work.inputs[0], work.outputs[0])})
      .Ints(NSDK_PERM, std::move(perm));
}

void LowerDepthSpace(Lowering& to, const QuantizedOp& work) {
  const ir::Node& node = to.NodeOf(work);
  const kit::Dims x = to.DimsOf(work.inputs[0]);
  const int64_t block = kit::CheckedBlockSize(node.Int("blocksize", 0));
  const kit::BlockMove move = work.op == "SpaceToDepth"
                                  ? kit::SpaceToDepthMove(x, block)
                                  : kit::DepthToSpaceMove(x, block, node.String("mode", "DCR") == "DCR");
  kit::Dims moved(move.split.size(), 1);
  for (size_t i = 0; i < move.order.size(); ++i) moved[i] = move.split[static_cast<size_t>(move.order[i])];
  const uint32_t input = to.MovedAs(work, work.inputs[0], work.outputs[0]);
  const Operand& like = to.NeedsTable(work.inputs[0], work.outputs[0]) ? work.outputs[0] : work.inputs[0];
  const uint32_t split = to.Temporary(like, SpanOf(move.split));
  const uint32_t ordered = to.Temporary(like, SpanOf(moved));
  to.Emit(work, NSDK_RESHAPE, {input}, split);
  to.Emit(work, NSDK_TRANSPOSE, {split}, ordered).Ints(NSDK_PERM, ListOf(move.order));
  to.EmitLast(work, NSDK_RESHAPE, {ordered});
}

}  // namespace epiphyte::npu
