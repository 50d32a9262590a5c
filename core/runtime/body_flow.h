// BodyFlow: base of control-flow nodes that have plans for their bodies.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/runtime/control_flow.h"
#include "core/runtime/plan.h"

namespace epiphyte::core {

class BodyFlow : public ControlFlow {
 protected:
  struct Body {
    std::unique_ptr<Plan> plan;
    std::vector<uint32_t> outer;  // indices into outer_values_
  };
  Body BuildBody(const Graph& graph, const PlanTools& tools);
  static std::vector<Value*> OuterOf(const Body& body, std::span<Value* const> outer);

  size_t node_inputs_ = 0;
};

}  // namespace epiphyte::core
