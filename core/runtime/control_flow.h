// Control flow: a plan's interface to If, Loop and Scan, which the core runs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/abi/provider.h"
#include "core/device/devices.h"
#include "core/graph/graph.h"
#include "core/graph/run_state.h"
#include "core/graph/value.h"
#include "core/runtime/profiler.h"

namespace epiphyte::core {

// Everything that plans, including those of bodies, are made with.
struct PlanTools {
  // Returns the kernel of a partition or context node. Used while a plan is made.
  std::function<std::shared_ptr<Kernel>(const Node&)> kernel_of;
  Profiler* profiler = nullptr;            // null: nothing is recorded; outlives the plan
  Devices* devices = nullptr;              // outlives the plan; null: kernels are in host memory
  std::shared_ptr<DeviceAccount> account;  // account of the session's values in device memory
};

class ControlFlow {
 public:
  virtual ~ControlFlow() = default;

  // Whether the node is ONNX's If, Loop or Scan.
  static bool Handles(const Node& node);
  static std::unique_ptr<ControlFlow> Create(const Node& node, const PlanTools& tools);

  // Values of the enclosing graph that the bodies read; they follow the node's inputs in Run.
  const std::vector<const ValueDef*>& outer_values() const { return outer_values_; }

  // `inputs`: the node's inputs, then outer_values().
  virtual void Run(std::span<Value* const> inputs, std::span<ValuePtr> outputs, RunState& run) const = 0;

 protected:
  std::vector<const ValueDef*> outer_values_;
};

}  // namespace epiphyte::core
