// Removes nodes that no graph output depends on, and the constants that only they read.
#include <algorithm>

#include "core/graph/context_node.h"
#include "core/transform/edit.h"
#include "core/transform/rules/rules.h"

namespace epiphyte::core {
namespace {

// An EPContext node may hold the payload of other nodes even when nothing reads its outputs.
bool HasSideEffects(const Node& node) { return IsContextNode(node); }

class RemoveDeadNodes final : public Transform {
 public:
  std::string_view name() const override { return "RemoveDeadNodes"; }
  TransformLevel level() const override { return TransformLevel::kBasic; }
  bool tells_history() const override { return true; }

  bool Apply(Graph& graph, const TransformContext& context) override {
    bool changed = false;
    const std::vector<Node*> order = graph.TopologicalOrder();
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
      const std::vector<ValueDef*> outputs = (*node)->outputs();
      if (HasSideEffects(**node) || !std::all_of(outputs.begin(), outputs.end(), IsUnused)) continue;
      if (context.history != nullptr) context.history->Removed(**node, RemovalReason::kDead);
      graph.RemoveNode(*node);
      for (ValueDef* output : outputs) {
        if (output != nullptr) graph.RemoveValue(output);
      }
      changed = true;
    }
    for (const std::unique_ptr<ValueDef>& value : graph.values()) {
      if (value == nullptr || !value->IsConstant() || !IsUnused(value.get())) continue;
      graph.RemoveValue(value.get());
      changed = true;
    }
    return changed;
  }
};

}  // namespace

std::unique_ptr<Transform> MakeRemoveDeadNodes() { return std::make_unique<RemoveDeadNodes>(); }

}  // namespace epiphyte::core
