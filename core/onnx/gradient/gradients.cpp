#include "core/onnx/gradient/gradients.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/base/error.h"
#include "core/onnx/gradient/rules.h"
#include "core/onnx/gradient/tape.h"
#include "core/onnx/infer/inference.h"
#include "core/onnx/schema/known_operators.h"
#include "core/onnx/schema/schema.h"
#include "core/onnx/wire/printable_errors.h"

namespace epiphyte::core {
namespace {

using gradient::Emitter;
using gradient::Followed;
using gradient::Tape;
using gradient::Value;
using gradient::Values;

// First opset; derivatives use the operators in the form that they have there or later.
constexpr int64_t kFirstOpset = 11;
// The budget of nodes that are visited and created for a model's Gradient nodes: kLeastBudget plus kBudgetPerNode for
// each node of the model, at most kMostBudget. It allows any useful order of derivatives, and keeps a small file from
// becoming a burden.
constexpr size_t kLeastBudget = size_t{1} << 16;
constexpr size_t kBudgetPerNode = 64;
constexpr size_t kMostBudget = size_t{1} << 22;

ValueDef* Resolved(ValueDef* value) {
  while (value != nullptr && value->outer() != nullptr) value = value->outer();
  return value;
}

// Appends Gradient nodes in topological order: each comes after the ones that it depends on.
void FindGradients(const Graph& graph, std::vector<Node*>* found) {
  for (Node* node : graph.TopologicalOrder()) {
    if (IsGradient(*node)) found->push_back(node);
    for (const Graph* body : node->subgraphs()) FindGradients(*body, found);
  }
}

size_t CountNodes(const Graph& graph) {
  size_t count = graph.node_count();
  for (const auto& node : graph.nodes()) {
    if (node == nullptr) continue;
    for (const Graph* body : node->subgraphs()) count += CountNodes(*body);
  }
  return count;
}

bool HasGradient(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (node == nullptr) continue;
    if (IsGradient(*node)) return true;
    for (const Graph* body : node->subgraphs()) {
      if (HasGradient(*body)) return true;
    }
  }
  return false;
}

size_t CountOf(const Node& node, std::string_view names) {
  const Attribute* attribute = node.FindAttribute(names);
  return attribute == nullptr ? 0 : attribute->strings().size();
}

class Expansion {
 public:
  Expansion(Node& node, size_t* budget)
      : node_(node), budget_(budget), xs_(CountOf(node, "xs")), count_(xs_ + CountOf(node, "zs")) {
    if (node.inputs().size() != 2 * count_ + 1) {
      Fail(StatusCode::kInvalidGraph, "{} has no values for the names of its attributes; read it from a model",
           NodeLabel(node));
    }
    y_ = Resolved(node.inputs().back());
    for (size_t i = 0; i < count_; ++i) {
      given_.push_back(Resolved(node.input(i)));
      named_.push_back(Resolved(node.input(count_ + i)));
    }
    if (node.outputs().size() > xs_) {
      Fail(StatusCode::kInvalidGraph, "{} has {} outputs, but its attribute 'xs' names {} values", NodeLabel(node),
           node.outputs().size(), xs_);
    }
    FindPath();
  }

  // Function calls on the path that have no rule and therefore must be inlined.
  std::unordered_set<const Node*> WithoutRule() const {
    std::unordered_set<const Node*> found;
    Followed followed = FollowedFromXs();
    for (const Node* node : path_)
      if (followed.Extend(*node) && gradient::Rules().find(*node) == nullptr) found.insert(node);
    return found;
  }

