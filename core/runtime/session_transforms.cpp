// The session builder's transforms: the core's, and the application's own.
#include <algorithm>

#include "core/base/error.h"
#include "core/context/context_model.h"
#include "core/onnx/infer/inference.h"
#include "core/runtime/constant_evaluator.h"
#include "core/runtime/session_builder.h"
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

}  // namespace

void SessionBuilder::RunTransforms() {
  if (config_.optimization_level == 0) return;
  Profiler::Span span(profiler_, "session", "transform");
  const ProviderSlot* fallback = Fallback();
  FoldingLimits limits;
  // Room for the file's own constants, which may be put into another form twice.
  limits.total_bytes += 2 * ConstantBytes(*model_.graph);
  FoldingBudget::Report report;
  if (const ProgressFunction progress = progress_.MakePluginProgress()) {
    report = [progress] { return progress(0, 0, "FoldConstants"); };
  }
  ConstantEvaluator evaluator(fallback == nullptr ? nullptr : fallback->plugin, pool_, limits, std::move(report));
  TransformContext context;
  context.on_progress = progress_.MakeProgressCallback();
  context.history = &history_;
  context.evaluate = [&](const Node& node, std::vector<ConstantPtr>* outputs) {
    const bool is_folded = evaluator.Evaluate(node, context.folded_bytes_limit, outputs);
    progress_.ThrowIfCancelled();
    return is_folded;
  };
  TransformPipeline pipeline = TransformPipeline::Default();
  pipeline.Disable(config_.disabled_optimizers, ApplicationTransformNames());
  for (int pass = 0; pass < kMostPasses; ++pass) {
    const auto changed = pipeline.Run(*model_.graph, static_cast<TransformLevel>(config_.optimization_level), context);
    if (changed.empty()) return;
    InferTypes(*model_.graph, context.on_progress, &schemas_);
    if (!InlinesControlFlow(changed)) return;
  }
}

std::vector<std::string> SessionBuilder::ApplicationTransformNames() const {
  std::vector<std::string> names;
  for (const auto& transform : config_.transforms) names.push_back(transform->name());
  return names;
}

// Runs after the core's transforms, whatever their level, because the application has requested it. Returns whether one
// changed the model.
bool SessionBuilder::RunTransformsOfApplication() {
  if (config_.transforms.empty()) return false;
  TransformPipeline own = TransformPipeline::Default();
  const std::vector<std::string> own_names = own.names();
  const std::vector<std::string>& disabled = config_.disabled_optimizers;
  own.Disable(disabled, ApplicationTransformNames());
  ApplicationTransforms wanted;
  for (const auto& transform : config_.transforms) {
    if (std::find(own_names.begin(), own_names.end(), transform->name()) != own_names.end()) {
      Fail(StatusCode::kInvalidArgument,
           "{} has the name of one of the transforms that are there already; give it another", transform->label());
    }
    if (std::find(disabled.begin(), disabled.end(), transform->name()) == disabled.end()) wanted.push_back(transform);
  }
  Profiler::Span span(profiler_, "session", "transforms of the application");
  return !RunApplicationTransforms(model_, wanted, progress_.MakeProgressCallback(), &history_, &schemas_).empty();
}

}  // namespace epiphyte::core
