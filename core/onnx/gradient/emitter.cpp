#include "core/onnx/gradient/emitter.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/onnx/schema/known_operators.h"

namespace epiphyte::core::gradient {
namespace {

enum class Extent { kSame, kSummed, kUnknown };

// Relation of a dimension `x` to the dimension `g` that it was broadcast to.
Extent Compare(const Dim& x, const Dim& g) {
  if (x == g && (x.known() || !x.symbol.empty())) return Extent::kSame;
  if (x.known()) return x.value == 1 ? Extent::kSummed : Extent::kSame;
  return g.value == 1 ? Extent::kSame : Extent::kUnknown;
}

}  // namespace

bool IsFloat(DataType type) {
  return type == DataType::kFloat || type == DataType::kDouble || type == DataType::kFloat16 ||
         type == DataType::kBfloat16;
}

void Take(size_t* budget, size_t count, std::string_view label) {
  if (count > *budget) {
    Fail(StatusCode::kInvalidGraph,
         "{}: the model's Gradient nodes unfold to far more nodes than it has; the model is damaged or malicious",
         label);
  }
  *budget -= count;
}

Emitter::Emitter(Graph& graph, RunningInference& inference, std::string prefix, std::string label, size_t* budget)
    : graph_(graph),
      inference_(inference),
      prefix_(std::move(prefix)),
      label_(std::move(label)),
      opset_(graph.Opset("")),
      budget_(budget) {}

Value Emitter::Import(Value value) {
  if (value == nullptr || &value->graph() == &graph_) return value;
  std::vector<Graph*> path = {&graph_};
  while (path.back()->parent() != nullptr && path.back() != &value->graph())
    path.push_back(&path.back()->parent()->graph());
  for (auto graph = path.rbegin() + 1; graph != path.rend(); ++graph) value = (*graph)->AddOuterScope(value);
  return value;
}

DataType Emitter::TypeOf(const ValueDef* value) {
  return value != nullptr && value->type() && value->type()->IsTensor() ? value->type()->element_type()
                                                                        : DataType::kUndefined;
}

std::optional<size_t> Emitter::RankIfKnown(const ValueDef* value) {
  if (value == nullptr || !value->type() || !value->type()->IsTensor() || !value->type()->shape()) return std::nullopt;
  return value->type()->shape()->size();
}

size_t Emitter::RankOf(const ValueDef* value) const {
  const auto rank = RankIfKnown(value);
  if (rank) return *rank;
  Unsupported("how many dimensions '{}' has is not known; export the model with the shapes of its values",
              value->name());
}

Values Emitter::AddNode(std::string_view op_type, std::string_view domain, int64_t version, size_t outputs,
                        Values inputs, std::vector<Attribute> attributes) {
  Take(budget_, 1, label_);
  const std::string name = graph_.FreshName(fmt::format("{}{}_{}", prefix_, op_type, made_.size()));
  Values values;
  for (size_t i = 0; i < outputs; ++i)
    values.push_back(graph_.AddValue(i == 0 ? name : graph_.FreshName(fmt::format("{}_{}", name, i))));
  while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
  made_.push_back(graph_.AddNode(op_type, domain, version, std::move(inputs), values, std::move(attributes), name));
  inference_.Infer(*made_.back());
  return values;
}

Values Emitter::Ops(std::string_view op_type, size_t outputs, Values inputs, std::vector<Attribute> attributes) {
  const int64_t version = SinceVersion("", op_type, opset_);
  if (version == 0) {
    Unsupported("its derivative takes {}, which opset {} of ai.onnx doesn't have; convert the model to a newer opset",
                op_type, opset_);
  }
  return AddNode(op_type, "", version, outputs, std::move(inputs), std::move(attributes));
}

Value Emitter::Op(std::string_view op_type, Values inputs, std::vector<Attribute> attributes) {
  return Ops(op_type, 1, std::move(inputs), std::move(attributes)).front();
}

Values Emitter::Again(const Node& source, Values inputs) {
  std::vector<Attribute> attributes;
  for (const auto& attribute : source.attributes()) attributes.push_back(attribute->Clone());
  return AddNode(source.op_type(), source.domain(), source.since_version(), source.outputs().size(), std::move(inputs),
                 std::move(attributes));
}

Value Emitter::Cast(Value a, DataType to) {
  if (TypeOf(a) == to) return a;
  return Op("Cast", {a}, Attributes(Attribute::Int("to", static_cast<int64_t>(to))));
}

Value Emitter::Reshape(Value a, Value shape) {
  if (opset_ < 14) return Op("Reshape", {a, shape});
  return Op("Reshape", {a, shape}, Attributes(Attribute::Int("allowzero", 1)));
}

Value Emitter::ReshapeAround(Value a, Value shape) { return Op("Reshape", {a, shape}); }

Value Emitter::WithAxes(std::string_view op_type, Value a, Axes axes, int64_t input_since,
                        std::vector<Attribute> attributes) {
  if (axes.empty()) return a;
  if (opset_ >= input_since) return Op(op_type, {a, Integers(std::move(axes))}, std::move(attributes));
  attributes.push_back(Attribute::Ints("axes", std::move(axes)));
  return Op(op_type, {a}, std::move(attributes));
}

Value Emitter::ReduceSum(Value a, Axes axes, bool keep) {
  return WithAxes("ReduceSum", a, std::move(axes), 13, Attributes(Attribute::Int("keepdims", keep ? 1 : 0)));
}

Value Emitter::Reduce(std::string_view op_type, Value a, Axes axes) {
  return WithAxes(op_type, a, std::move(axes), 18, Attributes(Attribute::Int("keepdims", 1)));
}

Value Emitter::Concat(Values parts, int64_t axis) {
  if (parts.size() == 1) return parts.front();
  return Op("Concat", std::move(parts), Attributes(Attribute::Int("axis", axis)));
}

Value Emitter::Slice(Value a, Value begin, Value end, Axes axes) {
  return Op("Slice", {a, begin, end, Integers(std::move(axes))});
}

Value Emitter::Dims(Value a, int64_t begin, int64_t end) {
  return Slice(ShapeOf(a), Integers({begin}), Integers({end}), {0});
}

Value Emitter::SumTo(Value g, Value x) {
  const auto g_rank = RankIfKnown(g), x_rank = RankIfKnown(x);
  bool known = g_rank && x_rank && *g_rank >= *x_rank;
  Axes leading, summed;
  for (size_t i = 0; known && i < *g_rank; ++i) {
    const size_t added = *g_rank - *x_rank;
    if (i < added) {
      leading.push_back(static_cast<int64_t>(i));
      continue;
    }
    const Extent extent = Compare((*x->type()->shape())[i - added], (*g->type()->shape())[i]);
    if (extent == Extent::kSummed) summed.push_back(static_cast<int64_t>(i - added));
    known = extent != Extent::kUnknown;
  }
  if (known) return ReduceSum(ReduceSum(g, leading, false), summed);
  if (opset_ < 13) {
    Unsupported(
        "whether '{}' is broadcast is not known before the run, and opset {} can't reduce over axes that are "
        "computed; convert the model to opset 13, or export it with shapes",
        x->name(), opset_);
  }
  const Value g_shape = ShapeOf(g), x_shape = ShapeOf(x);
  const Value added = Sub(ShapeOf(g_shape), ShapeOf(x_shape));
  const Value aligned = Concat({Filled(added, 1, DataType::kInt64), x_shape}, 0);
  const Value axes = Flat(Op("NonZero", {Op("Not", {Op("Equal", {aligned, g_shape})})}));
  const Value sum =
      Op("ReduceSum", {g, axes}, Attributes(Attribute::Int("keepdims", 1), Attribute::Int("noop_with_empty_axes", 1)));
  return Reshape(sum, x_shape);
}

Value Emitter::AddConstant(ConstantPtr constant) {
  return graph_.AddConstant(graph_.FreshName(prefix_ + "constant"), std::move(constant));
}

Value Emitter::Integers(std::vector<int64_t> values) {
  return AddConstant(Constant::Copy(DataType::kInt64, {static_cast<int64_t>(values.size())}, values.data(),
                                    values.size() * sizeof(int64_t)));
}

Value Emitter::Integer(int64_t value) {
  return AddConstant(Constant::Copy(DataType::kInt64, {}, &value, sizeof value));
}

Value Emitter::Number(double value, DataType type) {
  if (type == DataType::kDouble) return AddConstant(Constant::Copy(type, {}, &value, sizeof value));
  if (type == DataType::kUndefined) Unsupported("the types of its values are not known; export the model with them");
  const auto single = static_cast<float>(value);
  return Cast(AddConstant(Constant::Copy(DataType::kFloat, {}, &single, sizeof single)), type);
}

Value Emitter::Filled(Value shape, double value, DataType type) {
  if (type == DataType::kUndefined) Unsupported("the types of its values are not known; export the model with them");
  ConstantPtr element;
  DataType made = type;
  if (type == DataType::kDouble) {
    element = Constant::Copy(type, {1}, &value, sizeof value);
  } else if (type == DataType::kInt64) {
    const auto integer = static_cast<int64_t>(value);
    element = Constant::Copy(type, {1}, &integer, sizeof integer);
  } else {
    const auto single = static_cast<float>(value);
    made = DataType::kFloat;
    element = Constant::Copy(made, {1}, &single, sizeof single);
  }
  return Cast(Op("ConstantOfShape", {shape}, Attributes(Attribute::Tensor("value", std::move(element)))), type);
}

}  // namespace epiphyte::core::gradient
