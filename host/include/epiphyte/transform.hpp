// Custom graph transforms and rewrite rules of an application. They change a model's graph before providers are asked.
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
// Custom transforms run in the order in which they were added, on the thread that creates the session. They run before
// partitioning and after Epiphyte's own transforms, which have removed unneeded nodes as far as
// epiphyte.graph_optimization_level allows. Custom transforms run for the model's graph and again for each nested graph
// (the bodies of If, Loop, Scan), outer graphs first. A session that starts over because a provider failed runs them
// again on the model as it was read. They don't run on a context model, because it contains their result already.
//
// After each transform the model is checked as a model from a file is. A cycle, a value without a producer, an unknown
// operator, mismatched types and a rule that doesn't terminate are errors of the session, and the error names the
// transform. An exception becomes the session's error: an epiphyte::Error keeps its code, any other exception gives
// FAIL. Dead nodes are removed. `optimization.disable_specified_optimizers` disables transforms and rules by name.
//
// Handles (GraphNode, GraphValue) are small and cheap to copy. A handle throws INVALID_ARGUMENT after its node or value
// was removed, and after the call in which it was created. Nothing here is thread-safe.
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

// An input of the graph, a constant, an output of a node, or, in a nested graph, a value of an enclosing graph.
class EPIPHYTE_API GraphValue {
 public:
  GraphValue() = default;  // empty: an omitted optional input

  explicit operator bool() const { return state_ != nullptr; }
  friend bool operator==(const GraphValue& a, const GraphValue& b) { return a.Same(b); }

  std::string name() const;
  TypeInfo type() const;
  bool is_input() const;
  bool is_output() const;
  bool is_constant() const;  // true also for a constant of an enclosing graph
  // Returns the constant's data, or an empty value for other values. The data shares the model's memory and is
  // read-only: MutableData throws INVALID_ARGUMENT.
  Value constant() const;
  GraphNode producer() const;  // empty for a value that no node of this graph produces
  // Returns each consumer once, also nodes with a body that reads the value.
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
  GraphNode() = default;  // empty

  explicit operator bool() const { return state_ != nullptr; }
  friend bool operator==(const GraphNode& a, const GraphNode& b) { return a.Same(b); }

  std::string name() const;
  std::string op_type() const;
  std::string domain() const;  // "" is ai.onnx
  int64_t since_version() const;
  bool has_bodies() const;  // true for If, Loop, Scan

  // An omitted input or output is an empty value.
  std::vector<GraphValue> inputs() const;
  std::vector<GraphValue> outputs() const;
  // Returns an empty value for an omitted one and for an index past the end.
  GraphValue input(size_t index) const;
  GraphValue output(size_t index) const;

  std::vector<std::string> attribute_names() const;
  // Returns nullopt if there is no attribute of that name, or if AttributeValue can't hold its kind: a graph, a sparse
  // tensor, a type, a list of these or of tensors.
  std::optional<AttributeValue> attribute(std::string_view name) const;
  // Returns the attribute's value if it has type T, else `fallback`: node.attribute_or<int64_t>("axis", -1).
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
  std::string name;    // "": named after the transform and the operator
};

// Editor of one graph. A function that throws INVALID_ARGUMENT leaves the graph unchanged.
class EPIPHYTE_API GraphEditor {
 public:
  GraphEditor(const GraphEditor&) = delete;
  GraphEditor& operator=(const GraphEditor&) = delete;

  bool is_nested() const;
  // Returns the opset version that the model imports; 0: the domain isn't imported.
  int64_t opset(std::string_view domain = "") const;
  // Returns the nodes in topological order; added nodes are at the end.
  std::vector<GraphNode> nodes() const;
  std::vector<GraphValue> inputs() const;  // without constants
  std::vector<GraphValue> outputs() const;
  GraphValue FindValue(std::string_view name) const;  // empty if no value has the name

  // Adds a constant. It shares the tensor's memory; don't change that memory afterwards.
  GraphValue AddConstant(const Value& tensor, std::string_view name = "constant");
  // Adds a node with the operator's version in the graph's opset. Its outputs get names and, after the transform,
  // types.
  GraphNode AddNode(const NewNode& node);
  // Imports a domain, for custom operators of a provider. Throws when the model imports another version of the domain.
  void ImportDomain(std::string_view domain, int64_t version);

  // An empty value omits the input; an index past the end appends.
  void SetInput(const GraphNode& node, size_t index, const GraphValue& value);
  // Sets or adds an attribute. Attributes that are graphs can't be set.
  void SetAttribute(const GraphNode& node, std::string_view name, const AttributeValue& value);
  void RemoveAttribute(const GraphNode& node, std::string_view name);

  // All readers of `from` read `to` instead. Exception: nodes that this transform added and that produce `to` keep
  // reading `from`, so new nodes can be inserted behind a value. An output of the graph keeps its name: the producer of
  // `to` then produces `from`, directly or through an Identity.
  void ReplaceUses(const GraphValue& from, const GraphValue& to);
  // Calls ReplaceUses for each used output, then Remove. An Identity that gives an output of the graph its name stays.
  void Replace(const GraphNode& node, const GraphValue& value) { Replace(node, std::vector<GraphValue>{value}); }
  void Replace(const GraphNode& node, const std::vector<GraphValue>& values);
  // Removes a node. Throws when one of its outputs is read. Dead nodes need no call: they are removed after the
  // transform.
  void Remove(const GraphNode& node);

 private:
  friend class GraphState;
  explicit GraphEditor(std::shared_ptr<GraphState> state) : state_(std::move(state)) {}
  std::shared_ptr<GraphState> state_;
};

// A transform that sees a whole graph and may change any part of it.
struct GraphTransform {
  std::string name;  // unique among the session's transforms: 1 to 128 letters, digits, '.', '_', '-', ':' and '/'
  // Change the version whenever the transform's behaviour changes: it is part of the context cache's key. "": with
  // session.context_cache_dir the model is compiled in every session.
  std::string version;
  std::function<void(GraphEditor& graph)> apply;
};

// A rule that rewrites single nodes and their neighbours until no node matches any more.
struct RewriteRule {
  std::string name;     // as GraphTransform::name
  std::string version;  // as GraphTransform::version
  std::string op_type;  // op type of the candidate nodes; "": all nodes
  std::string domain;   // domain of op_type; "" is ai.onnx
  // Selects the candidates to rewrite; empty: all.
  std::function<bool(const GraphNode& node)> matches;
  // May change any part of the graph, or nothing. If it changes nothing, the next node is tried.
  std::function<void(GraphEditor& graph, const GraphNode& node)> rewrite;
};

}  // namespace epiphyte
