// Graph: the core's intermediate representation. A Graph owns its nodes and values; nested graphs are owned by the
// attributes of their node. Handles of the C ABI are pointers to these classes.
//
// Values are in SSA form: each has at most one producer. A value is one of: a run-time input, a constant (initializer),
// the output of a node, or an outer-scope value: a local stand-in for a value of an enclosing graph, with the same
// name.
//
//   Graph graph("g");
//   ValueDef* x = graph.AddInput("x", Type::Tensor(DataType::kFloat, Shape{Dim(2)}));
//   ValueDef* y = graph.AddValue("y");
//   graph.AddNode("Relu", "", 14, {x}, {y});
//   graph.SetOutputs({y});
//
// Every edit costs time proportional to the uses it changes, whatever the size of the graph or the number of consumers.
// Thread-compatible: concurrent reads are fine, a write needs exclusive access.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/attribute.h"
#include "core/graph/constant.h"
#include "core/graph/type.h"

namespace epiphyte::core {

class Graph;
class Node;

// `Node::provider` is the provider that the node is assigned to: an index into the session's provider list, or
// kUnplaced.
inline constexpr int32_t kUnplaced = -1;

class ValueDef {
 public:
  uint32_t id() const { return id_; }
  const std::string& name() const { return name_; }
  const TypePtr& type() const { return type_; }
  void set_type(TypePtr type) { type_ = std::move(type); }
  // The type of a model output according to inference alone; type() may contain more, which the model declares without
  // proof. Null for other values, and when inference knows nothing.
  const TypePtr& inferred_type() const { return inferred_type_; }
  void set_inferred_type(TypePtr type) { inferred_type_ = std::move(type); }
  Graph& graph() const { return *graph_; }

  Node* producer() const { return producer_; }
  uint32_t producer_output() const { return producer_output_; }
  // One entry for each use as a node input, implicit inputs included. Removing a use moves the last entry into its
  // place.
  const std::vector<Node*>& consumers() const { return consumers_; }

  bool IsConstant() const { return constant_ != nullptr; }
  const ConstantPtr& constant() const { return constant_; }
  bool IsInput() const { return is_input_; }
  // The data of an overridable initializer, which is an input that a run may omit. It is no constant. Null for other
  // values.
  const ConstantPtr& default_value() const { return default_value_; }
  bool IsOutput() const { return output_uses_ > 0; }
  bool IsOuterScope() const { return outer_ != nullptr; }
  // The value of the enclosing graph that this value stands for; null for other values.
  ValueDef* outer() const { return outer_; }
  // The data of a constant, also when this value stands for a constant of an enclosing graph; null otherwise.
  const ConstantPtr& ResolvedConstant() const;

  // Set by the reader when the constant's bytes were outside the model file.
  std::unique_ptr<ExternalLocation> external;

 private:
  friend class Graph;
  uint32_t id_ = 0;
  bool is_input_ = false;
  uint32_t output_uses_ = 0;
  uint32_t producer_output_ = 0;
  std::string name_;
  TypePtr type_;
  TypePtr inferred_type_;
  Graph* graph_ = nullptr;
  Node* producer_ = nullptr;
  ValueDef* outer_ = nullptr;
  ConstantPtr constant_;
  ConstantPtr default_value_;
  std::vector<Node*> consumers_;
  std::vector<uint32_t> slots_;  // parallel to consumers_: which input of the consumer, see Graph::AddUse
};

class Node {
 public:
  uint32_t id() const { return id_; }
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  const std::string& op_type() const { return *op_type_; }
  const std::string& domain() const { return *domain_; }
  bool Is(std::string_view op_type, std::string_view domain = "") const {
    return *op_type_ == op_type && *domain_ == domain;
  }
  int64_t since_version() const { return since_version_; }
  void set_since_version(int64_t version) { since_version_ = version; }
  Graph& graph() const { return *graph_; }

