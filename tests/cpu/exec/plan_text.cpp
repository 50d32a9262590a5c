#include "tests/cpu/exec/plan_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <stdexcept>

#include "core/abi/host_tables.h"
#include "core/onnx/infer/inference.h"
#include "epiphyte/kit/graph/import.hpp"
#include "epiphyte/kit/graph/text.hpp"
#include "plugins/cpu/exec/fuse.h"
#include "tests/cpu/exec/plan_host.h"
#include "tests/framework/graph_text.h"

namespace epiphyte::test {
namespace {

std::unique_ptr<core::Graph> Parse(std::string_view text) {
  std::unique_ptr<core::Graph> graph = ParseGraph(text);
  core::InferTypes(*graph);
  graph->Finalize();
  return graph;
}

kit::ir::Graph Import(const core::Graph& graph) {
  return kit::ir::Import(*core::HostInfo(), core::ToAbi(&graph), "test");
}

}  // namespace

std::string FusedPlan::operators() const { return Operators(def); }

std::vector<float> FusedPlan::Floats(std::string_view value) const {
  for (const kit::ir::Constant& constant : def.constants) {
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
  cpu::Fuse(plan.def, AllKernels());
  plan.text = kit::ir::NodesToText(plan.def);
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
