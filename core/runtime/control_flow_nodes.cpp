// Which class runs which operator.
#include "core/runtime/control_flow.h"
#include "core/runtime/if_loop.h"
#include "core/runtime/scan.h"

namespace epiphyte::core {

bool ControlFlow::Handles(const Node& node) {
  return node.domain().empty() && (node.op_type() == "If" || node.op_type() == "Loop" || node.op_type() == "Scan");
}

std::unique_ptr<ControlFlow> ControlFlow::Create(const Node& node, const KernelOf& kernel_of, Profiler* profiler) {
  if (node.op_type() == "If") return std::make_unique<IfNode>(node, kernel_of, profiler);
  if (node.op_type() == "Loop") return std::make_unique<LoopNode>(node, kernel_of, profiler);
  if (node.since_version() < 9) return std::make_unique<Scan8Node>(node, kernel_of, profiler);
  return std::make_unique<ScanNode>(node, kernel_of, profiler);
}

}  // namespace epiphyte::core
