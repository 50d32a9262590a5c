#include "core/onnx/microsoft/body.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace epiphyte::core::microsoft {
namespace {

// First opset; bodies use the operators in the form that they have there or later.
constexpr int64_t kFirstOpset = 11;

// Rounds to nearest, ties to even. Values that are too large become infinite.
uint16_t ToHalf(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 48 & 0x8000);
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  // The spacing of half numbers at this magnitude: 2^-10 of the power of two below it, at least 2^-24.
  const int step = std::max(exponent - 1, -14) - 10;
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, -step)));
  if (magnitude == 0) return sign;
  // The bits of a subnormal number are its number of steps. A carry into the exponent is correct without further code.
  return static_cast<uint16_t>(sign | ((static_cast<uint32_t>(step + 24) << 10) + steps));
}

uint16_t ToBfloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace

Body::Body(const Node& call) : call_(call), opset_(call.graph().Opset("")), returned_(call.outputs().size()) {
  if (opset_ == 0) opset_ = 17;  // no ai.onnx operators in the graph: any opset works
  // Each operator has one version, so a body may use forms that an older graph's opset doesn't have.
  opset_ = std::max(opset_, kFirstOpset);
  onnx::OperatorSetIdProto* import = function_.add_opset_import();
  import->set_domain("");
  import->set_version(opset_);
  function_.set_name(call.op_type());
  function_.set_domain(call.domain());
  for (size_t i = 0; i < call.inputs().size(); ++i) function_.add_input("in" + std::to_string(i));
}

Name Body::In(size_t input) const { return Has(input) ? "in" + std::to_string(input) : Name(); }

Name Body::Need(size_t input, std::string_view what) const {
  if (!Has(input)) Reject("input {} ({}) is missing", input, what);
  return In(input);
}

DataType Body::TypeIfKnown(size_t input) const {
  const ValueDef* value = call_.input(input);
  if (value == nullptr || !value->type() || value->type()->kind() == EP_KIND_UNKNOWN) return DataType::kUndefined;
  if (!value->type()->IsTensor()) Reject("input {} is {}, a tensor expected", input, value->type()->ToString());
  return value->type()->element_type();
}

DataType Body::TypeOf(size_t input) const {
  if (!Has(input)) Reject("input {} is missing", input);
  const DataType type = TypeIfKnown(input);
  if (type == DataType::kUndefined) throw NotKnownYet{fmt::format("the element type of input {}", input)};
  return type;
}

DataType Body::FloatTypeOf(size_t input) const {
  const DataType type = TypeOf(input);
  if (type == DataType::kFloat || type == DataType::kDouble || type == DataType::kFloat16 ||
      type == DataType::kBfloat16)
    return type;
  Reject("input {} is of type {}, a float type expected", input, DataTypeName(type));
}

const Shape* Body::ShapeOf(size_t input) const {
  if (TypeIfKnown(input) == DataType::kUndefined) return nullptr;
  const std::optional<Shape>& shape = call_.input(input)->type()->shape();
  return shape ? &*shape : nullptr;
}

std::optional<size_t> Body::RankIfKnown(size_t input) const {
  const Shape* shape = ShapeOf(input);
  return shape == nullptr ? std::nullopt : std::optional(shape->size());
}

size_t Body::RankOf(size_t input) const {
  if (!Has(input)) Reject("input {} is missing", input);
  const auto rank = RankIfKnown(input);
  if (!rank) throw NotKnownYet{fmt::format("the number of dimensions of input {}", input)};
  return *rank;
}

int64_t Body::DimIfKnown(size_t input, int64_t axis) const {
  const Shape* shape = ShapeOf(input);
  if (shape == nullptr) return -1;
  if (axis < 0) axis += static_cast<int64_t>(shape->size());
  if (axis < 0 || axis >= static_cast<int64_t>(shape->size())) return -1;
  return (*shape)[static_cast<size_t>(axis)].value;
}

ConstantPtr Body::ConstantOf(size_t input) const {
  const ValueDef* value = call_.input(input);
  return value == nullptr ? nullptr : value->ResolvedConstant();
}

std::string Body::String(std::string_view name, std::string_view fallback) const {
  return call_.StringAttribute(name, fallback);
}

std::vector<int64_t> Body::Ints(std::string_view name) const {
  const Attribute* attribute = call_.FindAttribute(name);
  return attribute == nullptr ? std::vector<int64_t>() : attribute->ints();
}

std::vector<float> Body::Floats(std::string_view name) const {
  const Attribute* attribute = call_.FindAttribute(name);
  return attribute == nullptr ? std::vector<float>() : attribute->floats();
}

