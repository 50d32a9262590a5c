// Emitter: adds ai.onnx nodes to a graph, in the form that its opset has. Types are inferred at once, so that what
// follows can ask for shapes.
//
//   const Value y = e.Mul(x, e.Sub(e.Like(1, x), x));
//
// What can't be said in the graph's opset is NOT_IMPLEMENTED.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/graph/graph.h"
#include "core/onnx/inference.h"

namespace epiphyte::core::gradient {

using Value = ValueDef*;  // null: left out
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
  // `label`: the node that it is done for, for messages. Names begin with `prefix`. No more than `*budget` nodes are
  // made, which says how many are left.
  Emitter(Graph& graph, RunningInference& inference, std::string prefix, std::string label, size_t* budget);

  Graph& graph() { return graph_; }
  const std::string& label() const { return label_; }
  int64_t opset() const { return opset_; }
  // In the order of their adding, which is a topological one.
  const std::vector<Node*>& made() const { return made_; }
  // The value as this graph sees it: of an enclosing graph, through a stand-in.
  Value Import(Value value);
  std::string NameOf(std::string_view stem) const { return prefix_ + std::string(stem); }

  // --- what is known
  static DataType TypeOf(const ValueDef* value);  // kUndefined when unknown
  static std::optional<size_t> RankIfKnown(const ValueDef* value);
  size_t RankOf(const ValueDef* value) const;  // NOT_IMPLEMENTED when unknown
  // The elements of an integer tensor, when they are known before the run.
  std::optional<std::vector<int64_t>> Ints(Value value) { return inference_.Ints(value); }

  // --- nodes
  Value Op(std::string_view op_type, Values inputs, std::vector<Attribute> attributes = {});
  Values Ops(std::string_view op_type, size_t outputs, Values inputs, std::vector<Attribute> attributes = {});
  // As `source`, of its version and with its attributes.
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
  Value Reshape(Value a, Value shape);        // zero means zero, where the opset can say so
  Value ReshapeAround(Value a, Value shape);  // with a size of -1, which follows from the others
  Value ReshapeLike(Value a, Value like) { return Reshape(a, ShapeOf(like)); }
  Value Flat(Value a) { return ReshapeAround(a, Integers({-1})); }
  Value Expand(Value a, Value shape) { return Op("Expand", {a, shape}); }
  // No axes: nothing to do.
  Value Unsqueeze(Value a, Axes axes) { return WithAxes("Unsqueeze", a, std::move(axes), 13, {}); }
  Value Squeeze(Value a, Axes axes) { return WithAxes("Squeeze", a, std::move(axes), 13, {}); }
  Value ReduceSum(Value a, Axes axes, bool keep = true);
  // ReduceMean, ReduceMax and the like; keeps the dimensions.
  Value Reduce(std::string_view op_type, Value a, Axes axes);
  Value Concat(Values parts, int64_t axis);
  Value Slice(Value a, Value begin, Value end, Axes axes);
  // `g`, of the shape that `x` is broadcast to, summed up to the shape of `x`.
  Value SumTo(Value g, Value x);

  // --- shapes and constants
  Value ShapeOf(Value a) { return Op("Shape", {a}); }
  Value SizeOf(Value a) { return Op("Size", {a}); }
  Value Dim(Value a, int64_t axis) { return Op("Gather", {ShapeOf(a), Integers({axis})}); }  // int64[1]
  Value Dims(Value a, int64_t begin, int64_t end);
  Value Integers(std::vector<int64_t> values);  // int64[n]
  Value Integer(int64_t value);                 // int64, no dimensions
  Value Number(double value, DataType type);    // no dimensions
  Value Like(double value, const ValueDef* x) { return Number(value, TypeOf(x)); }
  Value Filled(Value shape, double value, DataType type);
  Value Zeros(Value like) { return Filled(ShapeOf(like), 0, TypeOf(like)); }

  // What is asked for has no form here; `reason` completes "Gradient node 'x': ".
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
// Takes `count` of the budget. INVALID_GRAPH when it hasn't as many.
void Take(size_t* budget, size_t count, std::string_view label);

}  // namespace epiphyte::core::gradient
