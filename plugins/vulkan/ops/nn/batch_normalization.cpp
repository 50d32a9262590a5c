// BatchNormalization with given statistics. This provider doesn't run training mode, which computes statistics.
#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {
namespace {

std::string CheckBatch(const NodeCheck& check) {
  const ir::Node& node = check.node();
  if (node.since_version >= 14 && node.Int("training_mode", 0) != 0) return "training_mode is set";
  for (size_t i = 1; i < node.outputs.size(); ++i)
    if (check.HasOutput(i)) return kit::TextOf("output ", i, " is of training");
  for (size_t i = 1; i < 5; ++i)
    if (check.InputType(i) != check.InputType(0))
      return kit::TextOf("input ", i, " is of ", kit::TypeName(check.InputType(i)), ", the first of ",
                         kit::TypeName(check.InputType(0)), "; equal types expected");
  return "";
}

void RecordBatch(Recording& r) {
  const ir::Node& node = r.node();
  const Dims x = r.InputDims(0);
  if (x.empty()) kit::FailArgument("a scalar found; an input of at least one dimension expected");
  // An input of one dimension has a batch and a single channel.
  const bool has_channels = x.size() > 1;
  // Without "spatial" every position of a channel has its own statistics.
  const bool spatial = node.Int("spatial", 1) != 0;
  const int64_t channels = !has_channels ? 1 : spatial ? x[1] : x.Count(1, x.size());
  const int64_t plane = spatial && has_channels ? x.Count(2, x.size()) : 1;
  for (size_t i = 1; i < 5; ++i)
    if (r.InputDims(i).Count() != channels)
      kit::FailArgument("input ", i, " has ", r.InputDims(i).Count(), " elements; ", channels, " expected");
  const EpElementType type = r.InputType(0);
  const int32_t y = r.Output(0, type, x);
  const int64_t pieces = (plane + 15) / 16;
  r.Add({.shader = Recording::ShaderFor("batch_norm", type),
         .parameters = {Word(x[0] * channels), Word(channels), Word(plane), Word(node.Float("epsilon", 1e-5f))},
         .bindings = {r.Read(0), r.Read(1), r.Read(2), r.Read(3), r.Read(4), Recording::Write(y)},
         .groups = r.GroupsFor(x[0] * channels * pieces),
         .work = static_cast<uint64_t>(x.Count())});
}

}  // namespace

void Register_batch_normalization(OperatorTable& table) {
  table.Add({.op_type = "BatchNormalization",
             .types = kDeviceFloats,
             .check = CheckBatch,
             .record = RecordBatch,
             .bindings = 6});
}

}  // namespace epiphyte::vulkan
