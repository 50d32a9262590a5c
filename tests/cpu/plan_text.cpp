#include "tests/cpu/plan_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "core/abi/host_tables.h"
#include "core/onnx/inference.h"
#include "plugins/cpu/exec/fuse.h"
#include "tests/cpu/plan_host.h"
#include "tests/framework/graph_text.h"

namespace epiphyte::test {
namespace {

std::unique_ptr<core::Graph> Parse(std::string_view text) {
  std::unique_ptr<core::Graph> graph = ParseGraph(text);
  core::InferTypes(*graph);
  graph->Finalize();
  return graph;
}

cpu::PlanDef Import(const core::Graph& graph) {
  return cpu::ImportGraph(core::HostInfo(), core::ToAbi(&graph), "test");
}

// "6.0": not to be taken for an integer. What "{:#}" gives differs between releases of fmt.
std::string FloatText(float value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == text.npos) text += ".0";
  return text;
}

std::string ValueText(const cpu::AttributeValue& attribute) {
  switch (attribute.type) {
    case EP_ATTRIBUTE_INT: return fmt::format("{}", attribute.ints[0]);
    case EP_ATTRIBUTE_INTS: return fmt::format("[{}]", fmt::join(attribute.ints, ","));
    case EP_ATTRIBUTE_FLOAT: return FloatText(attribute.floats[0]);
    case EP_ATTRIBUTE_STRING: return fmt::format("\"{}\"", attribute.strings[0]);
    default: return "…";
  }
}

std::string Names(const cpu::PlanDef& def, const std::vector<int32_t>& values) {
  std::vector<std::string> names;
  for (const int32_t value : values) names.push_back(value < 0 ? "_" : def.values[static_cast<size_t>(value)].name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string Print(const cpu::PlanDef& def) {
  std::string text;
  for (const cpu::NodeDef& node : def.nodes) {
    std::map<std::string, std::string> attributes;
    for (const cpu::AttributeValue& attribute : node.attributes) attributes[attribute.name] = ValueText(attribute);
    std::vector<std::string> listed;
    for (const auto& [name, value] : attributes) listed.push_back(name + "=" + value);
    text += fmt::format("{} = {}{}{}({})\n", Names(def, node.outputs),
                        node.domain.empty() ? "" : node.domain + "::", node.op_type,
                        listed.empty() ? "" : fmt::format("<{}>", fmt::join(listed, ", ")), Names(def, node.inputs));
  }
  return text;
}

}  // namespace

std::string FusedPlan::operators() const { return Operators(def); }

std::vector<float> FusedPlan::Floats(std::string_view value) const {
  for (const cpu::ConstantDef& constant : def.constants) {
    if (def.values[static_cast<size_t>(constant.value)].name != value) continue;
    const auto* data = constant.tensor.as<float>();
    return {data, data + constant.tensor.Count()};
  }
  throw std::runtime_error(fmt::format("the plan has no constant '{}'", value));
}

FusedPlan Fused(std::string_view text) {
  FusedPlan plan;
  plan.graph = Parse(text);
  plan.def = Import(*plan.graph);
  cpu::Fuse(plan.def);
  plan.text = Print(plan.def);
  return plan;
}

void ExpectSameAsPlain(std::string_view text, const std::vector<std::vector<float>>& inputs, float tolerance) {
  const std::unique_ptr<core::Graph> graph = Parse(text);
  PlanRunner plain(Import(*graph), false);
  PlanRunner fused(Import(*graph), true);
  EXPECT_LT(fused.plan().node_count(), plain.plan().node_count());
  EXPECT_THAT(fused.Run(inputs), testing::Pointwise(testing::FloatNear(tolerance), plain.Run(inputs))) << text;
}

}  // namespace epiphyte::test