Attributes Body::Copy(std::initializer_list<std::string_view> names) const {
  Attributes copied;
  for (const std::string_view name : names) {
    const Attribute* attribute = call_.FindAttribute(name);
    if (attribute == nullptr) continue;
    const std::string key(name);
    switch (attribute->type()) {
      case AttributeType::kInt: copied.push_back(onnx::MakeAttribute(key, attribute->i())); break;
      case AttributeType::kFloat: copied.push_back(onnx::MakeAttribute(key, attribute->f())); break;
      case AttributeType::kString: copied.push_back(onnx::MakeAttribute(key, attribute->s())); break;
      case AttributeType::kInts: copied.push_back(onnx::MakeAttribute(key, attribute->ints())); break;
      case AttributeType::kFloats: copied.push_back(onnx::MakeAttribute(key, attribute->floats())); break;
      case AttributeType::kStrings: copied.push_back(onnx::MakeAttribute(key, attribute->strings())); break;
      default: break;
    }
  }
  return copied;
}

void Body::Only(std::string_view attribute, int64_t value) const {
  const int64_t found = Int(attribute, value);
  if (found != value) Unsupported("attribute '{}' is {}, only {} is supported", attribute, found, value);
}

void Body::NoInput(size_t input, std::string_view name) const {
  if (Has(input)) Unsupported("input {} ({}) is given, which is not supported; leave it out", input, name);
}

void Body::NoOutput(size_t output, std::string_view name) const {
  if (Wants(output)) Unsupported("output {} ({}) is used, which is not supported; leave it out", output, name);
}

Name Body::Fresh(std::string_view stem) { return fmt::format("{}_{}", stem, next_++); }

Names Body::Ops(std::string_view op_type, size_t outputs, Names inputs, Attributes attributes) {
  onnx::NodeProto& node = AddNode();
  Names made;
  node.set_op_type(std::string(op_type));
  for (size_t i = 0; i < outputs; ++i) {
    made.push_back(Fresh(op_type));
    node.add_output(made.back());
  }
  if (!made.empty()) node.set_name(made.front());
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  for (const Name& input : inputs) node.add_input(input);
  for (onnx::AttributeProto& attribute : attributes) *node.add_attribute() = std::move(attribute);
  return made;
}

Name Body::Op(std::string_view op_type, Names inputs, Attributes attributes) {
  return Ops(op_type, 1, std::move(inputs), std::move(attributes)).front();
}

Name Body::AddIf(const Name& a, const Name& b) {
  if (a.empty()) return b;
  return b.empty() ? a : Add(a, b);
}

Name Body::Cast(const Name& x, DataType to) { return Op("Cast", {x}, {A("to", static_cast<int64_t>(to))}); }

Name Body::WithAxes(std::string_view op_type, const Name& x, std::vector<int64_t> axes, int64_t input_since) {
  if (opset_ < input_since) return Op(op_type, {x}, {A("axes", axes)});
  return Op(op_type, {x, Integers(std::move(axes))});
}

Name Body::ReduceSum(const Name& x, std::vector<int64_t> axes, bool keep) {
  const onnx::AttributeProto keepdims = A("keepdims", keep ? 1 : 0);
  if (opset_ < 13) return Op("ReduceSum", {x}, {A("axes", axes), keepdims});
  return Op("ReduceSum", {x, Integers(std::move(axes))}, {keepdims});
}

Names Body::Split(const Name& x, size_t parts, int64_t axis) {
  Attributes attributes = {A("axis", axis)};
  if (opset_ >= 18) attributes.push_back(A("num_outputs", parts));
  return Ops("Split", parts, {x}, std::move(attributes));
}

Names Body::Split(const Name& x, std::vector<int64_t> sizes, int64_t axis) {
  const size_t parts = sizes.size();
  if (opset_ < 13) return Ops("Split", parts, {x}, {A("axis", axis), A("split", sizes)});
  return Ops("Split", parts, {x, Integers(std::move(sizes))}, {A("axis", axis)});
}

Name Body::SizeOf(const Name& x, int64_t axis) {
  return Op("Gather", {Op("Shape", {x}), Integers({axis})}, {A("axis", 0)});
}

onnx::NodeProto& Body::AddNode() { return nested_.empty() ? *function_.add_node() : *nested_.back()->add_node(); }

Name Body::AddConstant(const onnx::TensorProto& tensor, std::string_view stem) {
  onnx::NodeProto& node = AddNode();
  node.set_op_type("Constant");
  node.set_name(Fresh(stem));
  node.add_output(node.name());
  *node.add_attribute() = onnx::MakeAttribute("value", tensor);
  return node.name();
}

Name Body::Fill(const Name& shape, double value, DataType type) { return Op("Expand", {Number(value, type), shape}); }

// Adds the output under a new name, because the value may belong to an enclosing graph or be returned twice.
void Body::AddOutput(onnx::GraphProto& graph, const Name& value) {
  graph.add_output()->set_name(Op("Identity", {value}));
}

