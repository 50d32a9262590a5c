#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/suggest.h"
#include "core/base/text.h"
#include "core/transform/transform.h"

namespace epiphyte::core {
namespace {

constexpr int kMostRounds = 10;

// Names of former transforms that are now up to each provider. Existing lists of transforms to disable may contain
// them.
constexpr std::array<std::string_view, 8> kLeftToProviders = {"FuseConvBatchNormalization",
                                                              "FuseConvAdd",
                                                              "FuseConvMul",
                                                              "FuseMatMulAdd",
                                                              "FuseGemmBias",
                                                              "MergeReluClip",
                                                              "RecognizeGelu",
                                                              "RecognizeLayerNormalization"};

}  // namespace

void TransformPipeline::Add(std::unique_ptr<Transform> transform) {
  steps_.push_back({std::move(transform), nullptr, true});
}

void TransformPipeline::Add(std::unique_ptr<RewriteRule> rule) { steps_.push_back({nullptr, std::move(rule), true}); }

std::vector<std::string> TransformPipeline::names() const {
  std::vector<std::string> names;
  for (const Step& step : steps_) names.emplace_back(step.name());
  return names;
}

void TransformPipeline::Disable(const std::vector<std::string>& names, const std::vector<std::string>& others) {
  for (const std::string& name : names) {
    if (std::find(others.begin(), others.end(), name) != others.end()) continue;
    const auto step =
        std::find_if(steps_.begin(), steps_.end(), [&](const Step& known) { return known.name() == name; });
    if (step != steps_.end()) {
      step->enabled = false;
      continue;
    }
    if (std::find(kLeftToProviders.begin(), kLeftToProviders.end(), name) != kLeftToProviders.end()) {
      Log(LogLevel::kWarning, "transform", "'{}' is no transform any more: each provider fuses by itself what it runs",
          name);
      continue;
    }
    std::vector<std::string_view> known(others.begin(), others.end());
    for (const Step& candidate : steps_) known.push_back(candidate.name());
    const std::string_view nearest = Nearest(name, known);
    std::sort(known.begin(), known.end());
    Fail(StatusCode::kInvalidArgument, "no transform is called '{}'{}; there are: {}", PrintableLine(name, 64),
         nearest.empty() ? std::string() : fmt::format("; did you mean '{}'?", nearest), fmt::join(known, ", "));
  }
}

std::vector<std::string> TransformPipeline::Run(Graph& graph, TransformLevel level, const TransformContext& context) {
  std::vector<char> changed(steps_.size(), 0);
  for (int round = 0; round < kMostRounds; ++round) {
    if (!RunRound(graph, level, context, &changed)) break;
  }
  graph.Finalize();
  std::vector<std::string> names;
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (changed[i] != 0) names.emplace_back(steps_[i].name());
  }
  return names;
}

bool TransformPipeline::RunRound(Graph& graph, TransformLevel level, const TransformContext& context,
                                 std::vector<char>* changed) {
  graph.Finalize();
  bool any = false;
  for (size_t begin = 0; begin < steps_.size();) {
    size_t end = begin + 1;
    bool step_changed = false;
    const bool enabled = steps_[begin].enabled && steps_[begin].level() <= level;
    NodesBefore before(graph, enabled && !steps_[begin].tells_history() ? context.history : nullptr);
    if (steps_[begin].rule != nullptr) {
      // Neighbouring rules share one walk over the graph. A rule runs alone if the pipeline must find the nodes that it
      // removes.
      const auto shares = [](const Step& step) { return step.rule != nullptr && step.tells_history(); };
      while (end < steps_.size() && shares(steps_[begin]) && shares(steps_[end])) ++end;
      step_changed = RunRules(graph, begin, end, level, context, changed);
    } else if (enabled) {
      ReportProgress(context.on_progress, begin, steps_.size(), steps_[begin].name());
      step_changed = steps_[begin].transform->Apply(graph, context);
      if (step_changed) (*changed)[begin] = 1;
    }
    if (step_changed) {
      before.TellRemoved(graph, steps_[begin].name());
      graph.Finalize();
    }
    any |= step_changed;
    begin = end;
  }
  for (const std::unique_ptr<Node>& node : graph.nodes()) {
    for (Graph* body : node->subgraphs()) any |= RunRound(*body, level, context, changed);
  }
  return any;
}

// Visits nodes in topological order, then those that rules added. A node is tried again after a rule has changed it.
bool TransformPipeline::RunRules(Graph& graph, size_t begin, size_t end, TransformLevel level,
                                 const TransformContext& context, std::vector<char>* changed) {
  std::unordered_map<std::string_view, std::vector<size_t>> rules_of;
  for (size_t i = begin; i < end; ++i) {
    if (!steps_[i].enabled || steps_[i].level() > level) continue;
    for (const std::string_view op_type : steps_[i].rule->operators()) rules_of[op_type].push_back(i);
  }
  if (rules_of.empty()) return false;
  // Rules are expected to terminate; this budget stops two rules that undo each other.
  size_t budget = 64 + 16 * graph.node_count();
  bool any = false;
  for (size_t index = 0; index < graph.nodes().size() && budget > 0; ++index) {
    if (index % kNodesPerReport == 0) ReportProgress(context.on_progress, begin, steps_.size(), "rewrite rules");
    bool again = true;
    while (again && budget > 0) {
      again = false;
      Node* node = graph.nodes()[index].get();
      if (node == nullptr || !node->domain().empty()) break;
      const auto rules = rules_of.find(node->op_type());
      if (rules == rules_of.end()) break;
      for (const size_t rule : rules->second) {
        if (!steps_[rule].rule->Apply(graph, *node, context)) continue;
        --budget;
        (*changed)[rule] = 1;
        any = again = true;
        break;
      }
    }
  }
  return any;
}

}  // namespace epiphyte::core
