// Pools and means.
#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/pool.hpp"
#include "plugins/npu/graph/lower.h"
#include "plugins/npu/graph/rows.h"

namespace epiphyte::npu {
namespace {

std::vector<int64_t> ListOf(const kit::Dims& dims) { return {dims.begin(), dims.end()}; }
std::span<const int64_t> SpanOf(const kit::Dims& dims) { return {dims.data(), dims.size()}; }

bool AllAre(const std::vector<int64_t>& list, int64_t number) {
  return std::ranges::all_of(list, [number](int64_t each) { return each == number; });
}

void LowerPool(Lowering& to, const QuantizedOp& work, NsdkOpKind kind, bool global) {
  const ir::Node& node = to.NodeOf(work);
  if (work.outputs.size() > 1 && work.outputs[1].value >= 0)
    Refuse("it gives indices, which the NPU's interface hasn't");
  if (node.Int("channels_last", 0) != 0) Refuse("its channels come last");
  const kit::Dims x = to.DimsOf(work.inputs[0]);
  const auto attributes = kit::PoolAttributes::Read(node, global);
  const kit::Window window = attributes.Resolve(x);
  std::vector<int64_t> pads = ListOf(window.pads_begin);
  for (size_t d = 0; d < window.kernel.size(); ++d) {
    const int64_t read = window.PadsEndRead(d, x[d + 2]);
    if (attributes.include_pad && read > window.pads_end[d])
      Refuse("its averages count padding that it has only by ceil_mode, which the NPU's interface hasn't");
    pads.push_back(std::max(read, window.pads_end[d]));
  }
  // MaxPool only selects elements. So a table that requantises comes after it, where the tensor is smaller.
  const Operand &from = work.inputs[0], &y = work.outputs[0];
  const bool has_table = kind == NSDK_MAX_POOL && to.NeedsTable(from, y);
  const uint32_t input = to.Stored(from);
  const uint32_t pooled = has_table ? to.Temporary(from, SpanOf(to.DimsOf(y))) : NSDK_NONE;
  FlatGraph::Op& op = has_table ? to.Emit(work, kind, {input}, pooled) : to.EmitLast(work, kind, {input});
  op.Ints(NSDK_KERNEL, ListOf(window.kernel));
  if (const std::vector<int64_t> strides = ListOf(window.strides); !AllAre(strides, 1)) op.Ints(NSDK_STRIDES, strides);
  if (const std::vector<int64_t> dilations = ListOf(window.dilations); !AllAre(dilations, 1))
    op.Ints(NSDK_DILATIONS, dilations);
  if (!AllAre(pads, 0)) {
    op.Ints(NSDK_PADS, std::move(pads));
    if (attributes.include_pad && kind == NSDK_AVERAGE_POOL) op.Ints(NSDK_COUNT_PADS, {1});
  }
  if (has_table) to.EmitRequantisation(work, from, y, RangeOf(work), pooled, to.Stored(y));
}

}  // namespace

void LowerMaxPool(Lowering& to, const QuantizedOp& work) { LowerPool(to, work, NSDK_MAX_POOL, false); }
void LowerAveragePool(Lowering& to, const QuantizedOp& work) { LowerPool(to, work, NSDK_AVERAGE_POOL, false); }
void LowerGlobalMaxPool(Lowering& to, const QuantizedOp& work) { LowerPool(to, work, NSDK_MAX_POOL, true); }

void LowerGlobalAveragePool(Lowering& to, const QuantizedOp& work) {
  if (!to.target().Has(NSDK_REDUCE_MEAN)) return LowerPool(to, work, NSDK_AVERAGE_POOL, true);
  std::vector<int64_t> axes;
  for (size_t d = 2; d < to.DimsOf(work.inputs[0]).size(); ++d) axes.push_back(static_cast<int64_t>(d));
  if (to.NodeOf(work).Int("channels_last", 0) != 0) Refuse("its channels come last");
  to.EmitLast(work, NSDK_REDUCE_MEAN, {to.Stored(work.inputs[0])}).Ints(NSDK_AXES, std::move(axes));
}

void LowerReduceMean(Lowering& to, const QuantizedOp& work) {
  const ir::Node& node = to.NodeOf(work);
  const kit::Dims x = to.DimsOf(work.inputs[0]);
  std::vector<int64_t> given = to.Has(work, 1) ? to.Ints(work, 1) : node.Ints("axes");
  if (given.empty() && node.Int("noop_with_empty_axes", 0) != 0) return LowerRescale(to, work);
  std::vector<int64_t> axes = ListOf(kit::NormalizeAxes(given, x.size()));
  if (given.empty())
    for (size_t d = 0; d < x.size(); ++d) axes.push_back(static_cast<int64_t>(d));
  std::ranges::sort(axes);
  const uint32_t input = to.Stored(work.inputs[0]);
  // A mean over a whole plane is emitted as a pool, which every NPU has.
  if (!to.target().Has(NSDK_REDUCE_MEAN) && x.size() == 4 && axes == std::vector<int64_t>{2, 3} &&
      to.DimsOf(work.outputs[0]).size() == 4) {
    to.EmitLast(work, NSDK_AVERAGE_POOL, {input}).Ints(NSDK_KERNEL, {x[2], x[3]});
    return;
  }
  to.EmitLast(work, NSDK_REDUCE_MEAN, {input}).Ints(NSDK_AXES, std::move(axes));
}

}  // namespace epiphyte::npu