Names Body::Loop(const Name& turns, const std::vector<State>& states,
                 const std::function<Turn(const Names& states, const Name& turn)>& build) {
  onnx::GraphProto graph;
  graph.set_name(Fresh("turn"));
  const auto add_input = [&](std::string_view stem, DataType type, const std::vector<int64_t>& dims) {
    onnx::ValueInfoProto& input = *graph.add_input();
    input.set_name(Fresh(stem));
    onnx::TypeProto_Tensor& tensor = *input.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(static_cast<int32_t>(type));
    tensor.mutable_shape();
    for (const int64_t dim : dims) {
      onnx::TensorShapeProto_Dimension& out = *tensor.mutable_shape()->add_dim();
      if (dim >= 0) out.set_dim_value(dim);
    }
    return input.name();
  };
  const Name turn = add_input("turn", DataType::kInt64, {});
  add_input("goes_on", DataType::kBool, {});
  Names carried, inputs = {turns, {}};
  for (const State& state : states) {
    carried.push_back(add_input("state", state.type, state.dims));
    inputs.push_back(state.start);
  }
  nested_.push_back(&graph);
  const Turn made = build(carried, turn);
  AddOutput(graph, made.go_on);
  for (const Name& state : made.states) AddOutput(graph, state);
  for (const Name& slice : made.slices) AddOutput(graph, slice);
  nested_.pop_back();
  return Ops("Loop", states.size() + made.slices.size(), std::move(inputs), {onnx::MakeAttribute("body", graph)});
}

Names Body::If(const Name& condition, const std::function<Names()>& then_branch,
               const std::function<Names()>& else_branch) {
  const auto write = [&](const std::function<Names()>& branch, onnx::GraphProto& graph) {
    graph.set_name(Fresh("branch"));
    nested_.push_back(&graph);
    for (const Name& value : branch()) AddOutput(graph, value);
    nested_.pop_back();
  };
  onnx::GraphProto then_graph, else_graph;
  write(then_branch, then_graph);
  write(else_branch, else_graph);
  return Ops("If", static_cast<size_t>(then_graph.output_size()), {condition},
             {onnx::MakeAttribute("then_branch", then_graph), onnx::MakeAttribute("else_branch", else_graph)});
}

const Graph* Body::GraphAttribute(std::string_view name) const {
  const Attribute* attribute = call_.FindAttribute(name);
  return attribute == nullptr ? nullptr : &attribute->g();
}

Names Body::CallGraph(std::string_view attribute, Names inputs) {
  onnx::AttributeProto reference;
  reference.set_name("graph");
  reference.set_ref_attr_name(std::string(attribute));
  reference.set_type(onnx::AttributeProto::GRAPH);
  const Names made =
      Ops(kGraphCall, GraphAttribute(attribute)->outputs().size(), std::move(inputs), {std::move(reference)});
  onnx::NodeProto& node = nested_.empty() ? *function_.mutable_node(function_.node_size() - 1)
                                          : *nested_.back()->mutable_node(nested_.back()->node_size() - 1);
  node.set_domain(std::string(kGraphCallDomain));
  return made;
}

Name Body::Integers(std::vector<int64_t> values) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  for (const int64_t value : values) tensor.add_int64_data(value);
  return AddConstant(tensor, "integers");
}

Name Body::Integer(int64_t value) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_int64_data(value);
  return AddConstant(tensor, "integer");
}

Name Body::Number(double value, DataType type) {
  onnx::TensorProto tensor;
  tensor.set_data_type(static_cast<int32_t>(type));
  switch (type) {
    case DataType::kFloat: tensor.add_float_data(static_cast<float>(value)); break;
    case DataType::kDouble: tensor.add_double_data(value); break;
    case DataType::kFloat16: tensor.add_int32_data(ToHalf(value)); break;
    case DataType::kBfloat16: tensor.add_int32_data(ToBfloat(static_cast<float>(value))); break;
    case DataType::kInt8:
    case DataType::kUint8:
    case DataType::kInt16:
    case DataType::kUint16:
    case DataType::kInt32:
    case DataType::kBool:
      if (!(std::fabs(value) <= INT32_MAX)) Unsupported("{} is no number of type {}", value, DataTypeName(type));
      tensor.add_int32_data(static_cast<int32_t>(value));
      break;
    default: Unsupported("element type {} is not supported", DataTypeName(type));
  }
  return AddConstant(tensor, "number");
}

Name Body::Lowest(DataType type) {
  switch (type) {
    case DataType::kFloat16: return Number(-65504, type);
    case DataType::kBfloat16: return Number(-3.3895314e38, type);
    case DataType::kDouble: return Number(std::numeric_limits<double>::lowest(), type);
    default: return Number(std::numeric_limits<float>::lowest(), DataType::kFloat);
  }
}

void Body::Return(size_t output, const Name& value) {
  if (output < returned_.size()) returned_[output] = value;
}

onnx::FunctionProto Body::Finish() {
  for (size_t i = 0; i < returned_.size(); ++i) {
    if (returned_[i].empty() && Wants(i)) Unsupported("output {} is used, which is not supported; leave it out", i);
    function_.add_output(returned_[i].empty() ? Fresh("unused") : returned_[i]);
  }
  return std::move(function_);
}

}  // namespace epiphyte::core::microsoft
