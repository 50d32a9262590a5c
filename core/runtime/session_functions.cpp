#include "core/runtime/session_functions.h"

#include <unordered_set>

#include "core/base/error.h"
#include "core/onnx/gradient/gradients.h"
#include "core/onnx/infer/inference.h"
#include "core/onnx/schema/schema.h"
#include "core/runtime/provider_calls.h"

namespace epiphyte::core {
namespace {

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

// Nodes of the graph, and of graphs nested in it, that some provider claims.
std::unordered_set<const Node*> ClaimedNodes(const BuildTools& tools, std::span<const ProviderSlot> providers,
                                             AttemptFindings* findings, Graph& graph) {
  std::unordered_set<const Node*> claimed;
  const auto ask = [&](auto&& self, Graph& asked) -> void {
    for (const ProviderSlot& slot : providers) {
      for (const std::vector<Node*>& unit : AskProvider(tools, slot, asked, findings).units)
        claimed.insert(unit.begin(), unit.end());
    }
    for (const auto& node : asked.nodes()) {
      if (!node) continue;
      for (Graph* body : node->subgraphs()) self(self, *body);
    }
  };
  ask(ask, graph);
  return claimed;
}

}  // namespace

void InlineUnclaimedFunctions(const BuildTools& tools, std::span<const ProviderSlot> providers,
                              AttemptFindings* findings, Model* model, NodeHistory* history) {
  size_t nodes = 0;
  const uint64_t most_bytes = tools.config.LimitsOfRuns(tools.environment.memory()).value_bytes;
  for (;;) {
    std::optional<std::unordered_set<const Node*>> claimed;
    const auto keep = [&](const Node& call) {
      if (!findings->unclaimed_calls().Contains(call)) {
        if (!claimed) {
          model->graph->Finalize();
          claimed = ClaimedNodes(tools, providers, findings, *model->graph);
        }
        if (claimed->contains(&call)) return true;
      }
      RefuseLargeOutputs(call, most_bytes);
      return false;
    };
    const auto inlined = [&](const Node& call) { history->Removed(call, RemovalReason::kInlined); };
    if (!InlineOuterFunctions(*model, keep, &tools.schemas, inlined, &nodes)) return;
    InferTypes(*model->graph, tools.progress.MakeProgressCallback(), &tools.schemas);
    ExpandGradients(*model, tools.progress.MakeProgressCallback(), &tools.schemas);
  }
}

}  // namespace epiphyte::core
