#include "tests/vulkan/program/program_text.h"

#include "epiphyte/kit/graph/text.hpp"
#include "plugins/vulkan/device/kernel_set.h"

namespace epiphyte::vulkan {

const OperatorTable& AllOperators() {
  static const OperatorTable* const table = [] {
    auto* made = new OperatorTable;
    RegisterAllOperators(*made);
    return made;
  }();
  return *table;
}

Capabilities GoodDevice() {
  Capabilities capabilities;
  for (bool& has : capabilities.has) has = true;
  capabilities.Disable(Capability::kCoopMatrix);
  capabilities.max_bindings = 16;
  capabilities.max_workgroup_invocations = 1024;
  capabilities.subgroup_size = 32;
  capabilities.full_subgroups = true;
  return capabilities;
}

Capabilities PoorDevice() { return {}; }

ProgramInput FloatInput(Dims dims) { return {EP_TYPE_FLOAT, std::move(dims), nullptr}; }

ProgramInput IntsInput(std::vector<int64_t> values) {
  HostTensor host;
  host.dims = {static_cast<int64_t>(values.size())};
  host.ints = std::move(values);
  return {EP_TYPE_INT64, host.dims, std::make_shared<HostTensor>(std::move(host))};
}

Program ProgramOf(std::string_view text, const std::vector<ProgramInput>& inputs, const Capabilities& capabilities,
                  const OperatorTable& operators) {
  const ir::Graph graph = kit::ir::FromText(text);
  std::vector<bool> on_host(graph.values.size(), false);
  for (const ir::Constant& constant : graph.constants) on_host[static_cast<size_t>(constant.value)] = true;
  for (size_t i = 0; i < inputs.size(); ++i)
    on_host[static_cast<size_t>(graph.inputs[i])] = inputs[i].host != nullptr;
  std::vector<const Operator*> chosen;
  for (const ir::Node& node : graph.nodes) {
    std::string why;
    chosen.push_back(operators.Choose(graph, node, capabilities, on_host, &why));
    if (chosen.back() == nullptr) throw kit::Error(EP_STATUS_NOT_IMPLEMENTED, why);
  }
  const std::function<bool(std::string_view)> has_shader = [](std::string_view name) {
    return BuiltInKernels().Find(name) != nullptr;
  };
  return ProgramBuilder(graph, chosen, capabilities, {}, has_shader).Build(inputs);
}

std::string MessageOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const kit::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace epiphyte::vulkan
