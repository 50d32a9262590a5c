// Applies one rule or transform to the graph that a text describes, so that tests show the graph before and after.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/transform/rules/rules.h"
#include "core/transform/transform.h"
#include "tests/framework/graph_text.h"

namespace epiphyte::test {

struct Transformed {
  std::unique_ptr<core::Graph> graph;
  std::string text;
  bool changed = false;

  std::string Constant(std::string_view name) const { return Print(*graph->FindValue(name)->constant()); }
};

// Dead nodes that the rule leaves behind are removed, as in the pipeline.
template <typename RuleOrTransform>
Transformed Apply(std::unique_ptr<RuleOrTransform> rule, std::unique_ptr<core::Graph> graph,
                  const core::TransformContext& context = {}) {
  core::TransformPipeline pipeline;
  pipeline.Add(std::move(rule));
  Transformed result;
  result.changed = !pipeline.Run(*graph, core::TransformLevel::kExtended, context).empty();
  core::TransformPipeline cleanup;
  cleanup.Add(core::MakeRemoveDeadNodes());
  cleanup.Run(*graph, core::TransformLevel::kExtended, context);
  result.text = Print(*graph);
  result.graph = std::move(graph);
  return result;
}

template <typename RuleOrTransform>
Transformed Apply(std::unique_ptr<RuleOrTransform> rule, std::string_view before,
                  const core::TransformContext& context = {}) {
  return Apply(std::move(rule), ParseGraph(before), context);
}

}  // namespace epiphyte::test