  // A null entry is an optional input or output that is left out.
  const std::vector<ValueDef*>& inputs() const { return inputs_; }
  const std::vector<ValueDef*>& outputs() const { return outputs_; }
  const std::vector<ValueDef*>& implicit_inputs() const { return implicit_inputs_; }
  ValueDef* input(size_t index) const { return index < inputs_.size() ? inputs_[index] : nullptr; }
  ValueDef* output(size_t index) const { return index < outputs_.size() ? outputs_[index] : nullptr; }

  const std::vector<std::unique_ptr<Attribute>>& attributes() const { return attributes_; }
  const Attribute* FindAttribute(std::string_view name) const;
  int64_t IntAttribute(std::string_view name, int64_t fallback) const;
  float FloatAttribute(std::string_view name, float fallback) const;
  // Empty string when absent.
  std::string StringAttribute(std::string_view name, std::string_view fallback = "") const;
  // Replaces an attribute with the same name.
  void SetAttribute(Attribute attribute);
  void RemoveAttribute(std::string_view name);
  // Bodies, in attribute order; owned by the attributes.
  const std::vector<Graph*>& subgraphs() const { return subgraphs_; }

  int32_t provider = kUnplaced;

 private:
  friend class Graph;
  uint32_t id_ = 0;
  int64_t since_version_ = 0;
  const std::string* op_type_ = nullptr;  // interned by the graph
  const std::string* domain_ = nullptr;
  std::string name_;
  Graph* graph_ = nullptr;
  std::vector<ValueDef*> inputs_;
  std::vector<ValueDef*> outputs_;
  std::vector<ValueDef*> implicit_inputs_;
  std::vector<uint32_t> input_positions_;  // where each input is in its value's consumers
  std::vector<uint32_t> implicit_positions_;
  std::vector<std::unique_ptr<Attribute>> attributes_;
  std::vector<Graph*> subgraphs_;
};

class Graph {
 public:
  explicit Graph(std::string name);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  Node* parent() const { return parent_; }

  // Domain → version; "" is ai.onnx. Nested graphs carry a copy.
  const std::map<std::string, int64_t>& opsets() const { return opsets_; }
  void SetOpset(std::string domain, int64_t version);
  int64_t Opset(std::string_view domain) const;  // 0 when not imported

  // --- values. Names are unique in a graph: adding one twice throws INVALID_GRAPH. An empty name gets a fresh one.
  ValueDef* AddInput(std::string name, TypePtr type);
  // Adds an input with a default: runs that omit it use the data of `constant`.
  ValueDef* AddOverridable(std::string name, ConstantPtr constant);
  ValueDef* AddConstant(std::string name, ConstantPtr constant);
  ValueDef* AddValue(std::string name, TypePtr type = nullptr);
  // A stand-in for `outer`, made on first use. When this graph already belongs to a node, that node gets `outer` as an
  // implicit input.
  ValueDef* AddOuterScope(ValueDef* outer);
  ValueDef* FindValue(std::string_view name) const;
  // A name derived from `stem` that no value of this graph or an enclosing one has. `stem` itself when it is free.
  std::string FreshName(std::string_view stem) const;
  // Turns a value without producer into a constant.
  void SetConstant(ValueDef* value, ConstantPtr constant);
  // Removes a value that has no producer and no uses and is neither input nor output.
  void RemoveValue(ValueDef* value);
  // In id order; an entry may be null after removals until Finalize().
  std::span<const std::unique_ptr<ValueDef>> values() const { return values_; }
  size_t value_count() const { return value_count_; }

  const std::vector<ValueDef*>& inputs() const { return inputs_; }
  const std::vector<ValueDef*>& outputs() const { return outputs_; }
  void SetInputs(std::vector<ValueDef*> inputs);
  // A value may be listed more than once.
  void SetOutputs(std::vector<ValueDef*> outputs);

