// CumSum and CumProd: sums and products of all elements up to each one along an axis.
#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/vulkan/ops/host/host_compute.h"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {
namespace {

template <bool kProduct>
void RecordCumulative(Recording& r) {
  const ir::Node& node = r.node();
  const Dims x = r.InputDims(0);
  const kit::AxisView view(x, kit::NormalizeAxis(HostInteger(r.RequireHost(1), "axis"), x.size()));
  const auto flag = [&](std::string_view name) { return node.Int(name, 0) != 0 ? 1u : 0u; };
  const EpElementType type = r.InputType(0);
  const int32_t y = r.Output(0, type, x);
  r.Add({.shader = Recording::ShaderFor("cumulative", type),
         .specialization = {kProduct ? 1u : 0u, flag("exclusive"), flag("reverse")},
         .parameters = {Word(view.outer), Word(view.size), Word(view.inner)},
         .bindings = {r.Read(0), Recording::Write(y)},
         .groups = r.GroupsFor(view.outer * view.inner),
         .work = static_cast<uint64_t>(x.Count()),
         .passes = static_cast<uint64_t>(view.size)});
}

}  // namespace

void Register_cumulative(OperatorTable& table) {
  constexpr kit::TypeSet kTypes = kDeviceFloats | kit::Types(EP_TYPE_INT32, EP_TYPE_INT64, EP_TYPE_UINT32);
  table.Add({.op_type = "CumSum", .types = kTypes, .record = RecordCumulative<false>, .host_inputs = 1u << 1});
  table.Add({.op_type = "CumProd", .types = kTypes, .record = RecordCumulative<true>, .host_inputs = 1u << 1});
}

}  // namespace epiphyte::vulkan
