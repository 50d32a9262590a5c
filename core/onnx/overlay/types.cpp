// Inference of optionals, and of operators with newer versions that produce element types that libonnx doesn't know.
#include "core/base/log.h"
#include "core/onnx/infer/node_inference.h"
#include "core/onnx/overlay/overlay_inference.h"
#include "core/onnx/schema/schema.h"

namespace epiphyte::core {
namespace {

std::optional<Shape> CopyShape(const Shape* shape) { return shape == nullptr ? std::nullopt : std::optional(*shape); }

// An element type from an attribute; kUndefined when the attribute is absent or 0.
DataType TypeAttribute(const NodeInference& node, std::string_view name) {
  const int64_t number = node.node().IntAttribute(name, 0);
  if (number == 0) return DataType::kUndefined;
  if (number < 0 || number > INT32_MAX || !IsValidDataType(static_cast<int32_t>(number))) {
    node.Reject("attribute '{}' is {}, an ONNX element type from 1 to 26 expected", name, number);
  }
  return static_cast<DataType>(number);
}

}  // namespace

// The tensor overrides the declared type, because exporters change the tensor without its value_info.
void InferConstant(NodeInference& node) {
  ValueDef* const y = node.node().output(0);
  const auto& attributes = node.node().attributes();
  if (y == nullptr) return;
  if (attributes.size() != 1) {
    node.Reject(
        "{} attributes found, one of value, sparse_value, value_int, value_ints, value_float, value_floats, "
        "value_string and value_strings expected",
        attributes.size());
  }
  DataType element = DataType::kString;
  Shape shape;
  if (const ConstantPtr constant = ValueData::ConstantOf(y)) {
    element = constant->type();
    for (const int64_t dim : constant->dims()) shape.push_back(Dim(dim));
  } else if (attributes[0]->type() == AttributeType::kStrings) {
    shape = {Dim(static_cast<int64_t>(attributes[0]->strings().size()))};
  } else if (attributes[0]->type() != AttributeType::kString) {
    node.Reject("attribute '{}' is no tensor, number or string", attributes[0]->name());
  }
  const TypePtr declared = y->type();
  const bool is_other =
      declared && declared->kind() != EP_KIND_UNKNOWN && (!declared->IsTensor() || declared->element_type() != element);
  if (is_other) {
    Log(LogLevel::kWarning, "onnx", "{}: output '{}' is declared as {}, but the tensor is of {}; the tensor counts",
        NodeLabel(node.node()), y->name(), declared->ToString(), DataTypeName(element));
    y->set_type(Type::Unknown());
  }
  node.SetTensor(0, element, std::move(shape));
}

void InferCast(NodeInference& node) {
  const DataType to = TypeAttribute(node, "to");
  if (to == DataType::kUndefined) node.Reject("attribute 'to' names no element type");
  node.SetTensor(0, to, CopyShape(node.shape(0)));
}

void InferCastLike(NodeInference& node) { node.SetTensor(0, node.element(1), CopyShape(node.shape(0))); }

void InferBitCast(NodeInference& node) {
  const DataType to = TypeAttribute(node, "to");
  const DataType from = node.element(0);
  if (to == DataType::kUndefined) node.Reject("attribute 'to' names no element type");
  const bool fits = from == DataType::kUndefined || DataTypeBits(from) == DataTypeBits(to);
  if (to == DataType::kString || from == DataType::kString || !fits) {
    node.Reject("{} can't be taken for {}; two types of numbers of as many bits expected", DataTypeName(from),
                DataTypeName(to));
  }
  node.SetTensor(0, to, CopyShape(node.shape(0)));
}

void InferQuantize(NodeInference& node) {
  DataType output = node.element(2);
  const DataType asked = TypeAttribute(node, "output_dtype");
  if (node.node().input(2) == nullptr) output = asked == DataType::kUndefined ? DataType::kUint8 : asked;
  node.SetTensor(0, output, CopyShape(node.shape(0)));
}

void InferDequantize(NodeInference& node) {
  const DataType asked = TypeAttribute(node, "output_dtype");
  node.SetTensor(0, asked == DataType::kUndefined ? node.element(1) : asked, CopyShape(node.shape(0)));
}

void InferOptionalGetElement(NodeInference& node) {
  const Type* input = node.type(0);
  if (input == nullptr) return;
  if (input->kind() != EP_KIND_OPTIONAL) return node.SetLike(0, 0);
  if (input->element() && input->element()->kind() != EP_KIND_UNKNOWN) node.Set(0, input->element());
}

void InferOptionalHasElement(NodeInference& node) { node.SetTensor(0, DataType::kBool, Shape{}); }

void InferLabelEncoder(NodeInference& node) {
  DataType output = DataType::kUndefined;
  if (const Attribute* values = node.node().FindAttribute("values_tensor")) {
    if (values->type() == AttributeType::kTensor) output = values->t()->type();
  } else if (node.node().FindAttribute("values_strings") != nullptr) {
    output = DataType::kString;
  } else if (node.node().FindAttribute("values_int64s") != nullptr) {
    output = DataType::kInt64;
  } else if (node.node().FindAttribute("values_floats") != nullptr) {
    output = DataType::kFloat;
  }
  node.SetTensor(0, output, CopyShape(node.shape(0)));
}

void InferTreeEnsemble(NodeInference& node) {
  const Shape* input = node.shape(0);
  const int64_t targets = node.node().IntAttribute("n_targets", -1);
  Shape output = {input != nullptr && !input->empty() ? (*input)[0] : Dim(), targets >= 0 ? Dim(targets) : Dim()};
  node.SetTensor(0, node.element(0), std::move(output));
}

}  // namespace epiphyte::core
