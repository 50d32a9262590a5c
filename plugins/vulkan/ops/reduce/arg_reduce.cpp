// ArgMax and ArgMin: where along an axis the extreme element is.
#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {
namespace {

// Invocations that share a line. Several do if lines are few and long.
int64_t PartsFor(int64_t lines, int64_t size) {
  constexpr int64_t kEnough = 4096;
  if (lines >= kEnough) return 1;
  return std::clamp<int64_t>(std::min(kEnough / lines, size / 32), 1, 256);
}

template <bool kLargest>
void RecordArg(Recording& r) {
  const ir::Node& node = r.node();
  const Dims x = r.InputDims(0);
  if (x.empty()) {  // numpy treats a scalar as a vector of one element
    return r.OutputOnHost(0, {.type = EP_TYPE_INT64, .dims = {}, .ints = {0}, .floats = {}});
  }
  const size_t axis = kit::NormalizeAxis(node.Int("axis", 0), x.size());
  const kit::AxisView view(x, axis);
  std::vector<bool> reduced(x.size(), false);
  reduced[axis] = true;
  const int32_t y =
      r.Output(0, EP_TYPE_INT64, kit::ReducedDims(x, reduced, kit::CheckedKeepDims(node.Int("keepdims", 1))));
  const int64_t lines = view.outer * view.inner;
  if (lines == 0) return;
  if (view.size == 0) kit::FailArgument("axis ", axis, " of the input is empty, so it has no extreme");

  const int64_t parts = PartsFor(lines, view.size);
  const auto add = [&](uint32_t pass, int32_t places, int32_t found) {
    r.Add({.shader = Recording::ShaderFor("arg_reduce", r.InputType(0)),
           .specialization = {kLargest ? 1u : 0u, node.Int("select_last_index", 0) != 0 ? 1u : 0u, pass},
           .parameters = {Word(view.outer), Word(view.size), Word(view.inner), Word(parts)},
           .bindings = {r.Read(0), Recording::ReadTensor(places), Recording::Write(y), Recording::Write(found)},
           .groups = r.GroupsFor(pass == 1 ? lines * parts : lines),
           .work = static_cast<uint64_t>(pass == 2 ? lines * parts : x.Count()),
           .passes = static_cast<uint64_t>(pass == 2 ? parts : view.size / parts)});
  };
  if (parts == 1) {
    add(0, r.InputTensor(0), y);
  } else {
    const int32_t places = r.Scratch(EP_TYPE_UINT32, {lines, parts});
    add(1, r.InputTensor(0), places);
    add(2, places, y);
  }
}

}  // namespace

void Register_arg_reduce(OperatorTable& table) {
  constexpr kit::TypeSet kTypes = kDeviceFloats | kDeviceIntegers;
  table.Add({.op_type = "ArgMax", .types = kTypes, .record = RecordArg<true>, .bindings = 4});
  table.Add({.op_type = "ArgMin", .types = kTypes, .record = RecordArg<false>, .bindings = 4});
}

}  // namespace epiphyte::vulkan
