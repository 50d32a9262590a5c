// Plans of graphs that a text describes (tests/framework/graph_text.h), as they are and after the plugin's fusions.
//
//   const FusedPlan plan = Fused("in x: float[2]\n…");
//   EXPECT_EQ(plan.text, "y = epiphyte.kit::Conv<activation=\"Relu\">(x, w)\n");
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::test {

struct FusedPlan {
  std::unique_ptr<core::Graph> graph;  // has the constants' data
  kit::ir::Graph def;
  std::string text;  // the nodes in order, one a line, attributes by name

  // "Conv Relu …", see plan_host.h.
  std::string operators() const;
  // The elements of a float constant, by its value's name.
  std::vector<float> Floats(std::string_view value) const;
};

// Types that the text leaves out are inferred.
FusedPlan Fused(std::string_view text);
// Runs the plan plain and fused; inputs are float.
void ExpectSameAsPlain(std::string_view text, const std::vector<std::vector<float>>& inputs, float tolerance = 1e-5f);

}  // namespace epiphyte::test