  // --- nodes
  // Takes the attributes; registers nested graphs with this one as parent. Outputs must be fresh values of this graph:
  // one that already has a producer throws INVALID_GRAPH.
  Node* AddNode(std::string_view op_type, std::string_view domain, int64_t since_version, std::vector<ValueDef*> inputs,
                std::vector<ValueDef*> outputs, std::vector<Attribute> attributes = {}, std::string name = {});
  // Detaches inputs and outputs; the output values stay, without a producer.
  void RemoveNode(Node* node);
  // An index past the end appends, with inputs left out in between. Inputs left out at the end are dropped.
  void ReplaceInput(Node* node, size_t index, ValueDef* value);
  // Every use of `from` (node inputs, implicit inputs together with the stand-ins in nested graphs, graph outputs)
  // becomes a use of `to`.
  void ReplaceAllUses(ValueDef* from, ValueDef* to);
  // Moves output `index` of `node` to `value`, which must have no producer.
  void ReplaceOutput(Node* node, size_t index, ValueDef* value);
  // Nodes in insertion order; an entry may be null after removals until Finalize().
  std::span<const std::unique_ptr<Node>> nodes() const { return nodes_; }
  size_t node_count() const { return node_count_; }

  // --- order
  // Nodes in a deterministic topological order. It is the insertion order if that is topological (checked in linear
  // time); otherwise Kahn's algorithm, with ties in insertion order. Throws INVALID_GRAPH and names a node on a cycle.
  std::vector<Node*> TopologicalOrder() const;
  // Removes null entries, unreferenced values (constants and inputs stay) and unused stand-ins. Sorts the nodes
  // topologically, renumbers ids, and builds the pointer arrays for the C ABI, in nested graphs too. Call it after
  // changing a graph and before handing it to a plugin.
  void Finalize();

  // --- copies
  // Deep copy; constants are shared. In a copy of a nested graph, outer-scope values stand for the same outer values,
  // or for the values to which `outer` maps these.
  using OuterMap = std::function<ValueDef*(ValueDef*)>;
  std::unique_ptr<Graph> Clone(const OuterMap& outer = {}) const;
  // Returns a separate graph that computes what `nodes` compute. `nodes` belong to this graph and are closed under
  // convexity. Inputs of the new graph are the values that `nodes` read but don't produce; outputs are the values that
  // other nodes or the graph's outputs need. Both are in a deterministic order. Constants that `nodes` read, also of
  // enclosing graphs, become its constants (shared). Other outer-scope values become plain inputs. `boundary` receives
  // the values of this graph that correspond to the new inputs and outputs.
  struct Boundary {
    std::vector<ValueDef*> inputs;
    std::vector<ValueDef*> outputs;
  };
  std::unique_ptr<Graph> Extract(std::span<Node* const> nodes, std::string name, Boundary* boundary) const;
  // Like Extract, but moves the nodes, the values between them and the constants that only they use out of this graph,
  // so that splitting a graph costs no memory. Nodes keep their addresses and lose their `provider`. Values on the
  // boundary stay in this graph; those that the nodes produced have no producer.
  std::unique_ptr<Graph> Detach(std::span<Node* const> nodes, std::string name, Boundary* boundary);

  void FillAbi(EpGraphInfo* info) const;

 private:
  friend class Node;
  ValueDef* NewValue(std::string name, TypePtr type);
  void Rename(ValueDef* value, std::string name);
  void MoveValueTo(Graph* target, ValueDef* value);
  const std::string* Intern(std::string_view text);
  void CheckMember(const ValueDef* value) const;

