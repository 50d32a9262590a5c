#include "core/runtime/control_flow.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/runtime/if_loop.h"
#include "core/runtime/scan.h"

namespace epiphyte::core {

bool ControlFlow::Handles(const Node& node) {
  return node.domain().empty() && (node.op_type() == "If" || node.op_type() == "Loop" || node.op_type() == "Scan");
}

std::unique_ptr<ControlFlow> ControlFlow::Create(const Node& node, const Plan::KernelOf& kernel_of,
                                                 Profiler* profiler) {
  if (node.op_type() == "If") return std::make_unique<IfNode>(node, kernel_of, profiler);
  if (node.op_type() == "Loop") return std::make_unique<LoopNode>(node, kernel_of, profiler);
  if (node.since_version() < 9) return std::make_unique<Scan8Node>(node, kernel_of, profiler);
  return std::make_unique<ScanNode>(node, kernel_of, profiler);
}

ControlFlow::Body ControlFlow::BuildBody(const Graph& graph, const Plan::KernelOf& kernel_of, Profiler* profiler) {
  Body body;
  body.plan = std::make_unique<Plan>(graph, kernel_of, profiler);
  for (const ValueDef* value : body.plan->outer_values()) {
    auto found = std::find(outer_values_.begin(), outer_values_.end(), value);
    body.outer.push_back(static_cast<uint32_t>(found - outer_values_.begin()));
    if (found == outer_values_.end()) outer_values_.push_back(value);
  }
  return body;
}

std::vector<Value*> ControlFlow::OuterOf(const Body& body, std::span<Value* const> outer) {
  std::vector<Value*> chosen;
  chosen.reserve(body.outer.size());
  for (uint32_t index : body.outer) chosen.push_back(outer[index]);
  return chosen;
}

}  // namespace epiphyte::core
