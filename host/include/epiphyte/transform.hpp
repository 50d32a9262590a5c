// Transforms and rewrite rules of the application's own: they change a model's graph before providers are asked.
//
//   epiphyte::RewriteRule rule;                       // x * x becomes Pow(x, 2)
//   rule.name = "acme.SquareToPow";
//   rule.op_type = "Mul";
//   rule.matches = [](const epiphyte::GraphNode& node) { return node.input(0) == node.input(1); };
//   rule.rewrite = [](epiphyte::GraphEditor& graph, const epiphyte::GraphNode& node) {
//     epiphyte::GraphValue two = graph.AddConstant(epiphyte::Value::Copy<float>(std::vector<float>{2}, {}));
//     graph.Replace(node, graph.AddNode({.op_type = "Pow", .inputs = {node.input(0), two}}).output(0));
//   };
//   options.AddRewriteRule(rule);
//   epiphyte::Session session(environment, "model.onnx", options);
//
// They run in the order in which they were added, after the transforms of Epiphyte (which drop what no provider needs,
// as epiphyte.graph_optimization_level has it) and before the graph is partitioned, on the thread that creates the
// session: for the model's graph, and again for each graph nested in it (the bodies of If, Loop, Scan), outer ones
// first. A session that begins anew because a provider failed runs them again, on the model as it was read. A context
// model is what came of them: on one they don't run.
//
// After each the model is checked as one from a file is: a cycle, a value that nobody makes, an operator that doesn't
// exist, types that don't fit, and a rule that finds no end are errors of the session that name the transform.
// What they throw becomes the session's error, with the code of an epiphyte::Error, FAIL otherwise. Nodes that nothing
// depends on any more are removed. `optimization.disable_specified_optimizers` leaves them out by name.
//
// Handles (GraphNode, GraphValue) are small and cheap to copy. One that is used after what it stands for was removed,
// or after the call that it was made in, throws INVALID_ARGUMENT. Nothing here is thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "epiphyte/export.hpp"
#include "epiphyte/type.hpp"
#include "epiphyte/value.hpp"

namespace epiphyte {

class GraphEditor;
class GraphNode;
class GraphState;

// An integer, a float, a string, a list of one of these, or a tensor.
using AttributeValue = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                                    std::vector<std::string>, Value>;

// An input of the graph, a constant, what a node makes, or, in a nested graph, a value of a graph around it.
class EPIPHYTE_API GraphValue {
 public:
  GraphValue() = default;  // nothing: an optional input that is left out

  explicit operator bool() const { return state_ != nullptr; }
  friend bool operator==(const GraphValue& a, const GraphValue& b) { return a.Same(b); }

  std::string name() const;
  TypeInfo type() const;
  bool is_input() const;
  bool is_output() const;
  bool is_constant() const;  // also of a graph around this one
  // Empty unless constant. It shares the model's memory and is read-only: MutableData throws INVALID_ARGUMENT.
  Value constant() const;
  GraphNode producer() const;  // empty for what no node of this graph makes
  // Each node once; also those that have a body that reads the value.
  std::vector<GraphNode> consumers() const;

 private:
  friend class GraphEditor;
  friend class GraphNode;
  friend class GraphState;
  GraphValue(std::shared_ptr<GraphState> state, size_t index) : state_(std::move(state)), index_(index) {}
  bool Same(const GraphValue& other) const;

  std::shared_ptr<GraphState> state_;
  size_t index_ = 0;
};

class EPIPHYTE_API GraphNode {
 public:
  GraphNode() = default;  // none

  explicit operator bool() const { return state_ != nullptr; }
  friend bool operator==(const GraphNode& a, const GraphNode& b) { return a.Same(b); }

  std::string name() const;
  std::string op_type() const;
  std::string domain() const;  // "" is ai.onnx
  int64_t since_version() const;
  bool has_bodies() const;  // If, Loop, Scan

  // An empty value is one that is left out.
  std::vector<GraphValue> inputs() const;
  std::vector<GraphValue> outputs() const;
  // Empty also when there are fewer.
  GraphValue input(size_t index) const;
  GraphValue output(size_t index) const;

