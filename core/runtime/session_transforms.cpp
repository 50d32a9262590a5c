#include "core/runtime/session_transforms.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/onnx/infer/inference.h"
#include "core/runtime/constant_evaluator.h"
#include "core/transform/application_transforms.h"
#include "core/transform/transform.h"

namespace epiphyte::core {
namespace {

// Limit of passes. Each pass makes the types behind inlined control flow visible to the next; models nest it a few
// levels deep.
constexpr int kMostPasses = 8;

uint64_t ConstantBytes(const Graph& graph) {
  uint64_t bytes = 0;
  for (const auto& value : graph.values()) {
    if (value && value->IsConstant()) bytes += value->constant()->byte_size();
  }
  for (const auto& node : graph.nodes()) {
    if (!node) continue;
    for (const Graph* body : node->subgraphs()) bytes += ConstantBytes(*body);
  }
  return bytes;
}

std::vector<std::string> NamesOfTransforms(const ApplicationTransforms& transforms) {
  std::vector<std::string> names;
  for (const auto& transform : transforms) names.push_back(transform->name());
  return names;
}

}  // namespace

void RunCoreTransforms(const BuildTools& tools, const ProviderSlot* fallback, Model* model, NodeHistory* history) {
  if (tools.config.optimization_level == 0) return;
  Profiler::Span span(tools.profiler, "session", "transform");
  FoldingLimits limits;
  // Room for the file's own constants, which may be put into another form twice.
  limits.total_bytes += 2 * ConstantBytes(*model->graph);
  FoldingBudget::Report report;
  if (const ProgressFunction progress = tools.progress.MakePluginProgress()) {
    report = [progress] { return progress(0, 0, "FoldConstants"); };
  }
  ConstantEvaluator evaluator(fallback == nullptr ? nullptr : fallback->plugin, tools.pool, limits, std::move(report));
  TransformContext context;
  context.on_progress = tools.progress.MakeProgressCallback();
  context.history = history;
  context.evaluate = [&](const Node& node, std::vector<ConstantPtr>* outputs) {
    const bool is_folded = evaluator.Evaluate(node, context.folded_bytes_limit, outputs);
    tools.progress.ThrowIfCancelled();
    return is_folded;
  };
  TransformPipeline pipeline = TransformPipeline::Default();
  pipeline.Disable(tools.config.disabled_optimizers, NamesOfTransforms(tools.config.transforms));
  for (int pass = 0; pass < kMostPasses; ++pass) {
    const auto changed =
        pipeline.Run(*model->graph, static_cast<TransformLevel>(tools.config.optimization_level), context);
    if (changed.empty()) return;
    InferTypes(*model->graph, context.on_progress, &tools.schemas);
    if (!InlinesControlFlow(changed)) return;
  }
}

bool RunTransformsOfApplication(const BuildTools& tools, Model* model, NodeHistory* history) {
  if (tools.config.transforms.empty()) return false;
  TransformPipeline own = TransformPipeline::Default();
  const std::vector<std::string> own_names = own.names();
  const std::vector<std::string>& disabled = tools.config.disabled_optimizers;
  own.Disable(disabled, NamesOfTransforms(tools.config.transforms));
  ApplicationTransforms wanted;
  for (const auto& transform : tools.config.transforms) {
    if (std::find(own_names.begin(), own_names.end(), transform->name()) != own_names.end()) {
      Fail(StatusCode::kInvalidArgument,
           "{} has the name of one of the transforms that are there already; give it another", transform->label());
    }
    if (std::find(disabled.begin(), disabled.end(), transform->name()) == disabled.end()) wanted.push_back(transform);
  }
  Profiler::Span span(tools.profiler, "session", "transforms of the application");
  return !RunApplicationTransforms(*model, wanted, tools.progress.MakeProgressCallback(), history, &tools.schemas)
              .empty();
}

}  // namespace epiphyte::core
