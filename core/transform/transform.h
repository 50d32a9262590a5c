// Transforms: graph rewrites that help every provider. They run before any provider is asked. Each is a small class; a
// pipeline runs them level by level until nothing changes, for a limited number of rounds.
//
//   struct RemoveIdentity : RewriteRule { … };
//   TransformPipeline pipeline = TransformPipeline::Default();
//   pipeline.Run(*model.graph, TransformLevel::kBasic, {.evaluate = evaluator});
//
// Every transform keeps the graph's inputs and outputs with their names, and the values that nested graphs read. It
// also keeps the patterns that providers look for: no transform fuses operators, because fusion belongs to the provider
// that has the fused kernel. None merges nodes that a provider claims as part of a unit, such as the DequantizeLinear
// nodes in front of two operators.
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

// Computes a node with constant inputs only. Returns one constant for each output in `outputs`; returns false when it
// can't compute the node.
using NodeEvaluator = std::function<bool(const Node& node, std::vector<ConstantPtr>* outputs)>;

struct TransformContext {
  NodeEvaluator evaluate;                              // may be empty
  uint64_t folded_bytes_limit = 256ull * 1024 * 1024;  // a folded result may not be larger
  ProgressCallback on_progress;    // called between transforms, and within those that visit many nodes
  NodeHistory* history = nullptr;  // records removed nodes; may be null
};

// A rewrite of a whole graph.
class Transform {
 public:
  virtual ~Transform() = default;
  virtual std::string_view name() const = 0;
  virtual TransformLevel level() const = 0;
  // Returns whether it changed something. Must leave the graph valid. Nested graphs are visited by the pipeline.
  virtual bool Apply(Graph& graph, const TransformContext& context) = 0;
  // True when the transform records every node that it removes in context.history, itself or through the edits of
  // edit.h. Otherwise the pipeline records the removed nodes as rewritten, which costs time proportional to the graph.
  virtual bool tells_history() const { return false; }
};

// A local rewrite of one node and its neighbours. The pipeline matches by operator, so other nodes cost nothing.
class RewriteRule {
 public:
  virtual ~RewriteRule() = default;
  virtual std::string_view name() const = 0;
  virtual TransformLevel level() const = 0;
  // Operator names in the domain ai.onnx.
  virtual std::vector<std::string_view> operators() const = 0;
  // May remove `node` and others, and add nodes; returns whether it changed something. Must not call Finalize.
  virtual bool Apply(Graph& graph, Node& node, const TransformContext& context) = 0;
  // See Transform::tells_history.
  virtual bool tells_history() const { return false; }
};

// Whether one of the transforms in `changed` moves nodes of nested graphs into their parent. Type inference must then
// run again, because its results may allow more rewrites.
bool InlinesControlFlow(const std::vector<std::string>& changed);

class TransformPipeline {
 public:
  // Every transform the core has, in order.
  static TransformPipeline Default();

  void Add(std::unique_ptr<Transform> transform);
  void Add(std::unique_ptr<RewriteRule> rule);
  std::vector<std::string> names() const;
  // Skips the transforms with these names (`optimization.disable_specified_optimizers`). A name that is neither a
  // transform nor in `others` is INVALID_ARGUMENT. A name that was a transform in earlier versions is a warning.
  void Disable(const std::vector<std::string>& names, const std::vector<std::string>& others = {});
  // Runs until a round changes nothing, at most ten rounds. Returns the names of the transforms that changed something.
  std::vector<std::string> Run(Graph& graph, TransformLevel level, const TransformContext& context);

 private:
  // Either a transform or a rule; the other pointer is null.
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
