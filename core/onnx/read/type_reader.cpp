#include "core/onnx/read/type_reader.h"

#include "core/base/error.h"
#include "core/onnx/wire/proto_fields.h"
#include "core/onnx/wire/wire_reader.h"

namespace epiphyte::core {
namespace {

TypePtr ReadNested(std::string_view bytes, int depth);

DataType ReadElementType(const WireField& field) {
  const int64_t number = field.Int64();
  if (number == 0) return DataType::kUndefined;
  if (number < 0 || number > INT32_MAX || !IsValidDataType(static_cast<int32_t>(number))) {
    Fail(StatusCode::kInvalidGraph, "a value has element type {}, an ONNX element type from 1 to 26 expected", number);
  }
  return static_cast<DataType>(number);
}

Dim ReadDim(std::string_view bytes) {
  Dim dim;
  WireReader reader(bytes, "TensorShapeProto.Dimension");
  for (WireField field; reader.Next(&field);) {
    if (field.number == proto::type::kDimValue) {
      const int64_t size = field.Int64();
      dim = size < 0 ? Dim() : Dim(size);
    } else if (field.number == proto::type::kDimParam) {
      dim = Dim::Symbol(std::string(field.Bytes()));
    }
  }
  return dim;
}

Shape ReadShape(std::string_view bytes) {
  Shape shape;
  WireReader reader(bytes, "TensorShapeProto");
  for (WireField field; reader.Next(&field);) {
    if (field.number == proto::type::kShapeDim) shape.push_back(ReadDim(field.Bytes()));
  }
  if (shape.size() > kMaxRank) {
    Fail(StatusCode::kInvalidGraph, "a value has {} dimensions, at most {} expected", shape.size(), kMaxRank);
  }
  return shape;
}

TypePtr ReadTensorType(std::string_view bytes, bool sparse) {
  DataType element = DataType::kUndefined;
  std::optional<Shape> shape;
  WireReader reader(bytes, "TypeProto.Tensor");
  for (WireField field; reader.Next(&field);) {
    if (field.number == proto::type::kElementType) element = ReadElementType(field);
    if (field.number == proto::type::kShape) shape = ReadShape(field.Bytes());
  }
  return sparse ? Type::SparseTensor(element, std::move(shape)) : Type::Tensor(element, std::move(shape));
}

TypePtr ReadElementOf(std::string_view bytes, int depth) {
  TypePtr element = Type::Unknown();
  WireReader reader(bytes, "TypeProto.Sequence");
  for (WireField field; reader.Next(&field);) {
    if (field.number == proto::type::kElementType) element = ReadNested(field.Bytes(), depth + 1);
  }
  return element;
}

TypePtr ReadMapType(std::string_view bytes, int depth) {
  DataType key = DataType::kUndefined;
  TypePtr value = Type::Unknown();
  WireReader reader(bytes, "TypeProto.Map");
  for (WireField field; reader.Next(&field);) {
    if (field.number == proto::type::kMapKey) key = ReadElementType(field);
    if (field.number == proto::type::kMapValue) value = ReadNested(field.Bytes(), depth + 1);
  }
  return Type::Map(key, std::move(value));
}

TypePtr ReadNested(std::string_view bytes, int depth) {
  if (depth > kMaxNesting) {
    Fail(StatusCode::kInvalidGraph, "a type is nested more than {} levels deep; the file is damaged", kMaxNesting);
  }
  TypePtr type;
  WireReader reader(bytes, "TypeProto");
  for (WireField field; reader.Next(&field);) {
    switch (field.number) {
      case proto::type::kTensor: type = ReadTensorType(field.Bytes(), false); break;
      case proto::type::kSparseTensor: type = ReadTensorType(field.Bytes(), true); break;
      case proto::type::kSequence: type = Type::Sequence(ReadElementOf(field.Bytes(), depth)); break;
      case proto::type::kOptional: type = Type::Optional(ReadElementOf(field.Bytes(), depth)); break;
      case proto::type::kMap: type = ReadMapType(field.Bytes(), depth); break;
      default: break;
    }
  }
  return type ? type : Type::Unknown();
}

}  // namespace

TypePtr ReadType(std::string_view bytes) { return ReadNested(bytes, 1); }

ValueInfo ReadValueInfo(std::string_view bytes) {
  ValueInfo info;
  WireReader reader(bytes, "ValueInfoProto");
  for (WireField field; reader.Next(&field);) {
    if (field.number == proto::value_info::kName) info.name = field.Bytes();
    if (field.number == proto::value_info::kType) info.type = ReadType(field.Bytes());
  }
  return info;
}

}  // namespace epiphyte::core
