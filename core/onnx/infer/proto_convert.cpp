#include "core/onnx/infer/proto_convert.h"

#include "core/base/error.h"
#include "core/onnx/write/graph_writer.h"

namespace epiphyte::core {
namespace {

template <typename Tensor>
void ToTensorType(const Type& type, Tensor* proto) {
  proto->set_elem_type(static_cast<int32_t>(type.element_type()));
  if (!type.shape()) return;
  onnx::TensorShapeProto* shape = proto->mutable_shape();
  for (const Dim& dim : *type.shape()) {
    onnx::TensorShapeProto_Dimension* out = shape->add_dim();
    if (dim.known())
      out->set_dim_value(dim.value);
    else if (!dim.symbol.empty())
      out->set_dim_param(dim.symbol);
  }
}

template <typename Tensor>
std::optional<Shape> FromShapeOf(const Tensor& tensor) {
  if (!tensor.has_shape()) return std::nullopt;
  Shape shape;
  for (const onnx::TensorShapeProto_Dimension& dim : tensor.shape().dim()) {
    if (dim.has_dim_value())
      shape.push_back(dim.dim_value() < 0 ? Dim() : Dim(dim.dim_value()));
    else
      shape.push_back(dim.dim_param().empty() ? Dim() : Dim::Symbol(dim.dim_param()));
  }
  return shape;
}

DataType ElementType(int32_t number) {
  return IsValidDataType(number) ? static_cast<DataType>(number) : DataType::kUndefined;
}

}  // namespace

void ToTypeProto(const Type& type, onnx::TypeProto* proto) {
  switch (type.kind()) {
    case EP_KIND_TENSOR: return ToTensorType(type, proto->mutable_tensor_type());
    case EP_KIND_SPARSE_TENSOR: return ToTensorType(type, proto->mutable_sparse_tensor_type());
    case EP_KIND_SEQUENCE: return ToTypeProto(*type.element(), proto->mutable_sequence_type()->mutable_elem_type());
    case EP_KIND_OPTIONAL: return ToTypeProto(*type.element(), proto->mutable_optional_type()->mutable_elem_type());
    case EP_KIND_MAP:
      proto->mutable_map_type()->set_key_type(static_cast<int32_t>(type.element_type()));
      return ToTypeProto(*type.element(), proto->mutable_map_type()->mutable_value_type());
    default: return;
  }
}

TypePtr FromTypeProto(const onnx::TypeProto& proto) {
  switch (proto.value_case()) {
    case onnx::TypeProto::kTensorType:
      return Type::Tensor(ElementType(proto.tensor_type().elem_type()), FromShapeOf(proto.tensor_type()));
    case onnx::TypeProto::kSparseTensorType:
      return Type::SparseTensor(ElementType(proto.sparse_tensor_type().elem_type()),
                                FromShapeOf(proto.sparse_tensor_type()));
    case onnx::TypeProto::kSequenceType: return Type::Sequence(FromTypeProto(proto.sequence_type().elem_type()));
    case onnx::TypeProto::kOptionalType: return Type::Optional(FromTypeProto(proto.optional_type().elem_type()));
    case onnx::TypeProto::kMapType:
      return Type::Map(ElementType(proto.map_type().key_type()), FromTypeProto(proto.map_type().value_type()));
    default: return Type::Unknown();
  }
}

void ToTensorProto(const Constant& constant, onnx::TensorProto* proto) {
  proto->set_data_type(static_cast<int32_t>(constant.type()));
  for (const int64_t dim : constant.dims()) proto->add_dims(dim);
  if (constant.element_count() > ValueData::kMaxElements) return;
  if (constant.type() == DataType::kString) {
    for (const std::string& text : constant.strings()) proto->add_string_data(text);
  } else {
    proto->set_raw_data(constant.bytes(), constant.byte_size());
  }
}

void ToAttributeProto(const Attribute& attribute, Graphs graphs, onnx::AttributeProto* proto) {
  proto->set_name(attribute.name());
  proto->set_type(static_cast<onnx::AttributeProto_AttributeType>(attribute.type()));
  switch (attribute.type()) {
    case AttributeType::kFloat: proto->set_f(attribute.f()); break;
    case AttributeType::kInt: proto->set_i(attribute.i()); break;
    case AttributeType::kString: proto->set_s(attribute.s()); break;
    case AttributeType::kTensor: ToTensorProto(*attribute.t(), proto->mutable_t()); break;
    case AttributeType::kFloats:
      proto->mutable_floats()->Add(attribute.floats().begin(), attribute.floats().end());
      break;
    case AttributeType::kInts: proto->mutable_ints()->Add(attribute.ints().begin(), attribute.ints().end()); break;
    case AttributeType::kStrings:
      for (const std::string& text : attribute.strings()) proto->add_strings(text);
      break;
    case AttributeType::kTensors:
      for (const ConstantPtr& tensor : attribute.tensors()) ToTensorProto(*tensor, proto->add_tensors());
      break;
    case AttributeType::kTypeProto: ToTypeProto(*attribute.types().at(0), proto->mutable_tp()); break;
    case AttributeType::kTypeProtos:
      for (const TypePtr& type : attribute.types()) ToTypeProto(*type, proto->add_type_protos());
      break;
    case AttributeType::kGraph:
      if (graphs == Graphs::kInclude) proto->mutable_g()->ParseFromString(GraphToBytes(attribute.g()));
      break;
    case AttributeType::kGraphs:
      if (graphs == Graphs::kLeaveOut) break;
      for (const auto& graph : attribute.graphs()) proto->add_graphs()->ParseFromString(GraphToBytes(*graph));
      break;
    case AttributeType::kSparseTensor:
    case AttributeType::kSparseTensors: break;
  }
}

void ToNodeProto(const Node& node, onnx::NodeProto* proto) {
  proto->set_name(node.name());
  proto->set_op_type(node.op_type());
  proto->set_domain(node.domain());
  for (const ValueDef* value : node.inputs()) proto->add_input(value == nullptr ? "" : value->name());
  for (const ValueDef* value : node.outputs()) proto->add_output(value == nullptr ? "" : value->name());
  for (const auto& attribute : node.attributes()) {
    ToAttributeProto(*attribute, Graphs::kInclude, proto->add_attribute());
  }
}

}  // namespace epiphyte::core