  std::vector<std::string> attribute_names() const;
  // nullopt: there is none of that name, or it is of a kind that AttributeValue doesn't have: a graph, a sparse tensor,
  // a type, a list of these or of tensors.
  std::optional<AttributeValue> attribute(std::string_view name) const;
  // Its value when it is of type T, else `fallback`: node.attribute_or<int64_t>("axis", -1).
  template <typename T>
  T attribute_or(std::string_view name, T fallback) const {
    std::optional<AttributeValue> found = attribute(name);
    T* const value = found ? std::get_if<T>(&*found) : nullptr;
    return value == nullptr ? std::move(fallback) : std::move(*value);
  }

 private:
  friend class GraphEditor;
  friend class GraphState;
  GraphNode(std::shared_ptr<GraphState> state, size_t index) : state_(std::move(state)), index_(index) {}
  bool Same(const GraphNode& other) const;

  std::shared_ptr<GraphState> state_;
  size_t index_ = 0;
};

struct NewNode {
  std::string op_type;
  std::vector<GraphValue> inputs;
  std::map<std::string, AttributeValue> attributes;
  size_t output_count = 1;
  std::string domain;  // "" is ai.onnx
  std::string name;    // "": after the transform and the operator
};

// One graph. Every function that changes it leaves it as it was when it throws INVALID_ARGUMENT.
class EPIPHYTE_API GraphEditor {
 public:
  GraphEditor(const GraphEditor&) = delete;
  GraphEditor& operator=(const GraphEditor&) = delete;

  bool is_nested() const;
  // The version that the model imports; 0: the domain isn't imported.
  int64_t opset(std::string_view domain = "") const;
  // In an order in which each comes after those that it depends on; what was added is at the end.
  std::vector<GraphNode> nodes() const;
  std::vector<GraphValue> inputs() const;  // without constants
  std::vector<GraphValue> outputs() const;
  GraphValue FindValue(std::string_view name) const;  // empty: none has the name

  // A tensor, whose memory is shared and must not be changed from then on.
  GraphValue AddConstant(const Value& tensor, std::string_view name = "constant");
  // In the version of the operator that the graph's opset has. Its outputs get names and, after the transform, types.
  GraphNode AddNode(const NewNode& node);
  // For operators of a provider's own domain. Throws when the model imports another version of it.
  void ImportDomain(std::string_view domain, int64_t version);

  // An empty value leaves the input out; an index past the end appends.
  void SetInput(const GraphNode& node, size_t index, const GraphValue& value);
  // Not of attributes that are graphs.
  void SetAttribute(const GraphNode& node, std::string_view name, const AttributeValue& value);
  void RemoveAttribute(const GraphNode& node, std::string_view name);

  // Whoever reads `from` reads `to` from then on, but for the nodes that this transform added and that `to` is made by:
  // so new nodes can be put behind a value. An output of the graph keeps its name: what makes `to` then makes `from`,
  // directly or through an Identity.
  void ReplaceUses(const GraphValue& from, const GraphValue& to);
  // ReplaceUses for each output that is used, then Remove. An Identity that gives an output of the graph its name
  // stays.
  void Replace(const GraphNode& node, const GraphValue& value) { Replace(node, std::vector<GraphValue>{value}); }
  void Replace(const GraphNode& node, const std::vector<GraphValue>& values);
  // Throws when something reads what it makes. Need not be called for nodes that nothing depends on.
  void Remove(const GraphNode& node);

 private:
  friend class GraphState;
  explicit GraphEditor(std::shared_ptr<GraphState> state) : state_(std::move(state)) {}
  std::shared_ptr<GraphState> state_;
};

// Looks at a whole graph and changes what it wants.
struct GraphTransform {
  std::string name;  // unique among the session's transforms: 1 to 128 letters, digits, '.', '_', '-', ':' and '/'
  // Another one whenever it does something else than before: the context cache tells by it whether a compiled model is
  // this one's. "": with session.context_cache_dir the model is compiled in every session.
  std::string version;
  std::function<void(GraphEditor& graph)> apply;
};

// Rewrites single nodes with what is around them, until none matches any more.
struct RewriteRule {
  std::string name;     // as above
  std::string version;  // as above
  std::string op_type;  // of the nodes that are looked at; "": all
  std::string domain;   // of op_type; "" is ai.onnx
  // Which of them are rewritten; none: all.
  std::function<bool(const GraphNode& node)> matches;
  // May change what it likes, and nothing: then the next node is looked at.
  std::function<void(GraphEditor& graph, const GraphNode& node)> rewrite;
};

}  // namespace epiphyte
