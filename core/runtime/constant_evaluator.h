// Constant evaluator: runs one node on constants, through the fallback provider, for constant folding.
#pragma once

#include <memory>
#include <vector>

#include "core/abi/provider.h"
#include "core/graph/graph.h"
#include "core/registry/catalog.h"
#include "core/runtime/folding_budget.h"
#include "core/transform/transform.h"

namespace epiphyte::core {

class ConstantEvaluator {
 public:
  // `plugin`: null when there is no fallback provider; then nothing can be evaluated. `report` may be empty.
  ConstantEvaluator(const LoadedPlugin* plugin, ThreadPool* thread_pool, const FoldingLimits& limits = {},
                    FoldingBudget::Report report = {});

  // Returns false when the provider does not take the node or fails on it, or an output would exceed `max_bytes` or the
  // budget. The node then stays, and fails at run time if it must.
  bool Evaluate(const Node& node, uint64_t max_bytes, std::vector<ConstantPtr>* outputs);

 private:
  const LoadedPlugin* plugin_;
  ThreadPool* thread_pool_;
  FoldingBudget budget_;
  std::shared_ptr<Provider> provider_;
};

}  // namespace epiphyte::core
