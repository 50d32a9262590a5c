#include "core/onnx/write/tensor_io.h"

#include <cstring>

#include "core/base/error.h"
#include "core/base/mapped_file.h"
#include "core/base/staged_file.h"
#include "core/onnx/read/file_kind.h"
#include "core/onnx/read/tensor_reader.h"
#include "core/onnx/read/type_reader.h"
#include "core/onnx/wire/printable_errors.h"
#include "core/onnx/wire/proto_fields.h"
#include "core/onnx/wire/wire_reader.h"
#include "core/onnx/wire/wire_writer.h"
#include "core/onnx/write/graph_writer.h"

namespace epiphyte::core {
namespace {

// --- reading

// The caller may write to values that are read from a file. A constant may view the mapped file, so it is copied.
ValuePtr OwnValue(const ConstantPtr& constant) {
  ValuePtr shared = Value::FromConstant(constant);
  return constant->type() == DataType::kString ? shared : Value::CopyOf(*shared);
}

class ValueReader {
 public:
  explicit ValueReader(std::shared_ptr<const void> owner) : tensors_(std::move(owner), nullptr) {}

  ValuePtr Read(std::string_view bytes, const Type& type) const {
    switch (type.kind()) {
      case EP_KIND_TENSOR: return OwnValue(tensors_.Read(bytes, "tensor").constant);
      case EP_KIND_SPARSE_TENSOR: return OwnValue(tensors_.ReadSparse(bytes, "sparse tensor").constant);
      case EP_KIND_SEQUENCE: return ReadSequence(bytes, *type.element());
      case EP_KIND_OPTIONAL: return ReadOptional(bytes, *type.element());
      case EP_KIND_MAP: return ReadMap(bytes, *type.element());
      default: Fail(StatusCode::kInvalidArgument, "a value of unknown type can't be read from a file");
    }
  }

 private:
  static uint32_t ElementField(const Type& element) {
    switch (element.kind()) {
      case EP_KIND_TENSOR: return proto::sequence::kTensor;
      case EP_KIND_SPARSE_TENSOR: return proto::sequence::kSparseTensor;
      case EP_KIND_SEQUENCE: return proto::sequence::kSequence;
      case EP_KIND_MAP: return proto::sequence::kMap;
      case EP_KIND_OPTIONAL: return proto::sequence::kOptional;
      default: Fail(StatusCode::kInvalidArgument, "elements of unknown type can't be read from a file");
    }
  }

  std::vector<ValuePtr> ReadElements(std::string_view bytes, const Type& element, const char* message) const {
    std::vector<ValuePtr> elements;
    const uint32_t expected = ElementField(element);
    WireReader reader(bytes, message);
    for (WireField field; reader.Next(&field);) {
      if (field.number == expected)
        elements.push_back(Read(field.Bytes(), element));
      else if (field.number >= proto::sequence::kTensor && field.number <= proto::sequence::kOptional) {
        Fail(StatusCode::kInvalidProtobuf, "{} holds something other than {}", message, element.ToString());
      }
    }
    return elements;
  }

  ValuePtr ReadSequence(std::string_view bytes, const Type& element) const {
    return Value::Sequence(element.element_type(), ReadElements(bytes, element, "SequenceProto"));
  }

  ValuePtr ReadOptional(std::string_view bytes, const Type& element) const {
    std::vector<ValuePtr> elements = ReadElements(bytes, element, "OptionalProto");
    if (elements.empty()) return Value::EmptyOptional();
    if (elements.size() > 1)
      Fail(StatusCode::kInvalidProtobuf, "OptionalProto holds {} values, at most 1 expected", elements.size());
    return elements.front();
  }

