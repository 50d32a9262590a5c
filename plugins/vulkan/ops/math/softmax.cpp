// Softmax, LogSoftmax and Hardmax. Since opset 13 along one axis; before that over everything from the axis on.
#include <algorithm>

#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {
namespace {

// Rows of fewer neighbours keep a workgroup less busy than an invocation each.
constexpr int64_t kLeastShared = 32;

// Invocations of a workgroup for a row: a power of two, so that each has a few elements.
uint32_t GroupFor(int64_t size, const Capabilities& capabilities) {
  const uint32_t most = std::min(capabilities.max_workgroup_invocations, 256u);
  uint32_t group = 32;
  while (group * 2 <= most && group * 4 < size) group *= 2;
  return group;
}

void RecordSoftmax(Recording& r) {
  const std::string& name = r.node().op_type;
  const uint32_t mode = name == "Softmax" ? 0 : name == "LogSoftmax" ? 1 : 2;
  const EpElementType type = r.InputType(0);
  const Dims dims = r.InputDims(0);
  const bool flattens = r.node().since_version < 13;
  const int64_t axis = r.node().Int("axis", flattens ? 1 : -1);
  // A scalar is a vector of one element; before opset 13 the axis may be the rank: then every element is alone.
  Dims viewed = dims;
  if (dims.empty() || (flattens && axis == static_cast<int64_t>(dims.size()))) viewed.push_back(1);
  kit::AxisView view(viewed, kit::NormalizeAxis(axis, viewed.size()));
  if (flattens) {
    view.size *= view.inner;
    view.inner = 1;
  }
  const int32_t y = r.Output(0, type, dims);
  const int64_t rows = view.outer * view.inner;
  Dispatch dispatch{.shader = Recording::ShaderFor("softmax", type),
                    .specialization = {mode},
                    .parameters = {Word(rows), Word(view.size), Word(view.inner)},
                    .bindings = {r.Read(0), Recording::Write(y)},
                    .groups = r.GroupsFor(rows),
                    .work = static_cast<uint64_t>(rows * view.size)};
  if (view.inner == 1 && view.size >= kLeastShared) {
    if (r.capabilities().Has(Capability::kSharedMemory)) {
      dispatch.shader = Recording::ShaderFor("softmax_shared", type);
      dispatch.specialization.push_back(GroupFor(view.size, r.capabilities()));
      dispatch.groups = r.GroupsFor(rows * kLinearGroup);
    } else {
      r.Note("a workgroup for each row: " + r.capabilities().WhyNot(Capability::kSharedMemory));
    }
  }
  r.Add(std::move(dispatch));
}

}  // namespace

void Register_softmax(OperatorTable& table) {
  for (const char* name : {"Softmax", "LogSoftmax", "Hardmax"}) table.Add({.op_type = name, .record = RecordSoftmax});
}

}  // namespace epiphyte::vulkan
