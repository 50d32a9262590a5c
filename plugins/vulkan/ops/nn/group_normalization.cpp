// GroupNormalization and InstanceNormalization: the channels of each image are normalised in groups. With
// InstanceNormalization each channel is a group.
#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/ops/nn/row_norm.h"

namespace epiphyte::vulkan {
namespace {

void RecordGroups(Recording& r) {
  const ir::Node& node = r.node();
  const Dims x = r.InputDims(0);
  if (x.size() < 2) kit::FailArgument("input has shape ", kit::ShapeText(x), ", expected [batch,channels,...]");
  const bool instance = node.Is("InstanceNormalization");
  const int64_t channels = x[1];
  const int64_t groups = instance ? channels : node.Int("num_groups", 0);
  if (x.Count() != 0 && (groups <= 0 || channels % groups != 0))
    kit::FailArgument(channels, " channels can't be divided into ", groups, " groups");
  // GroupNormalization-18 had one scale and bias for each group.
  const bool per_group = !instance && node.since_version < 21;
  const int64_t parameters = per_group ? groups : channels;
  for (size_t i = 1; i < 3; ++i)
    if (r.InputDims(i).Count() != parameters)
      kit::FailArgument("input ", i, " has shape ", kit::ShapeText(r.InputDims(i)), ", ", parameters,
                        " elements expected");
  const int32_t y = r.Output(0, r.InputType(0), x);
  if (x.Count() == 0) return;

  const int64_t plane = x.Count(2, x.size());
  RowNorm norm;
  norm.rows = x[0] * groups;
  norm.size = channels / groups * plane;
  norm.epsilon = node.Float("epsilon", 1e-5f);
  norm.parameters.row_period = groups;
  norm.parameters.row_parameters = per_group ? 1 : channels / groups;
  norm.parameters.repeated = per_group ? norm.size : plane;
  norm.parameters.period = per_group ? 1 : channels / groups;
  AddRowNorm(r, norm, {.x = r.InputTensor(0), .scale = r.InputTensor(1), .bias = r.InputTensor(2), .y = y});
}

}  // namespace

void Register_group_normalization(OperatorTable& table) {
  table.Add({.op_type = "GroupNormalization",
             .first_version = 18,
             .types = kDeviceFloats,
             .record = RecordGroups,
             .bindings = kRowNormBindings});
  table.Add({.op_type = "InstanceNormalization",
             .types = kDeviceFloats,
             .record = RecordGroups,
             .bindings = kRowNormBindings});
}

}  // namespace epiphyte::vulkan