  // In the file the values are a sequence of single tensors; at run time they are one tensor.
  ValuePtr ReadMap(std::string_view bytes, const Type& value_type) const {
    std::vector<int64_t> int_keys;
    std::vector<std::string> string_keys;
    DataType key_type = DataType::kUndefined;
    std::vector<ValuePtr> values;
    WireReader reader(bytes, "MapProto");
    for (WireField field; reader.Next(&field);) {
      switch (field.number) {
        case proto::map::kKeyType: key_type = static_cast<DataType>(field.Int32()); break;
        case proto::map::kKeys: field.AppendInts(&int_keys); break;
        case proto::map::kStringKeys: string_keys.emplace_back(field.Bytes()); break;
        case proto::map::kValues: values = ReadElements(field.Bytes(), value_type, "SequenceProto"); break;
        default: break;
      }
    }
    const bool strings = key_type == DataType::kString || (int_keys.empty() && !string_keys.empty());
    const size_t count = strings ? string_keys.size() : int_keys.size();
    if (count != values.size() || (!int_keys.empty() && !string_keys.empty())) {
      Fail(StatusCode::kInvalidProtobuf, "MapProto has {} keys and {} values, as many of one as of the other expected",
           count, values.size());
    }
    const std::vector<int64_t> dims = {static_cast<int64_t>(count)};
    ValuePtr keys;
    if (strings) {
      keys = Value::Strings(dims, std::move(string_keys));
    } else {
      keys = Value::Tensor(DataType::kInt64, dims);
      if (count != 0) std::memcpy(keys->mutable_data(), int_keys.data(), keys->byte_size());
    }
    return Value::Map(std::move(keys), JoinScalars(values, value_type.element_type()));
  }

  static ValuePtr JoinScalars(const std::vector<ValuePtr>& scalars, DataType type) {
    const std::vector<int64_t> dims = {static_cast<int64_t>(scalars.size())};
    for (const ValuePtr& scalar : scalars) {
      if (scalar->IsTensor() && scalar->element_count() == 1 && scalar->type() == type) continue;
      Fail(StatusCode::kInvalidProtobuf, "MapProto has a value that is no single {}", DataTypeName(type));
    }
    if (type == DataType::kString) {
      std::vector<std::string> strings;
      for (const ValuePtr& scalar : scalars) strings.push_back(scalar->string_at(0));
      return Value::Strings(dims, std::move(strings));
    }
    ValuePtr joined = Value::Tensor(type, dims);
    auto* next = static_cast<uint8_t*>(joined->mutable_data());
    for (const ValuePtr& scalar : scalars) {
      std::memcpy(next, scalar->data(), scalar->byte_size());
      next += scalar->byte_size();
    }
    return joined;
  }

