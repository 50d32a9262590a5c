// Body: writes the function body of one com.microsoft node, with ai.onnx operators in the form of the graph's opset
// (axes as attribute or as input, numbers of splits, casts). The families' builders (table.h) define the computation,
// in the forms that the recognizers of plugin_api/kit/epiphyte/kit/fuse know.
//
//   Body body(call);
//   const Name x = body.In(0);
//   body.Return(0, body.Mul(x, body.Op("Sigmoid", {x})));
//   onnx::FunctionProto function = body.Finish();
//
// A query about the call throws NotKnownYet if the answer (an element type, a rank) isn't known yet; later inference
// may find it. If the node can't be expressed, an Error is thrown: INVALID_GRAPH when the model is wrong,
// NOT_IMPLEMENTED when the body doesn't support a feature of the operator. Both name the node.
#pragma once

#include <onnx/defs/attr_proto_util.h>
#include <onnx/onnx_pb.h>

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/graph/graph.h"
#include "core/onnx/schema/operator_schemas.h"
#include "core/onnx/schema/schema.h"

namespace epiphyte::core::microsoft {

// Name of a value of the body. Empty: omitted.
using Name = std::string;
using Names = std::vector<Name>;
using Attributes = std::vector<onnx::AttributeProto>;

// `end` of a slice that reaches the end of the axis.
inline constexpr int64_t kEnd = std::numeric_limits<int32_t>::max();

struct NotKnownYet {
  std::string what;
};

template <typename T>
onnx::AttributeProto A(const char* name, const T& value) {
  if constexpr (std::is_integral_v<T>) {
    return onnx::MakeAttribute(name, static_cast<int64_t>(value));
  } else if constexpr (std::is_same_v<T, double>) {
    return onnx::MakeAttribute(name, static_cast<float>(value));
  } else {
    return onnx::MakeAttribute(name, value);
  }
}

// Domain and operator of a placeholder node in a body. It stands for a graph attribute of the call, and computes the
// graph's results from the node's inputs. core/onnx/functions/graph_calls.h replaces it by the graph's nodes.
inline constexpr std::string_view kGraphCallDomain = "epiphyte.body";
inline constexpr std::string_view kGraphCall = "GraphCall";

// Results of one turn of a loop; see Body::Loop.
struct Turn {
  Name go_on;    // bool scalar
  Names states;  // states of the next turn
  Names slices;  // this turn's slices of the stacked outputs
};
// A value that a loop carries from turn to turn. A size of -1 varies or is unknown.
struct State {
  Name start;
  DataType type = DataType::kUndefined;
  std::vector<int64_t> dims;
};

class Body {
 public:
  // Adds the inputs and outputs of `call` to the function's interface.
  explicit Body(const Node& call);

  // --- the call
  int64_t opset() const { return opset_; }
  bool Has(size_t input) const { return call_.input(input) != nullptr; }
  Name In(size_t input) const;  // empty when omitted
  // Like In(), for a required input.
  Name Need(size_t input, std::string_view what) const;
  bool Wants(size_t output) const { return call_.output(output) != nullptr; }
  size_t input_count() const { return call_.inputs().size(); }
  DataType TypeOf(size_t input) const;
  // Like TypeOf(). Throws INVALID_GRAPH unless the type is float, double, float16 or bfloat16.
  DataType FloatTypeOf(size_t input) const;
  // The type of an input, if the model provides it; kUndefined when unknown.
  DataType TypeIfKnown(size_t input) const;
  size_t RankOf(size_t input) const;
  // -1 when unknown, and for an axis that the input doesn't have. A negative axis counts from the end.
  int64_t DimIfKnown(size_t input, int64_t axis) const;
  std::optional<size_t> RankIfKnown(size_t input) const;
  // The data of a constant input, else null.
  ConstantPtr ConstantOf(size_t input) const;

  int64_t Int(std::string_view name, int64_t fallback) const { return call_.IntAttribute(name, fallback); }
  float Float(std::string_view name, float fallback) const { return call_.FloatAttribute(name, fallback); }
  std::string String(std::string_view name, std::string_view fallback) const;
  std::vector<int64_t> Ints(std::string_view name) const;
  std::vector<float> Floats(std::string_view name) const;
  bool HasAttribute(std::string_view name) const { return call_.FindAttribute(name) != nullptr; }
  // Unchanged copies of the call's attributes with these names.
  Attributes Copy(std::initializer_list<std::string_view> names) const;
  // A graph attribute of the call; null when it is absent.
  const Graph* GraphAttribute(std::string_view name) const;

  // Reports that the model is wrong.
  template <typename... Args>
  [[noreturn]] void Reject(fmt::format_string<Args...> format, Args&&... args) const {
    Fail(StatusCode::kInvalidGraph, "{}: {}", NodeLabel(call_), fmt::format(format, std::forward<Args>(args)...));
  }
  // Reports that this body doesn't support a feature of the operator.
  template <typename... Args>
  [[noreturn]] void Unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    Fail(StatusCode::kNotImplemented, "{}: {}", NodeLabel(call_), fmt::format(format, std::forward<Args>(args)...));
  }
  // Calls Unsupported unless the attribute is absent or has this value.
  void Only(std::string_view attribute, int64_t value) const;
  void NoInput(size_t input, std::string_view name) const;
  void NoOutput(size_t output, std::string_view name) const;