  void Run(RunningInference& inference) {
    if (node_.graph().Opset("") < kFirstOpset) {
      Fail(StatusCode::kNotImplemented,
           "{} needs opset {} of ai.onnx at least, the model uses {}; convert it to a newer one", NodeLabel(node_),
           kFirstOpset, node_.graph().Opset(""));
    }
    Emitter emitter(node_.graph(), inference, BodyPrefix(node_), NodeLabel(node_), budget_);
    if (!gradient::IsFloat(Emitter::TypeOf(y_))) {
      Fail(StatusCode::kInvalidGraph, "{} differentiates '{}', which is {}, a tensor of floats expected",
           NodeLabel(node_), y_->name(), y_->type() ? y_->type()->ToString() : "of a type that is not known");
    }
    for (size_t i = 0; i < xs_; ++i) {
      const DataType type = Emitter::TypeOf(named_[i]);
      if (type == DataType::kUndefined || gradient::IsFloat(type)) continue;
      Fail(StatusCode::kInvalidGraph,
           "{}: '{}' of its attribute 'xs' is {}, a tensor of floats expected; name it in 'zs'", NodeLabel(node_),
           named_[i]->name(), named_[i]->type()->ToString());
    }
    ComputeFromGiven(emitter);
    Tape tape(emitter, FollowedFromXs());
    const Value y = emitter.Import(y_);
    tape.Differentiate(path_, y_, emitter.Filled(emitter.ShapeOf(y), 1, Emitter::TypeOf(y)));
    Finish(emitter, tape);
  }

 private:
  Followed FollowedFromXs() const {
    Followed followed(gradient::Rules());
    for (size_t i = 0; i < xs_; ++i) followed.Add(named_[i]);
    return followed;
  }

  static bool Reads(const Node& node, const std::unordered_set<const ValueDef*>& values) {
    const auto reads = [&](const std::vector<ValueDef*>& inputs) {
      return std::any_of(inputs.begin(), inputs.end(),
                         [&](ValueDef* input) { return input != nullptr && values.contains(Resolved(input)); });
    };
    return reads(node.inputs()) || reads(node.implicit_inputs());
  }

  // Finds the nodes between the named values and y, in topological order.
  void FindPath() {
    const std::unordered_set<const ValueDef*> named(named_.begin(), named_.end());
    std::unordered_set<const Node*> seen;
    struct Visit {
      Node* node;
      size_t next = 0;
    };
    std::vector<Visit> stack;
    const auto enter = [&](ValueDef* value) {
      value = Resolved(value);
      if (value == nullptr || named.contains(value) || value->producer() == nullptr) return;
      if (seen.insert(value->producer()).second) stack.push_back({value->producer()});
    };
    enter(y_);
    while (!stack.empty()) {
      Visit& top = stack.back();
      Node* node = top.node;
      const size_t own = node->inputs().size();
      if (top.next == own + node->implicit_inputs().size()) {
        gradient::Take(budget_, 1, NodeLabel(node_));
        path_.push_back(node);
        stack.pop_back();
        continue;
      }
      const size_t input = top.next++;
      enter(input < own ? node->inputs()[input] : node->implicit_inputs()[input - own]);
    }
    CheckIndependent(named);
  }

  // Checks that no named value depends on another named value.
  void CheckIndependent(const std::unordered_set<const ValueDef*>& named) const {
    std::vector<const Node*> pending;
    std::unordered_set<const Node*> seen;
    for (const ValueDef* value : named) {
      if (value->producer() == nullptr) continue;
      pending.push_back(value->producer());
      while (!pending.empty()) {
        const Node* node = pending.back();
        pending.pop_back();
        if (!seen.insert(node).second) continue;
        gradient::Take(budget_, 1, NodeLabel(node_));
        if (Reads(*node, named)) {
          Fail(StatusCode::kInvalidGraph,
               "{}: '{}' of its attributes 'xs' and 'zs' depends on another value that they name, through {}; name one",
               NodeLabel(node_), value->name(), NodeLabel(*node));
        }
        const auto enter = [&](const std::vector<ValueDef*>& inputs) {
          for (ValueDef* input : inputs)
            if (input != nullptr && Resolved(input)->producer() != nullptr)
              pending.push_back(Resolved(input)->producer());
        };
        enter(node->inputs());
        enter(node->implicit_inputs());
      }
    }
  }

