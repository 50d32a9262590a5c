// Control flow: If, Loop and Scan as the core runs them, over plans of their bodies.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/runtime/plan.h"

namespace epiphyte::core {

class ControlFlow {
 public:
  virtual ~ControlFlow() = default;

  // If, Loop and Scan of ONNX.
  static bool Handles(const Node& node);
  static std::unique_ptr<ControlFlow> Create(const Node& node, const Plan::KernelOf& kernel_of, Profiler* profiler);

  // Values of the enclosing graph that the bodies read; they follow the node's inputs in Run.
  const std::vector<const ValueDef*>& outer_values() const { return outer_values_; }

  // `inputs`: the node's inputs, then outer_values().
  virtual void Run(std::span<Value* const> inputs, std::span<ValuePtr> outputs, RunState& run) const = 0;

 protected:
  struct Body {
    std::unique_ptr<Plan> plan;
    std::vector<uint32_t> outer;  // indices into outer_values_
  };
  Body BuildBody(const Graph& graph, const Plan::KernelOf& kernel_of, Profiler* profiler);
  static std::vector<Value*> OuterOf(const Body& body, std::span<Value* const> outer);

  size_t node_inputs_ = 0;
  std::vector<const ValueDef*> outer_values_;
};

}  // namespace epiphyte::core
