// Transforms: rewrites of the graph that help every provider, so they run before any is asked. Each is a small class; a
// pipeline runs them level by level until nothing changes (bounded).
//
//   struct RemoveIdentity : RewriteRule { … };
//   TransformPipeline pipeline = TransformPipeline::Default();
//   pipeline.Run(*model.graph, TransformLevel::kBasic, {.evaluate = evaluator});
//
// What every transform keeps: the graph's inputs and outputs with their names, and the values that nested graphs read.
// And what providers look for: no transform makes an operator of others (fusing is for the provider that has the fused
// one), nor merges what a provider claims as a unit, as the DequantizeLinear nodes in front of two operators.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/progress_callback.h"
#include "core/graph/graph.h"
#include "core/transform/node_history.h"

namespace epiphyte::core {

enum class TransformLevel { kNone = 0, kBasic = 1, kExtended = 2 };

// Computes a node whose inputs are all constant. Returns false when it can't; else one constant for each output.
using NodeEvaluator = std::function<bool(const Node& node, std::vector<ConstantPtr>* outputs)>;

struct TransformContext {
  NodeEvaluator evaluate;                              // may be empty
  uint64_t folded_bytes_limit = 256ull * 1024 * 1024;  // a folded result may not be larger
  ProgressCallback on_progress;                        // beats between transforms, and within those that walk far
  NodeHistory* history = nullptr;                      // what is told of removed nodes; may be null
};

// A rewrite of whatever it finds in a graph.
class Transform {
 public:
  virtual ~Transform() = default;
  virtual std::string_view name() const = 0;
  virtual TransformLevel level() const = 0;
  // Returns whether it changed something. Must leave the graph valid. Nested graphs are visited by the pipeline.
  virtual bool Apply(Graph& graph, const TransformContext& context) = 0;
  // True when it tells context.history, itself or through the edits of edit.h, of every node that it removes. Of others
  // the pipeline tells that they rewrote what is gone after them, which costs time in proportion to the graph.
  virtual bool tells_history() const { return false; }
};

// A local rewrite: one node and its neighbours. The pipeline matches by operator, so rules cost nothing elsewhere.
class RewriteRule {
 public:
  virtual ~RewriteRule() = default;
  virtual std::string_view name() const = 0;
  virtual TransformLevel level() const = 0;
  // Of ai.onnx.
  virtual std::vector<std::string_view> operators() const = 0;
  // May remove `node` and others, and add nodes; returns whether it changed something. Must not call Finalize.
  virtual bool Apply(Graph& graph, Node& node, const TransformContext& context) = 0;
  // As a Transform's.
  virtual bool tells_history() const { return false; }
};

// Whether nodes of nested graphs are among those of their parent since these transforms changed something. What type
// inference finds out then may decide more.
bool InlinesControlFlow(const std::vector<std::string>& changed);

class TransformPipeline {
 public:
  // Every transform the core has, in order.
  static TransformPipeline Default();

  void Add(std::unique_ptr<Transform> transform);
  void Add(std::unique_ptr<RewriteRule> rule);
  std::vector<std::string> names() const;
  // Names here are skipped (`optimization.disable_specified_optimizers`); one that is unknown, and none of `others`
  // either, is INVALID_ARGUMENT, one that was a transform in earlier versions a warning.
  void Disable(const std::vector<std::string>& names, const std::vector<std::string>& others = {});
  // Runs until a round changes nothing, at most ten rounds. Returns the names that changed something.
  std::vector<std::string> Run(Graph& graph, TransformLevel level, const TransformContext& context);

 private:
  // One of the two.
  struct Step {
    std::unique_ptr<Transform> transform;
    std::unique_ptr<RewriteRule> rule;
    bool enabled = true;

    std::string_view name() const { return transform ? transform->name() : rule->name(); }
    TransformLevel level() const { return transform ? transform->level() : rule->level(); }
    bool tells_history() const { return transform ? transform->tells_history() : rule->tells_history(); }
  };

  bool RunRound(Graph& graph, TransformLevel level, const TransformContext& context, std::vector<char>* changed);
  bool RunRules(Graph& graph, size_t begin, size_t end, TransformLevel level, const TransformContext& context,
                std::vector<char>* changed);

  std::vector<Step> steps_;
};

}  // namespace epiphyte::core
