// ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL1, ReduceL2, ReduceLogSum, ReduceLogSumExp and
// ReduceSumSquare, of all versions: the axes are an attribute in old ones and an input in new ones.
#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/vulkan/ops/host/host_reduce.h"
#include "plugins/vulkan/ops/reduce/reduction.h"

namespace epiphyte::vulkan {
namespace {

using Combine = Reduction::Combine;
using Load = Reduction::Load;
using Finish = Reduction::Finish;

// Reads which dimensions are reduced. Returns false if none is, so that the input is the result.
bool ReadAxes(Recording& r, std::vector<bool>* reduced) {
  const ir::Node& node = r.node();
  const size_t rank = r.InputDims(0).size();
  const std::vector<int64_t> attribute = node.Ints("axes");
  Dims axes{std::span<const int64_t>(attribute)};
  if (r.HasInput(1)) axes = HostDims(r.RequireHost(1), "axes");
  if (axes.empty() && node.Int("noop_with_empty_axes", 0) != 0) return false;
  *reduced = axes.empty() ? std::vector<bool>(rank, true) : kit::AxesMask(axes, rank);
  return true;
}

template <Combine kCombine, Load kLoad, Finish kFinish>
void RecordReduce(Recording& r) {
  const Dims x = r.InputDims(0);
  std::vector<bool> reduced;
  if (!ReadAxes(r, &reduced)) return r.OutputAs(0, 0, x);
  const bool keep = kit::CheckedKeepDims(r.node().Int("keepdims", 1));
  const int32_t y = r.Output(0, r.InputType(0), kit::ReducedDims(x, reduced, keep));
  AddReduction(r, {kCombine, kLoad, kFinish}, r.InputTensor(0), x, reduced, y);
}

// ReduceLogSumExp, with the maximum as shift, so that nothing overflows.
void RecordLogSumExp(Recording& r) {
  const Dims x = r.InputDims(0);
  std::vector<bool> reduced;
  if (!ReadAxes(r, &reduced)) return r.OutputAs(0, 0, x);
  const bool keep = kit::CheckedKeepDims(r.node().Int("keepdims", 1));
  const Dims dims = kit::ReducedDims(x, reduced, keep);
  const int32_t y = r.Output(0, r.InputType(0), dims);
  const int32_t shift = r.Scratch(EP_TYPE_FLOAT, dims);
  AddReduction(r, {.combine = Combine::kMaximum, .finish = Finish::kFinite}, r.InputTensor(0), x, reduced, shift);
  AddReduction(r, {.load = Load::kExpShifted, .finish = Finish::kLogShifted}, r.InputTensor(0), x, reduced, y, shift);
}

}  // namespace

void Register_reduce(OperatorTable& table) {
  constexpr kit::TypeSet kNumbers = kDeviceFloats | kit::Types(EP_TYPE_INT32, EP_TYPE_INT64, EP_TYPE_UINT32);
  constexpr kit::TypeSet kOrdered = kNumbers | kit::Types(EP_TYPE_INT8, EP_TYPE_UINT8, EP_TYPE_BOOL);
  const auto add = [&](std::string_view op_type, kit::TypeSet types, void (*record)(Recording&), auto* on_host) {
    table.Add({.op_type = op_type, .types = types, .record = record, .host_inputs = 1u << 1, .on_host = on_host});
  };
  using OnHost = std::vector<HostTensor> (*)(const ir::Node&, HostInputs);
  constexpr OnHost kNever = nullptr;
  add("ReduceSum", kNumbers, RecordReduce<Combine::kSum, Load::kPlain, Finish::kNothing>, ReduceOnHost);
  add("ReduceProd", kNumbers, RecordReduce<Combine::kProduct, Load::kPlain, Finish::kNothing>, ReduceOnHost);
  add("ReduceMax", kOrdered, RecordReduce<Combine::kMaximum, Load::kPlain, Finish::kNothing>, ReduceOnHost);
  add("ReduceMin", kOrdered, RecordReduce<Combine::kMinimum, Load::kPlain, Finish::kNothing>, ReduceOnHost);
  add("ReduceL1", kNumbers, RecordReduce<Combine::kSum, Load::kMagnitude, Finish::kNothing>, kNever);
  add("ReduceSumSquare", kNumbers, RecordReduce<Combine::kSum, Load::kSquare, Finish::kNothing>, kNever);
  add("ReduceMean", kDeviceFloats, RecordReduce<Combine::kSum, Load::kPlain, Finish::kMean>, kNever);
  add("ReduceL2", kDeviceFloats, RecordReduce<Combine::kSum, Load::kSquare, Finish::kRoot>, kNever);
  add("ReduceLogSum", kDeviceFloats, RecordReduce<Combine::kSum, Load::kPlain, Finish::kLog>, kNever);
  add("ReduceLogSumExp", kDeviceFloats, RecordLogSumExp, kNever);
}

}  // namespace epiphyte::vulkan
