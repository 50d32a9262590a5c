// If and Loop. Bodies are plans; loop-carried values are passed on by reference, never copied.
#pragma once

#include "core/runtime/body_flow.h"

namespace epiphyte::core {

class IfNode : public BodyFlow {
 public:
  IfNode(const Node& node, const PlanTools& tools);
  void Run(std::span<Value* const> inputs, std::span<ValuePtr> outputs, RunState& run) const override;

 private:
  Body then_branch_;
  Body else_branch_;
  std::string name_;
};

class LoopNode : public BodyFlow {
 public:
  LoopNode(const Node& node, const PlanTools& tools);
  void Run(std::span<Value* const> inputs, std::span<ValuePtr> outputs, RunState& run) const override;

 private:
  Body body_;
  size_t carried_ = 0;
  std::vector<int64_t> counter_dims_;  // [] or [1], as the body declares it
  std::vector<int64_t> condition_dims_;
  std::string name_;
  std::vector<TypePtr> scan_types_;  // types of one iteration's scan outputs, for loops that run zero times
};

}  // namespace epiphyte::core
