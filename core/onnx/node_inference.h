// NodeInference: what an inference function sees of one node, and where it puts its results.
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
#include "core/onnx/value_data.h"

namespace epiphyte::core {

class NodeInference {
 public:
  NodeInference(const Node& node, ValueData& data) : node_(node), data_(data), outputs_(node.outputs().size()) {}

  const Node& node() const { return node_; }
  ValueData& data() const { return data_; }

  // --- inputs; all accept any index
  // Null when the input is left out or nothing is known of its type.
  const Type* type(size_t index) const;
  // kUndefined when not a tensor or not known.
  DataType element(size_t index) const;
  // Null when not a tensor or of unknown rank.
  const Shape* shape(size_t index) const;
  std::optional<std::vector<int64_t>> ints(size_t index) const { return data_.FindInts(node_.input(index)); }
  std::optional<std::vector<float>> floats(size_t index) const;

  // --- outputs; an index past the end and a null type are ignored
  void Set(size_t index, TypePtr type);
  // `shape` nullopt: rank unknown. An undefined element type sets nothing.
  void SetTensor(size_t index, DataType element, std::optional<Shape> shape);
  // The type of an input, shared.
  void SetLike(size_t index, size_t input);
  const TypePtr& output(size_t index) const { return outputs_.at(index); }

  // INVALID_GRAPH naming the node.
  template <typename... Args>
  [[noreturn]] void Reject(fmt::format_string<Args...> format, Args&&... args) const {
    RejectBecause(fmt::format(format, std::forward<Args>(args)...));
  }
  // An axis in [-rank, rank) as an index; rejects others.
  size_t Axis(int64_t axis, size_t rank) const;
  // The attribute if it holds integers, else `fallback`.
  std::vector<int64_t> Ints(std::string_view attribute, std::vector<int64_t> fallback = {}) const;

 private:
  [[noreturn]] void RejectBecause(std::string_view reason) const;

  const Node& node_;
  ValueData& data_;
  std::vector<TypePtr> outputs_;
};

// The shape that an integer input describes: sizes, symbols, or only how many dimensions there are; nullopt when not
// even that is known. Rejects negative sizes.
std::optional<Shape> ShapeFromInput(const NodeInference& node, size_t index);
// Numpy broadcasting; unknown dimensions stay unknown unless the other side decides. Rejects what can't be broadcast.
Shape Broadcast(const NodeInference& node, const Shape& a, const Shape& b);
// a + b, a * b of sizes that may be unknown; unknown on overflow.
Dim AddDims(const Dim& a, int64_t b);
Dim MulDims(const Dim& a, const Dim& b);

}  // namespace epiphyte::core