  TensorReader tensors_;
};

// --- writing

void WriteValue(const Value& value, const Type& type, std::string_view name, WireWriter& out);

ConstantPtr ToConstant(const Value& value, uint64_t begin, uint64_t count, std::vector<int64_t> dims) {
  RequireOnHost(value, "the tensor for a file");
  if (value.type() == DataType::kString) {
    std::vector<std::string> strings;
    for (uint64_t i = begin; i < begin + count; ++i) strings.push_back(value.string_at(i));
    return Constant::Strings(std::move(dims), std::move(strings));
  }
  const uint64_t bytes = DataTypeBytes(value.type(), count);
  // No ownership is needed: the value outlives the call that writes it.
  const std::shared_ptr<const void> borrowed(std::shared_ptr<const void>(), value.data());
  const auto* data = static_cast<const uint8_t*>(value.data());
  return Constant::View(value.type(), std::move(dims), bytes == 0 ? nullptr : data + DataTypeBytes(value.type(), begin),
                        bytes, borrowed);
}

struct ElementKind {
  uint32_t field;
  int32_t kind;
};

ElementKind KindOf(const Type& element) {
  switch (element.kind()) {
    case EP_KIND_TENSOR: return {proto::sequence::kTensor, proto::kKindTensor};
    case EP_KIND_SPARSE_TENSOR: return {proto::sequence::kTensor, proto::kKindTensor};
    case EP_KIND_SEQUENCE: return {proto::sequence::kSequence, proto::kKindSequence};
    case EP_KIND_MAP: return {proto::sequence::kMap, proto::kKindMap};
    case EP_KIND_OPTIONAL: return {proto::sequence::kOptional, proto::kKindOptional};
    default: Fail(StatusCode::kInvalidArgument, "elements of unknown type can't be written to a file");
  }
}

void WriteTensorValue(const Value& value, std::string_view name, WireWriter& out) {
  WriteTensor(*ToConstant(value, 0, value.element_count(), {value.dims().begin(), value.dims().end()}), name, out);
}

void WriteMap(const Value& value, std::string_view name, WireWriter& out) {
  const Value& keys = *value.elements().at(0);
  const Value& values = *value.elements().at(1);
  if (!name.empty()) out.Bytes(proto::map::kName, name);
  out.Int(proto::map::kKeyType, static_cast<int64_t>(keys.type()));
  if (keys.type() == DataType::kString) {
    for (uint64_t i = 0; i < keys.element_count(); ++i) out.Bytes(proto::map::kStringKeys, keys.string_at(i));
  } else if (keys.type() == DataType::kInt64) {
    const int64_t* numbers = keys.data_as<int64_t>();
    out.PackedInts(proto::map::kKeys, {numbers, numbers + keys.element_count()});
  } else {
    Fail(StatusCode::kNotImplemented, "a map with keys of type {} can't be written, int64 or string expected",
         DataTypeName(keys.type()));
  }
  out.Message(proto::map::kValues, [&] {
    out.Int(proto::sequence::kElementKind, proto::kKindTensor);
    for (uint64_t i = 0; i < values.element_count(); ++i) {
      out.Message(proto::sequence::kTensor, [&] { WriteTensor(*ToConstant(values, i, 1, {}), "", out); });
    }
  });
}

void WriteValue(const Value& value, const Type& type, std::string_view name, WireWriter& out) {
  if (type.kind() == EP_KIND_SEQUENCE || type.kind() == EP_KIND_OPTIONAL) {
    const ElementKind element = KindOf(*type.element());
    if (!name.empty()) out.Bytes(proto::sequence::kName, name);
    out.Int(proto::sequence::kElementKind, element.kind);
    if (type.kind() == EP_KIND_OPTIONAL) {
      if (value.IsEmptyOptional()) return;
      return out.Message(element.field, [&] { WriteValue(value, *type.element(), "", out); });
    }
    if (value.kind() != EP_KIND_SEQUENCE) Fail(StatusCode::kInvalidArgument, "value '{}' is no sequence", name);
    for (const ValuePtr& item : value.elements()) {
      out.Message(element.field, [&] { WriteValue(*item, *type.element(), "", out); });
    }
    return;
  }
  if (value.IsTensor()) return WriteTensorValue(value, name, out);
  if (value.kind() == EP_KIND_MAP) return WriteMap(value, name, out);
  Fail(StatusCode::kInvalidArgument, "value '{}' is not of the type {}", name, type.ToString());
}

}  // namespace

ValuePtr ReadValueFile(const std::filesystem::path& path, const Type& type) {
  const std::shared_ptr<const MappedFile> file = MappedFile::Open(path);
  return WithPrintableErrors(fmt::format("'{}' as {}: ", path.string(), type.ToString()), [&] {
    RefuseLfsPointer({reinterpret_cast<const char*>(file->data()), file->size()}, "it");
    try {
      return ValueReader(file).Read({reinterpret_cast<const char*>(file->data()), file->size()}, type);
    } catch (const Error& error) {
      // The error of an invalid tensor in a model becomes the error of an invalid file here.
      throw Error(error.code() == StatusCode::kInvalidGraph ? StatusCode::kInvalidProtobuf : error.code(),
                  error.message());
    }
  });
}

void WriteValueFile(const std::filesystem::path& path, const Value& value, const Type& type, std::string_view name) {
  WireWriter counter;
  WriteValue(value, type, name, counter);
  StagedFile file(path);
  const ByteSink sink = [&file](const void* data, uint64_t size) { file.Write(data, size); };
  WireWriter writer(std::move(counter), sink);
  WriteValue(value, type, name, writer);
  writer.Flush();
  file.Commit(/*overwrite=*/true);
}

}  // namespace epiphyte::core
