// Emitter: adds ai.onnx nodes to a graph, in the form of its opset. Types are inferred at once, so that later code can
// query shapes.
//
//   const Value y = e.Mul(x, e.Sub(e.Like(1, x), x));
//
// Throws NOT_IMPLEMENTED when the graph's opset can't express an operation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/graph/graph.h"
#include "core/onnx/infer/inference.h"

namespace epiphyte::core::gradient {

using Value = ValueDef*;  // null: omitted
using Values = std::vector<Value>;
using Axes = std::vector<int64_t>;

template <typename... Each>
std::vector<Attribute> Attributes(Each... each) {
  std::vector<Attribute> all;
  (all.push_back(std::move(each)), ...);
  return all;
}

class Emitter {
 public:
  // `label` names the Gradient node in messages. Names of new values begin with `prefix`. `*budget` is the number of
  // nodes that may still be created.
  Emitter(Graph& graph, RunningInference& inference, std::string prefix, std::string label, size_t* budget);

  Graph& graph() { return graph_; }
  const std::string& label() const { return label_; }
  int64_t opset() const { return opset_; }
  // The new nodes in the order of their creation, which is topological.
  const std::vector<Node*>& made() const { return made_; }
  // Makes a value of an enclosing graph available in this graph, through a stand-in.
  Value Import(Value value);
  std::string NameOf(std::string_view stem) const { return prefix_ + std::string(stem); }

  // --- queries
  static DataType TypeOf(const ValueDef* value);  // kUndefined when unknown
  static std::optional<size_t> RankIfKnown(const ValueDef* value);
  size_t RankOf(const ValueDef* value) const;  // throws NOT_IMPLEMENTED when unknown
  // The elements of an integer tensor, if they are known before the run.
  std::optional<std::vector<int64_t>> Ints(Value value) { return inference_.Ints(value); }

  // --- nodes
  Value Op(std::string_view op_type, Values inputs, std::vector<Attribute> attributes = {});
  Values Ops(std::string_view op_type, size_t outputs, Values inputs, std::vector<Attribute> attributes = {});
  // Adds a node with the operator, version and attributes of `source`.
  Values Again(const Node& source, Values inputs);
  Value Add(Value a, Value b) { return Op("Add", {a, b}); }
  Value Sub(Value a, Value b) { return Op("Sub", {a, b}); }
  Value Mul(Value a, Value b) { return Op("Mul", {a, b}); }
  Value Div(Value a, Value b) { return Op("Div", {a, b}); }
  Value Neg(Value a) { return Op("Neg", {a}); }
  Value Sqrt(Value a) { return Op("Sqrt", {a}); }
  Value Square(Value a) { return Mul(a, a); }
  Value Times(Value a, double factor) { return Mul(a, Like(factor, a)); }
  Value Less(Value a, Value b) { return Op("Less", {a, b}); }
  Value Where(Value condition, Value a, Value b) { return Op("Where", {condition, a, b}); }
  Value Cast(Value a, DataType to);
  Value CastLike(Value a, const ValueDef* like) { return Cast(a, TypeOf(like)); }
  Value Transpose(Value a, Axes perm) {
    return Op("Transpose", {a}, Attributes(Attribute::Ints("perm", std::move(perm))));
  }
  Value Reshape(Value a, Value shape);        // 0 means size zero, if the opset can express it
  Value ReshapeAround(Value a, Value shape);  // with one size of -1, which is computed
  Value ReshapeLike(Value a, Value like) { return Reshape(a, ShapeOf(like)); }
  Value Flat(Value a) { return ReshapeAround(a, Integers({-1})); }
  Value Expand(Value a, Value shape) { return Op("Expand", {a, shape}); }
  // Without axes these return `a`.
  Value Unsqueeze(Value a, Axes axes) { return WithAxes("Unsqueeze", a, std::move(axes), 13, {}); }
  Value Squeeze(Value a, Axes axes) { return WithAxes("Squeeze", a, std::move(axes), 13, {}); }
  Value ReduceSum(Value a, Axes axes, bool keep = true);
  // For ReduceMean, ReduceMax and similar operators; keeps the dimensions.
  Value Reduce(std::string_view op_type, Value a, Axes axes);
  Value Concat(Values parts, int64_t axis);
  Value Slice(Value a, Value begin, Value end, Axes axes);
  // Sums `g` to the shape of `x`. `g` has the shape to which `x` was broadcast.
  Value SumTo(Value g, Value x);

  // --- shapes and constants
  Value ShapeOf(Value a) { return Op("Shape", {a}); }
  Value SizeOf(Value a) { return Op("Size", {a}); }
  Value Dim(Value a, int64_t axis) { return Op("Gather", {ShapeOf(a), Integers({axis})}); }  // int64[1]
  Value Dims(Value a, int64_t begin, int64_t end);
  Value Integers(std::vector<int64_t> values);  // int64[n]
  Value Integer(int64_t value);                 // int64 scalar
  Value Number(double value, DataType type);    // scalar
  Value Like(double value, const ValueDef* x) { return Number(value, TypeOf(x)); }
  Value Filled(Value shape, double value, DataType type);
  Value Zeros(Value like) { return Filled(ShapeOf(like), 0, TypeOf(like)); }

  // Reports an operation that can't be expressed. `reason` completes "Gradient node 'x': ".
  template <typename... Args>
  [[noreturn]] void Unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    Fail(StatusCode::kNotImplemented, "{}: {}", label_, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  Values AddNode(std::string_view op_type, std::string_view domain, int64_t version, size_t outputs, Values inputs,
                 std::vector<Attribute> attributes);
  Value WithAxes(std::string_view op_type, Value a, Axes axes, int64_t input_since, std::vector<Attribute> attributes);
  Value AddConstant(ConstantPtr constant);

  Graph& graph_;
  RunningInference& inference_;
  std::string prefix_, label_;
  int64_t opset_;
  size_t* budget_;
  std::vector<Node*> made_;
};

bool IsFloat(DataType type);
// Takes `count` nodes from the budget. Throws INVALID_GRAPH when fewer are left.
void Take(size_t* budget, size_t count, std::string_view label);

}  // namespace epiphyte::core::gradient
