// Editor: keeps the producer and the readers of each value up to date while a graph is rewritten.
//
//   ir::Editor editor(graph);
//   for (int32_t n = 0; n < editor.node_count(); ++n) {
//     if (!editor.Is(n, "Relu")) continue;
//     const int32_t conv = editor.ProducerOf(editor.node(n).inputs[0], "Conv");
//     if (conv < 0 || editor.OnlyReader(editor.node(n).inputs[0]) != n) continue;
//     ir::Node fused = editor.node(conv);
//     fused.domain = "mine";
//     fused.outputs = editor.node(n).outputs;
//     editor.Replace(n, std::move(fused));   // the Conv has no reader any more, and is removed
//   }
//   editor.Finish();
//
// Nodes are replaced in place, so the nodes stay in topological order. Indices of nodes and values stay valid until
// Finish.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit::ir {

class Editor {
 public:
  // The graph must outlive the editor, and only the editor may change it meanwhile.
  explicit Editor(Graph& graph);

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  int32_t node_count() const { return static_cast<int32_t>(graph_.nodes.size()); }
  const Node& node(int32_t index) const { return graph_.nodes[static_cast<size_t>(index)]; }
  bool removed(int32_t node) const { return removed_[static_cast<size_t>(node)]; }

  // Index of the node that makes a value; -1 if there is none.
  int32_t Producer(int32_t value) const { return value < 0 ? -1 : producer_[static_cast<size_t>(value)]; }
  // The producer of a value if it has this operator of ai.onnx, else -1.
  int32_t ProducerOf(int32_t value, std::string_view op_type) const;
  // False for -1 and for removed nodes.
  bool Is(int32_t node, std::string_view op_type) const {
    return node >= 0 && !removed(node) && this->node(node).Is(op_type);
  }
  // Nodes that read a value, themselves or in their bodies; one entry for each use.
  const std::vector<int32_t>& Readers(int32_t value) const { return readers_[static_cast<size_t>(value)]; }
  bool IsOutput(int32_t value) const { return is_output_[static_cast<size_t>(value)]; }
  // The only reader of a value; -1 if there are several, or the value is a graph output.
  int32_t OnlyReader(int32_t value) const {
    return Readers(value).size() == 1 && !IsOutput(value) ? Readers(value)[0] : -1;
  }

  const Value& info(int32_t value) const { return graph_.values[static_cast<size_t>(value)]; }
  bool IsFloat(int32_t value) const { return value >= 0 && info(value).type == EP_TYPE_FLOAT; }
  // True when both shapes are known and equal.
  bool SameStaticShape(int32_t a, int32_t b) const;
  // The elements of a constant if its bytes are available, else null.
  const Tensor* ConstantOf(int32_t value) const;
  // Copies of the elements of a float constant, or of an int64 or int32 constant; nothing for other values. They are
  // copies because the host's bytes need not be aligned.
  std::optional<std::vector<float>> Floats(int32_t value) const;
  std::optional<std::vector<int64_t>> Ints(int32_t value) const;
  // Reads the element of a constant with one element of any number type. False for other values.
  bool Scalar(int32_t value, float* number) const;
  // True for a scalar constant within 1e-5 of `number`; the tolerance is relative for numbers above 1.
  bool IsScalarNear(int32_t value, double number) const;

  // Replaces `node` by `replacement`. Outputs of `node` that `replacement` does not make must have no readers. Nodes
  // that become unused are removed.
  void Replace(int32_t node, Node replacement);
  // Inserts a node that runs before `place`, and returns its index. Its outputs must have no producer yet.
  int32_t InsertBefore(int32_t place, Node node);
  // Makes all readers of `from`, and the graph's outputs, use `to` instead. `to` must be made before all of them. The
  // node that makes `to` may still read `from`. Nodes that become unused are removed.
  void ReplaceUses(int32_t from, int32_t to);
  // Adds a value without a producer. Invalidates references to values.
  int32_t AddValue(Value value);
  // Adds a float constant with a copy of `data`. Invalidates references to values.
  int32_t AddConstant(std::string name, std::vector<int64_t> dims, std::span<const float> data);
  // Adds an int64 constant in the same way.
  int32_t AddInts(std::string name, std::vector<int64_t> dims, std::span<const int64_t> data);
  // Adds a constant of any type in the same way; `owner` keeps its bytes alive.
  int32_t AddTensor(std::string name, Tensor tensor, std::shared_ptr<void> owner);
  // Drops removed and unused nodes, then constants and other values that no remaining node reads or makes. Values get
  // new indices, and inserted nodes move to their places. Do not use the editor afterwards.
  void Finish();

 private:
  void AddReader(int32_t value, int32_t node);
  void RemoveReader(int32_t value, int32_t node);
  // Puts a node at an index, and returns the former producers of its outputs.
  std::vector<int32_t> Place(int32_t index, Node node);
  bool IsDead(int32_t node) const;
  void RemoveDead(std::vector<int32_t> nodes);
  void PlaceInserted();
  void DropUnusedValues();

  Graph& graph_;
  std::vector<int32_t> producer_;
  std::vector<std::vector<int32_t>> readers_;
  std::vector<bool> is_output_;
  std::vector<bool> removed_;
  std::vector<int32_t> inserted_before_;  // place of each inserted node, in order of insertion
};

}  // namespace epiphyte::kit::ir