  // A slot is an input's index, plus kImplicitSlot for implicit inputs. Each use stores its position among the value's
  // consumers and vice versa, so that adding or removing a use takes constant time.
  static constexpr uint32_t kImplicitSlot = 1u << 31;
  static uint32_t& PositionOf(Node* node, uint32_t slot);
  static void AddUse(ValueDef* value, Node* node, uint32_t slot);
  static void RemoveUse(ValueDef* value, Node* node, uint32_t slot);
  static uint32_t FindImplicitInput(const Node& node, const ValueDef* value);  // count of implicit inputs: not found
  static void AddImplicitInput(Node* node, ValueDef* value);
  static void RemoveImplicitInput(Node* node, ValueDef* value);
  static bool HasStandIn(const Node& node, const ValueDef* value);
  static void ReplaceImplicitInput(Node* node, ValueDef* from, ValueDef* to);
  static void ReplaceUse(Node* node, uint32_t slot, ValueDef* from, ValueDef* to);
  ValueDef* StandInFor(const ValueDef* outer) const;

  // Nested graphs of an attribute: these functions check that they fit below this graph, adopt them, and release them.
  void CheckSubgraphs(const Attribute& attribute) const;
  static void AdoptSubgraphs(Node* node, const Attribute& attribute);
  static void ReleaseSubgraphs(Node* node, const Attribute& attribute);
  std::vector<Node*> KahnOrder() const;
  void DropUnreferencedValues();

  std::string name_;
  Node* parent_ = nullptr;
  std::map<std::string, int64_t> opsets_;
  std::vector<std::unique_ptr<ValueDef>> values_;
  std::vector<std::unique_ptr<Node>> nodes_;
  size_t value_count_ = 0;
  size_t node_count_ = 0;
  std::vector<ValueDef*> inputs_;
  std::vector<ValueDef*> outputs_;
  std::unordered_map<std::string_view, ValueDef*> by_name_;  // keys view ValueDef::name_
  std::set<std::string, std::less<>> interned_;
  mutable uint64_t next_fresh_ = 1;
  TypePtr last_constant_type_;  // shared by consecutive constants of one type
  // Arrays for the C ABI, built by Finalize().
  std::vector<const EpNode*> abi_nodes_;
  std::vector<const EpValueDef*> abi_constants_;
  std::vector<const char*> opset_domains_;
  std::vector<int64_t> opset_versions_;
};

// Handles of the C ABI. The cast is the identity on addresses.
inline const EpGraph* ToAbi(const Graph* graph) { return reinterpret_cast<const EpGraph*>(graph); }
inline const EpNode* ToAbi(const Node* node) { return reinterpret_cast<const EpNode*>(node); }
inline const EpValueDef* ToAbi(const ValueDef* value) { return reinterpret_cast<const EpValueDef*>(value); }
inline const EpAttribute* ToAbi(const Attribute* attribute) { return reinterpret_cast<const EpAttribute*>(attribute); }
inline const Graph* FromAbi(const EpGraph* graph) { return reinterpret_cast<const Graph*>(graph); }
inline const Node* FromAbi(const EpNode* node) { return reinterpret_cast<const Node*>(node); }
inline const ValueDef* FromAbi(const EpValueDef* value) { return reinterpret_cast<const ValueDef*>(value); }
inline const Attribute* FromAbi(const EpAttribute* attribute) { return reinterpret_cast<const Attribute*>(attribute); }

// Fill the C ABI's structs as far as info->struct_size reaches. Arrays of ValueDef* and Node* are handed out without a
// copy.
void FillNodeInfo(const Node& node, EpNodeInfo* info);
void FillValueDefInfo(const ValueDef& value, EpValueDefInfo* info);

// A model: the top-level graph and the file's metadata.
struct Model {
  int64_t ir_version = 0;
  std::string producer_name;
  std::string producer_version;
  std::string domain;
  int64_t model_version = 0;
  std::string doc_string;
  std::map<std::string, std::string> metadata;
  std::unique_ptr<Graph> graph;
  // Model-local functions that are not inlined yet, by {domain, name, overload}; owned by core/onnx.
  std::shared_ptr<const void> functions;
  std::shared_ptr<const void> storage;  // keeps mapped files alive as long as constants view them
};

}  // namespace epiphyte::core