  // Recomputes everything that depends on named values when the node's inputs are other values.
  void ComputeFromGiven(Emitter& emitter) {
    std::unordered_map<const ValueDef*, ValueDef*> anew;
    std::unordered_set<const ValueDef*> changed;
    for (size_t i = 0; i < count_; ++i) {
      if (given_[i] == named_[i]) continue;
      anew.emplace(named_[i], given_[i]);
      changed.insert(named_[i]);
    }
    if (anew.empty()) return;
    for (Node*& node : path_) {
      if (!Reads(*node, changed)) continue;
      if (!node->subgraphs().empty()) {
        emitter.Unsupported(
            "{} would have to be computed from what is given, and has a nested graph; give the values "
            "that 'xs' and 'zs' name",
            NodeLabel(*node));
      }
      Values inputs;
      for (ValueDef* input : node->inputs()) {
        const auto found = input == nullptr ? anew.end() : anew.find(Resolved(input));
        inputs.push_back(emitter.Import(found == anew.end() ? Resolved(input) : found->second));
      }
      const Values outputs = emitter.Again(*node, inputs);
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (node->outputs()[i] == nullptr) continue;
        anew.emplace(node->outputs()[i], outputs[i]);
        changed.insert(node->outputs()[i]);
      }
      node = outputs.front()->producer();
    }
    for (ValueDef*& named : named_) {
      if (anew.contains(named)) named = anew.at(named);
    }
    if (anew.contains(y_)) y_ = anew.at(y_);
  }

  void Finish(Emitter& emitter, const Tape& tape) {
    Graph& graph = node_.graph();
    for (size_t i = 0; i < node_.outputs().size(); ++i) {
      ValueDef* output = node_.outputs()[i];
      if (output == nullptr) continue;
      Value derivative = tape.Of(named_[i]);
      if (derivative == nullptr) derivative = emitter.Zeros(emitter.Import(named_[i]));
      graph.ReplaceOutput(&node_, i, graph.AddValue(graph.FreshName("unused")));
      graph.AddNode("Identity", "", SinceVersion("", "Identity", graph.Opset("")), {derivative}, {output}, {},
                    graph.FreshName(emitter.NameOf("output")));
    }
    graph.RemoveNode(&node_);
  }

  Node& node_;
  size_t* budget_;  // remaining nodes to visit and create, for all Gradients of the model
  size_t xs_, count_;
  ValueDef* y_ = nullptr;
  std::vector<ValueDef*> given_, named_;  // first xs, then zs
  std::vector<Node*> path_;
};

// Returns false when all Gradient nodes are expanded. Returns true after function calls were replaced; the caller then
// starts again, because no Gradient may be in progress during the replacement.
bool ExpandAll(Model& model, const ProgressCallback& on_progress, const OperatorSchemas* schemas, size_t* budget) {
  std::vector<Node*> gradients;
  FindGradients(*model.graph, &gradients);
  RunningInference inference(*model.graph, on_progress, schemas);
  for (Node* node : gradients) {
    Expansion expansion(*node, budget);
    const std::unordered_set<const Node*> calls = expansion.WithoutRule();
    if (!calls.empty() && InlineFunctions(
                              model, [&](const Node& call) { return !calls.contains(&call); }, schemas))
      return true;
    expansion.Run(inference);
  }
  model.graph->Finalize();
  return false;
}

}  // namespace

bool IsGradient(const Node& node) { return node.Is("Gradient", kPreviewTrainingDomain); }

bool ExpandGradients(Model& model, const ProgressCallback& on_progress, const OperatorSchemas* schemas) {
  if (!HasGradient(*model.graph)) return false;
  return WithPrintableErrors("", [&] {
    size_t budget = std::min(kMostBudget, kLeastBudget + kBudgetPerNode * CountNodes(*model.graph));
    while (ExpandAll(model, on_progress, schemas, &budget)) {
    }
    InferTypes(*model.graph, on_progress, schemas);
    return true;
  });
}

}  // namespace epiphyte::core
