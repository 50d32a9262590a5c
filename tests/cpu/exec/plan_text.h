// Plans of graphs written as text (tests/framework/graph_text.h), without and with the plugin's fusions.
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
  std::unique_ptr<core::Graph> graph;  // owns the data of the constants
  kit::ir::Graph def;
  std::string text;  // the nodes in order, one a line, with attributes in order of their names

  // The operators as "Conv Relu …" (plan_host.h).
  std::string operators() const;
  // Returns the elements of a float constant by the name of its value.
  std::vector<float> Floats(std::string_view value) const;
};

// Builds and fuses the plan. Types that the text leaves out are inferred.
FusedPlan Fused(std::string_view text);
// Runs the plan without and with fusion and compares the results. All inputs are float.
void ExpectSameAsPlain(std::string_view text, const std::vector<std::vector<float>>& inputs, float tolerance = 1e-5f);

}  // namespace epiphyte::test
