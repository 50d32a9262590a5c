// MeanVarianceNormalization and LpNormalization: statistics over any axes, with no parameters to learn.
#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/vulkan/ops/nn/normalize.h"
#include "plugins/vulkan/ops/reduce/reduction.h"

namespace epiphyte::vulkan {
namespace {

std::vector<bool> Not(std::vector<bool> mask) {
  mask.flip();
  return mask;
}

void RecordMeanVariance(Recording& r) {
  const Dims x = r.InputDims(0);
  std::vector<int64_t> axes = r.node().Ints("axes");
  if (axes.empty()) axes = {0, 2, 3};
  const std::vector<bool> reduced = kit::AxesMask(axes, x.size());
  const Dims statistics = kit::ReducedDims(x, reduced, true);
  const int32_t y = r.Output(0, r.InputType(0), x);
  const int32_t from = r.InputTensor(0);
  const int32_t mean = r.Scratch(EP_TYPE_FLOAT, statistics);
  const int32_t deviation = r.Scratch(EP_TYPE_FLOAT, statistics);
  AddReduction(r, {.finish = Reduction::Finish::kMean}, from, x, reduced, mean);
  AddReduction(r, {.load = Reduction::Load::kSquareShifted, .finish = Reduction::Finish::kRootMean}, from, x, reduced,
               deviation, mean);
  AddNormalize(r, NormalizeForm::kCentred, {.epsilon = 1e-9f, .parameters = {}},
               {.x = from, .a = mean, .b = deviation, .y = y}, x, Not(reduced));
}

void RecordLp(Recording& r) {
  const ir::Node& node = r.node();
  const Dims x = r.InputDims(0);
  const int64_t p = node.Int("p", 2);
  if (p != 1 && p != 2) kit::FailArgument("p is ", p, ", expected 1 or 2");
  std::vector<bool> reduced(x.size(), false);
  reduced[kit::NormalizeAxis(node.Int("axis", -1), x.size())] = true;
  const int32_t y = r.Output(0, r.InputType(0), x);
  const int32_t from = r.InputTensor(0);
  const int32_t norms = r.Scratch(EP_TYPE_FLOAT, kit::ReducedDims(x, reduced, true));
  const Reduction first = {.load = Reduction::Load::kMagnitude};
  const Reduction second = {.load = Reduction::Load::kSquare, .finish = Reduction::Finish::kRoot};
  AddReduction(r, p == 1 ? first : second, from, x, reduced, norms);
  AddNormalize(r, NormalizeForm::kDivide, {}, {.x = from, .a = norms, .y = y}, x, Not(reduced));
}

}  // namespace

void Register_statistic_normalization(OperatorTable& table) {
  table.Add({.op_type = "MeanVarianceNormalization",
             .types = kDeviceFloats,
             .record = RecordMeanVariance,
             .bindings = kNormalizeBindings});
  table.Add({.op_type = "LpNormalization", .types = kDeviceFloats, .record = RecordLp, .bindings = kNormalizeBindings});
}

}  // namespace epiphyte::vulkan
