#include "core/runtime/unclaimed_calls.h"

#include <utility>

#include "core/onnx/infer/inference.h"
#include "core/onnx/schema/schema.h"

namespace epiphyte::core {
namespace {

// Name of the first output; "" when the node has none.
std::string FirstOutput(const Node& node) {
  for (const ValueDef* output : node.outputs()) {
    if (output != nullptr) return output->name();
  }
  return {};
}

std::optional<UnclaimedBody> BodyOfCall(const Node& call, const Placement& placement) {
  for (const NodePlacement& placed : placement.nodes) {
    if (placed.node_id != call.id() || placed.name != call.name() || placed.op_type != call.op_type()) continue;
    return UnclaimedBody{BodyPrefix(call), NodeLabel(call), placed.declines};
  }
  return std::nullopt;
}

}  // namespace

bool UnclaimedCalls::Contains(const Node& call) const {
  const auto has = [&](const std::string& output) { return keys_.contains({call.domain(), call.op_type(), output}); };
  return has(FirstOutput(call)) || has("");
}

std::vector<UnclaimedCall> UnclaimedCalls::FindMore(Model& model, const Placement& placement,
                                                    const OperatorSchemas& schemas) const {
  constexpr size_t kRoundsByCall = 4;
  const bool by_call = rounds_ < kRoundsByCall;
  std::set<Key> keys = keys_;
  std::vector<UnclaimedCall> found;
  InlineFunctions(
      model,
      [&](const Node& node) {
        if (node.provider != kUnplaced) return true;
        const std::string output = by_call ? FirstOutput(node) : "";
        if (keys.emplace(node.domain(), node.op_type(), output).second) {
          found.push_back({node.domain(), node.op_type(), output, BodyOfCall(node, placement)});
        }
        return true;
      },
      &schemas);
  return found;
}

void UnclaimedCalls::Add(std::vector<UnclaimedCall> calls) {
  ++rounds_;
  for (UnclaimedCall& call : calls) {
    keys_.emplace(std::move(call.domain), std::move(call.op_type), std::move(call.output));
    if (call.body) bodies_.push_back(std::move(*call.body));
  }
}

}  // namespace epiphyte::core
