// The session builder's functions: which calls stay whole for a provider, and which are replaced by their bodies.
#include <unordered_set>

#include "core/onnx/gradient/gradients.h"
#include "core/onnx/infer/inference.h"
#include "core/onnx/schema/schema.h"
#include "core/runtime/session_builder.h"

namespace epiphyte::core {
namespace {

// Name of the first output; "" when the node has none.
std::string FirstOutput(const Node& node) {
  for (const ValueDef* output : node.outputs()) {
    if (output != nullptr) return output->name();
  }
  return {};
}

bool IsLarger(const Type& type, uint64_t most_bytes) {
  if (!type.IsTensor() || !type.IsStatic()) return false;
  double bytes = static_cast<double>(DataTypeBits(type.element_type())) / 8;
  for (const Dim& dim : *type.shape()) bytes *= static_cast<double>(dim.value);
  return bytes > static_cast<double>(most_bytes);
}

// Refuses a large output up front: a body may make it piece by piece and would fill the run's memory before it is
// refused.
void RefuseLargeOutputs(const Node& function, uint64_t most_bytes) {
  for (const ValueDef* output : function.outputs()) {
    if (output == nullptr || !output->type() || !IsLarger(*output->type(), most_bytes)) continue;
    Fail(StatusCode::kFail, "{}: its output '{}' is {}, session.max_value_bytes allows {} bytes", NodeLabel(function),
         output->name(), output->type()->ToString(), most_bytes);
  }
}

}  // namespace

// A function operator stays whole when a provider claims it. Otherwise its body replaces it. The body may hold further
// functions, so providers are asked again. They are asked only if there is such an operator at all.
void SessionBuilder::InlineUnclaimedFunctions() {
  size_t nodes = 0;
  const uint64_t most_bytes = config_.LimitsOfRuns(environment_.memory()).value_bytes;
  for (;;) {
    std::unordered_set<const Node*> claimed;
    bool asked = false;
    auto ask = [&](auto&& self, Graph& graph) -> void {
      for (const ProviderSlot& slot : providers_) {
        for (const std::vector<Node*>& unit : Ask(slot, graph).units) claimed.insert(unit.begin(), unit.end());
      }
      for (const auto& node : graph.nodes()) {
        if (!node) continue;
        for (Graph* body : node->subgraphs()) self(self, *body);
      }
    };
    const bool inlined = InlineOuterFunctions(
        model_,
        [&](const Node& node) {
          if (IsKept(node)) {
            if (!asked) {
              model_.graph->Finalize();
              ask(ask, *model_.graph);
              asked = true;
            }
            if (claimed.contains(&node)) return true;
          }
          RefuseLargeOutputs(node, most_bytes);
          return false;
        },
        &schemas_, [&](const Node& node) { history_.Removed(node, RemovalReason::kInlined); }, &nodes);
    if (!inlined) return;
    InferTypes(*model_.graph, progress_.MakeProgressCallback(), &schemas_);
    ExpandGradients(model_, progress_.MakeProgressCallback(), &schemas_);
  }
}

bool SessionBuilder::IsKept(const Node& function) const {
  const auto lost = [&](const std::string& output) {
    return lost_functions_.contains({function.domain(), function.op_type(), output});
  };
  return !lost(FirstOutput(function)) && !lost("");
}

// Keeps the reasons why the call was declined. They explain the presence of its body if no provider runs a node of
// that.
void SessionBuilder::KeepReasons(const Node& lost_call) {
  for (const NodePlacement& placed : partitions_.placement.nodes) {
    if (placed.node_id != lost_call.id() || placed.name != lost_call.name() || placed.op_type != lost_call.op_type())
      continue;
    unclaimed_calls_.push_back({BodyPrefix(lost_call), NodeLabel(lost_call), placed.declines});
    return;
  }
}

// Inlines function calls that were kept whole because a provider claimed them, and the claim failed later. For
// example, the other nodes of the claimed group went to another provider. No provider runs such a call as it stands, so
// its body has to replace it.
//
// Calls are identified by their outputs, because inlining gives the same names each time. If that doesn't work, all
// calls of the function are inlined.
bool SessionBuilder::InlineUnclaimedCalls() {
  constexpr size_t kRoundsByCall = 4;
  const bool by_call = lost_rounds_ < kRoundsByCall;
  bool found = false;
  InlineFunctions(
      model_,
      [&](const Node& node) {
        if (node.provider != kUnplaced) return true;
        if (lost_functions_.emplace(node.domain(), node.op_type(), by_call ? FirstOutput(node) : "").second) {
          found = true;
          KeepReasons(node);
        }
        return true;
      },
      &schemas_);
  if (!found) return false;
  ++lost_rounds_;
  StartOver();
  return true;
}

}  // namespace epiphyte::core
