// Editor: who makes and who reads each value of a graph while it is rewritten.
//
//   ir::Editor editor(graph);
//   for (int32_t n = 0; n < editor.node_count(); ++n) {
//     if (!editor.Is(n, "Relu")) continue;
//     const int32_t conv = editor.ProducerOf(editor.node(n).inputs[0], "Conv");
//     if (conv < 0 || editor.OnlyReader(editor.node(n).inputs[0]) != n) continue;
//     ir::Node fused = editor.node(conv);
//     fused.domain = "mine";
//     fused.outputs = editor.node(n).outputs;
//     editor.Replace(n, std::move(fused));   // the Conv has no reader any more, and is gone
//   }
//   editor.Finish();
//
// Nodes are replaced in place, so the order in which they run holds; numbers of nodes and values stay what they are
// until Finish.
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
  // The graph outlives the editor, and nobody else changes it meanwhile.
  explicit Editor(Graph& graph);

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  int32_t node_count() const { return static_cast<int32_t>(graph_.nodes.size()); }
  const Node& node(int32_t index) const { return graph_.nodes[static_cast<size_t>(index)]; }
  bool removed(int32_t node) const { return removed_[static_cast<size_t>(node)]; }

  // The node that makes a value, or -1.
  int32_t Producer(int32_t value) const { return value < 0 ? -1 : producer_[static_cast<size_t>(value)]; }
  // As Producer, if it is of that operator (of ai.onnx), else -1.
  int32_t ProducerOf(int32_t value, std::string_view op_type) const;
  // False for -1 and for what has been removed.
  bool Is(int32_t node, std::string_view op_type) const {
    return node >= 0 && !removed(node) && this->node(node).Is(op_type);
  }
  // Nodes that read a value, themselves or in their bodies, one entry a use.
  const std::vector<int32_t>& Readers(int32_t value) const { return readers_[static_cast<size_t>(value)]; }
  bool IsOutput(int32_t value) const { return is_output_[static_cast<size_t>(value)]; }
  // The only reader of a value that is no output, or -1.
  int32_t OnlyReader(int32_t value) const {
    return Readers(value).size() == 1 && !IsOutput(value) ? Readers(value)[0] : -1;
  }

  const Value& info(int32_t value) const { return graph_.values[static_cast<size_t>(value)]; }
  bool IsFloat(int32_t value) const { return value >= 0 && info(value).type == EP_TYPE_FLOAT; }
  // Both shapes known and equal.
  bool SameStaticShape(int32_t a, int32_t b) const;
  // The elements of a constant whose bytes are there; else null.
  const Tensor* ConstantOf(int32_t value) const;
  // The elements of a float constant, of an int64 (or int32) one. Copies: the host's bytes need not be aligned.
  std::optional<std::vector<float>> Floats(int32_t value) const;
  std::optional<std::vector<int64_t>> Ints(int32_t value) const;
  // The one element of a constant of numbers (any number type).
  bool Scalar(int32_t value, float* number) const;
  // To within 1e-5, relative to numbers above 1.
  bool IsScalarNear(int32_t value, double number) const;

  // Puts `replacement` at the place of `node`. Values that `node` made and `replacement` doesn't must not be read.
  // Nodes that nobody needs any more are removed.
  void Replace(int32_t node, Node replacement);
  // Adds a node that runs before `place`, and gives its number. Its outputs are values that nothing made before.
  int32_t InsertBefore(int32_t place, Node node);
  // Whoever reads `from` reads `to` from now on, and the graph gives that out instead; but the node that makes `to` may
  // go on reading `from`. `to` is made before all of them. Nodes that nobody needs any more are removed.
  void ReplaceUses(int32_t from, int32_t to);
  // A value that nothing makes yet. References to values' infos end.
  int32_t AddValue(Value value);
  // A new float constant, a copy of `data`. References to values' infos end.
  int32_t AddConstant(std::string name, std::vector<int64_t> dims, std::span<const float> data);
  // The same of int64.
  int32_t AddInts(std::string name, std::vector<int64_t> dims, std::span<const int64_t> data);
  // The same of any type; `owner` has the bytes.
  int32_t AddTensor(std::string name, Tensor tensor, std::shared_ptr<void> owner);
  // Drops from the graph what has been removed and what nobody needed to begin with: nodes, then the constants and
  // other values that no node is left to read or make. Values get new numbers, inserted nodes their places; this is the
  // last that an editor does.
  void Finish();

 private:
  void AddReader(int32_t value, int32_t node);
  void RemoveReader(int32_t value, int32_t node);
  // Gives the nodes that made some of its outputs so far.
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
  std::vector<int32_t> inserted_before_;  // the place of each inserted node, in the order in which they came
};

}  // namespace epiphyte::kit::ir
