// Scan since opset 9, and Scan of opset 8 (with a batch dimension).
#pragma once

#include "core/runtime/body_flow.h"

namespace epiphyte::core {

class ScanNode : public BodyFlow {
 public:
  ScanNode(const Node& node, const PlanTools& tools);
  void Run(std::span<Value* const> inputs, std::span<ValuePtr> outputs, RunState& run) const override;

 private:
  Body body_;
  std::string name_;
  size_t states_ = 0;
  size_t scan_inputs_ = 0;
  size_t scan_outputs_ = 0;
  std::vector<int64_t> input_axes_;
  std::vector<int64_t> input_directions_;
  std::vector<int64_t> output_axes_;
  std::vector<int64_t> output_directions_;
  std::vector<TypePtr> scan_types_;
};

class Scan8Node : public BodyFlow {
 public:
  Scan8Node(const Node& node, const PlanTools& tools);
  void Run(std::span<Value* const> inputs, std::span<ValuePtr> outputs, RunState& run) const override;

 private:
  Body body_;
  std::string name_;
  size_t states_ = 0;
  size_t scan_inputs_ = 0;
  size_t scan_outputs_ = 0;
  std::vector<int64_t> directions_;
  std::vector<TypePtr> scan_types_;
};

}  // namespace epiphyte::core
