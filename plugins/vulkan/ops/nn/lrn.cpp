// LRN: each element is divided by a power of the sum of squares of its neighbours in other channels.
#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {
namespace {

void RecordLrn(Recording& r) {
  const ir::Node& node = r.node();
  const Dims x = r.InputDims(0);
  if (x.size() < 2) kit::FailArgument("input of rank ", x.size(), "; at least 2 expected");
  const int64_t size = node.Int("size", 0);
  if (size < 1) kit::FailArgument("size is ", size, "; at least 1 expected");
  const EpElementType type = r.InputType(0);
  const int32_t y = r.Output(0, type, x);
  const int64_t before = std::min((size - 1) / 2, x[1]);
  const int64_t behind = std::min(size / 2, x[1]);
  r.Add({.shader = Recording::ShaderFor("lrn", type),
         .parameters = {Word(x.Count()), Word(x[1]), Word(x.Count(2, x.size())), Word(before), Word(behind),
                        Word(node.Float("alpha", 1e-4f) / static_cast<float>(size)), Word(node.Float("beta", 0.75f)),
                        Word(node.Float("bias", 1))},
         .bindings = {r.Read(0), Recording::Write(y)},
         .groups = r.GroupsFor(x.Count()),
         .work = static_cast<uint64_t>(x.Count()) * static_cast<uint64_t>(before + behind + 1)});
}

}  // namespace

void Register_lrn(OperatorTable& table) { table.Add({.op_type = "LRN", .types = kDeviceFloats, .record = RecordLrn}); }

}  // namespace epiphyte::vulkan
