// ReverseSequence. The device reads the lengths. A length beyond its sequence counts as the whole sequence, a negative
// one as 0. (The CPU plugin reports errors instead.)
#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {
namespace {

void RecordReverseSequence(Recording& r) {
  const Dims x = r.InputDims(0);
  const size_t batch = kit::NormalizeAxis(r.node().Int("batch_axis", 1), x.size(), "batch_axis");
  const size_t time = kit::NormalizeAxis(r.node().Int("time_axis", 0), x.size(), "time_axis");
  if (batch + time != 1)
    kit::FailArgument("batch_axis ", batch, " and time_axis ", time, " found, 0 and 1 in either order expected");
  const Dims lengths = r.InputDims(1);
  if (lengths.size() != 1 || lengths[0] != x[batch])
    kit::FailArgument("sequence_lens of shape ", kit::ShapeText(lengths), " found, ", x[batch], " numbers expected");
  if (const HostTensor* known = r.Host(1))
    for (int64_t length : known->ints)
      if (length < 0 || length > x[time])
        kit::FailArgument("a length of ", length, " found, a value in [0, ", x[time], "] expected");
  const int32_t y = r.Output(0, r.InputType(0), x);
  if (x.Count() == 0) return;
  r.Add(
      {.shader = Recording::MoverFor("reverse_sequence", r.InputType(0)),
       .specialization = {},
       .parameters = {Word(x.Count()), Word(x.Count(2, x.size())), Word(x[batch]), Word(x[time]), batch == 0 ? 1u : 0u},
       .bindings = {r.Read(0), r.Read(1), Recording::Write(y)},
       .groups = r.GroupsFor(x.Count()),
       .node = -1,
       .work = 0});
}

}  // namespace

void Register_reverse_sequence(OperatorTable& table) {
  table.Add({.op_type = "ReverseSequence", .types = kMovableTypes, .record = RecordReverseSequence});
}

}  // namespace epiphyte::vulkan