  // --- nodes
  Name Op(std::string_view op_type, Names inputs, Attributes attributes = {});
  Names Ops(std::string_view op_type, size_t outputs, Names inputs, Attributes attributes = {});
  Name Add(const Name& a, const Name& b) { return Op("Add", {a, b}); }
  Name Sub(const Name& a, const Name& b) { return Op("Sub", {a, b}); }
  Name Mul(const Name& a, const Name& b) { return Op("Mul", {a, b}); }
  Name Div(const Name& a, const Name& b) { return Op("Div", {a, b}); }
  Name MatMul(const Name& a, const Name& b) { return Op("MatMul", {a, b}); }
  // a + b; either may be omitted.
  Name AddIf(const Name& a, const Name& b);
  Name Cast(const Name& x, DataType to);
  Name Reshape(const Name& x, std::vector<int64_t> shape) { return Op("Reshape", {x, Integers(std::move(shape))}); }
  Name Transpose(const Name& x, std::vector<int64_t> perm) { return Op("Transpose", {x}, {A("perm", perm)}); }
  Name Unsqueeze(const Name& x, std::vector<int64_t> axes) { return WithAxes("Unsqueeze", x, std::move(axes), 13); }
  Name Squeeze(const Name& x, std::vector<int64_t> axes) { return WithAxes("Squeeze", x, std::move(axes), 13); }
  // These keep the dimensions.
  Name ReduceMean(const Name& x, std::vector<int64_t> axes) { return WithAxes("ReduceMean", x, std::move(axes), 18); }
  Name ReduceMax(const Name& x, std::vector<int64_t> axes) { return WithAxes("ReduceMax", x, std::move(axes), 18); }
  Name ReduceSum(const Name& x, std::vector<int64_t> axes, bool keep);
  Name Concat(Names parts, int64_t axis) { return Op("Concat", std::move(parts), {A("axis", axis)}); }
  // Slices one axis. `begin` and `end` are int64 vectors with one element.
  Name Slice(const Name& x, const Name& begin, const Name& end, int64_t axis) {
    return Op("Slice", {x, begin, end, Integers({axis})});
  }
  Name Slice(const Name& x, int64_t begin, int64_t end, int64_t axis) {
    return Slice(x, Integers({begin}), Integers({end}), axis);
  }
  // Splits into equal parts.
  Names Split(const Name& x, size_t parts, int64_t axis);
  Names Split(const Name& x, std::vector<int64_t> sizes, int64_t axis);
  Name Gather(const Name& x, const Name& indices, int64_t axis = 0) {
    return Op("Gather", {x, indices}, {A("axis", axis)});
  }
  Name Where(const Name& condition, const Name& a, const Name& b) { return Op("Where", {condition, a, b}); }
  Name Softmax(const Name& x) { return Op("Softmax", {x}, {A("axis", -1)}); }  // over the last axis
  // The size of an axis, as int64[1].
  Name SizeOf(const Name& x, int64_t axis);
  // A tensor of that shape (an int64 vector) with `value` in each element.
  Name Fill(const Name& shape, double value, DataType type);

  // --- nested graphs
  // Runs at most `turns` (int64 scalar) turns. Returns the final states, then the stacked slices. `build` writes the
  // nodes of one turn, given the states and the turn's number.
  Names Loop(const Name& turns, const std::vector<State>& states,
             const std::function<Turn(const Names& states, const Name& turn)>& build);
  // `condition` is a bool scalar. Both branches return equally many values.
  Names If(const Name& condition, const std::function<Names()>& then_branch, const std::function<Names()>& else_branch);
  // The results of a graph attribute of the call for `inputs`, one for each input of the graph.
  Names CallGraph(std::string_view attribute, Names inputs);

  // --- constants
  Name Integers(std::vector<int64_t> values);  // int64[n]
  Name Integer(int64_t value);                 // int64 scalar
  Name Number(double value, DataType type);    // scalar of any number type except packed types
  Name Lowest(DataType type);                  // the lowest finite number of a float type

  // --- results
  void Return(size_t output, const Name& value);
  // Ends the body. Throws NOT_IMPLEMENTED when the call uses an output that wasn't returned; never INVALID_GRAPH.
  onnx::FunctionProto Finish();

 private:
  Name Fresh(std::string_view stem);
  Name AddConstant(const onnx::TensorProto& tensor, std::string_view stem);
  onnx::NodeProto& AddNode();
  void AddOutput(onnx::GraphProto& graph, const Name& value);
  Name WithAxes(std::string_view op_type, const Name& x, std::vector<int64_t> axes, int64_t input_since);
  const Shape* ShapeOf(size_t input) const;

  const Node& call_;
  int64_t opset_;
  onnx::FunctionProto function_;
  std::vector<Name> returned_;
  std::vector<onnx::GraphProto*> nested_;  // graphs being written, innermost last
  size_t next_ = 0;
};

}  // namespace epiphyte::core::microsoft
