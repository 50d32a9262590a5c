// Operators that give the same elements other dimensions: Reshape, Flatten, Squeeze, Unsqueeze, Identity. Their output
// takes the memory of their input.
#include "epiphyte/kit/shape/reshape.hpp"
#include "plugins/vulkan/ops/host/host_compute.h"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {
namespace {

Dims IntsOf(const ir::Node& node, std::string_view name) { return Dims(std::span<const int64_t>(node.Ints(name))); }

// Output dimensions for an input of dimensions x. `given` is the second input, or null.
Dims ReshapeDims(const ir::Node& node, const Dims& x, const HostTensor* given) {
  const Dims wanted = given != nullptr ? HostDims(*given, "shape") : IntsOf(node, "shape");
  return kit::ReshapeDims(x, wanted, node.Int("allowzero", 0) != 0);
}

Dims FlattenDims(const ir::Node& node, const Dims& x, const HostTensor*) {
  return kit::FlattenDims(x, node.Int("axis", 1));
}

Dims SqueezeDims(const ir::Node& node, const Dims& x, const HostTensor* given) {
  if (given != nullptr) return kit::SqueezeDims(x, HostDims(*given, "axes"));
  return node.Has("axes") ? kit::SqueezeDims(x, IntsOf(node, "axes")) : kit::SqueezeDims(x);
}

Dims UnsqueezeDims(const ir::Node& node, const Dims& x, const HostTensor* given) {
  return kit::UnsqueezeDims(x, given != nullptr ? HostDims(*given, "axes") : IntsOf(node, "axes"));
}

Dims SameDims(const ir::Node&, const Dims& x, const HostTensor*) { return x; }

using DimsRule = Dims (*)(const ir::Node& node, const Dims& x, const HostTensor* given);

template <DimsRule kRule>
void Record(Recording& r) {
  const Dims x = r.InputDims(0);
  r.OutputAs(0, 0, kRule(r.node(), x, r.HasInput(1) ? &r.RequireHost(1) : nullptr));
}

template <DimsRule kRule>
std::vector<HostTensor> OnHost(const ir::Node& node, HostInputs inputs) {
  return {HostReshape(*inputs[0], kRule(node, inputs[0]->dims, HostInput(inputs, 1)))};
}

// ONNX's Identity takes values of any kind; the device has tensors only.
std::string CheckTensor(const NodeCheck& check) {
  return check.Input(0).kind == EP_KIND_TENSOR ? "" : "input 0 is no tensor";
}

template <DimsRule kRule>
void Add(OperatorTable& table, std::string_view op_type) {
  table.Add({.op_type = op_type,
             .types = kMovableTypes,
             .check = CheckTensor,
             .record = Record<kRule>,
             .host_inputs = 1u << 1,
             .on_host = OnHost<kRule>});
}

}  // namespace

void Register_reshape(OperatorTable& table) {
  Add<ReshapeDims>(table, "Reshape");
  Add<FlattenDims>(table, "Flatten");
  Add<SqueezeDims>(table, "Squeeze");
  Add<UnsqueezeDims>(table, "Unsqueeze");
  Add<SameDims>(table, "Identity");
}

}  // namespace epiphyte::vulkan
