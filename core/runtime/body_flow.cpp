#include "core/runtime/body_flow.h"

#include <algorithm>

namespace epiphyte::core {

BodyFlow::Body BodyFlow::BuildBody(const Graph& graph, const PlanTools& tools) {
  Body body;
  body.plan = std::make_unique<Plan>(graph, tools);
  for (const ValueDef* value : body.plan->outer_values()) {
    auto found = std::find(outer_values_.begin(), outer_values_.end(), value);
    body.outer.push_back(static_cast<uint32_t>(found - outer_values_.begin()));
    if (found == outer_values_.end()) outer_values_.push_back(value);
  }
  return body;
}

std::vector<Value*> BodyFlow::OuterOf(const Body& body, std::span<Value* const> outer) {
  std::vector<Value*> chosen;
  chosen.reserve(body.outer.size());
  for (uint32_t index : body.outer) chosen.push_back(outer[index]);
  return chosen;
}

}  // namespace epiphyte::core
