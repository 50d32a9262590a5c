// Maps each control-flow operator to its class.
#include "core/runtime/control_flow.h"
#include "core/runtime/if_loop.h"
#include "core/runtime/scan.h"

namespace epiphyte::core {

bool ControlFlow::Handles(const Node& node) {
  return node.domain().empty() && (node.op_type() == "If" || node.op_type() == "Loop" || node.op_type() == "Scan");
}

std::unique_ptr<ControlFlow> ControlFlow::Create(const Node& node, const PlanTools& tools) {
  if (node.op_type() == "If") return std::make_unique<IfNode>(node, tools);
  if (node.op_type() == "Loop") return std::make_unique<LoopNode>(node, tools);
  if (node.since_version() < 9) return std::make_unique<Scan8Node>(node, tools);
  return std::make_unique<ScanNode>(node, tools);
}

}  // namespace epiphyte::core
