// NodeInference: the interface of an inference function to one node: reads its inputs and sets the types of its
// outputs.
//
//   void InferTranspose(NodeInference& node) {
//     if (const Shape* shape = node.shape(0)) node.SetTensor(0, node.element(0), Reversed(*shape));
//   }
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/onnx/infer/value_data.h"

namespace epiphyte::core {

class NodeInference {
 public:
  NodeInference(const Node& node, ValueData& data) : node_(node), data_(data), outputs_(node.outputs().size()) {}

  const Node& node() const { return node_; }
  ValueData& data() const { return data_; }

  // --- inputs; every index is valid
  // Null when the input is omitted or its type is unknown.
  const Type* type(size_t index) const;
  // kUndefined when the input is no tensor or unknown.
  DataType element(size_t index) const;
  // Null when the input is no tensor or its rank is unknown.
  const Shape* shape(size_t index) const;
  std::optional<std::vector<int64_t>> ints(size_t index) const { return data_.FindInts(node_.input(index)); }
  std::optional<std::vector<float>> floats(size_t index) const;

  // --- outputs; an index past the end or a null type is ignored
  void Set(size_t index, TypePtr type);
  // `shape` nullopt: unknown rank. Does nothing for an undefined element type.
  void SetTensor(size_t index, DataType element, std::optional<Shape> shape);
  // Shares the type of an input.
  void SetLike(size_t index, size_t input);
  const TypePtr& output(size_t index) const { return outputs_.at(index); }

  // Throws INVALID_GRAPH and names the node.
  template <typename... Args>
  [[noreturn]] void Reject(fmt::format_string<Args...> format, Args&&... args) const {
    RejectBecause(fmt::format(format, std::forward<Args>(args)...));
  }
  // Converts an axis in [-rank, rank) to an index; rejects others.
  size_t Axis(int64_t axis, size_t rank) const;
  // The attribute if it holds integers, else `fallback`.
  std::vector<int64_t> Ints(std::string_view attribute, std::vector<int64_t> fallback = {}) const;

 private:
  [[noreturn]] void RejectBecause(std::string_view reason) const;

  const Node& node_;
  ValueData& data_;
  std::vector<TypePtr> outputs_;
};

// The shape that an integer input describes: with sizes, symbols, or only the rank. nullopt when even the rank is
// unknown. Rejects negative sizes.
std::optional<Shape> ShapeFromInput(const NodeInference& node, size_t index);
// Numpy broadcasting. An unknown dimension stays unknown unless the other side determines the result. Rejects shapes
// that can't be broadcast.
Shape Broadcast(const NodeInference& node, const Shape& a, const Shape& b);
// a + b and a * b for sizes that may be unknown. Unknown on overflow.
Dim AddDims(const Dim& a, int64_t b);
Dim MulDims(const Dim& a, const Dim& b);

}  // namespace epiphyte::core
