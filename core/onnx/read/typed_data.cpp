#include "core/onnx/read/typed_data.h"

#include <cstring>

#include "core/base/error.h"
#include "core/onnx/wire/proto_fields.h"

namespace epiphyte::core {
namespace {

// Storage of a type's elements: the field, the number of protobuf numbers per element, and the width of a number in
// memory.
struct Storage {
  uint32_t field;
  std::string_view field_name;
  uint32_t numbers_per_element;
  uint32_t bytes_per_number;
};

Storage StorageOf(DataType type) {
  switch (type) {
    case DataType::kFloat: return {proto::tensor::kFloatData, "float_data", 1, 4};
    case DataType::kComplex64: return {proto::tensor::kFloatData, "float_data", 2, 4};
    case DataType::kDouble: return {proto::tensor::kDoubleData, "double_data", 1, 8};
    case DataType::kComplex128: return {proto::tensor::kDoubleData, "double_data", 2, 8};
    case DataType::kInt64: return {proto::tensor::kInt64Data, "int64_data", 1, 8};
    case DataType::kUint64: return {proto::tensor::kUint64Data, "uint64_data", 1, 8};
    case DataType::kUint32: return {proto::tensor::kUint64Data, "uint64_data", 1, 4};
    case DataType::kString: return {proto::tensor::kStringData, "string_data", 1, 0};
    default: return {proto::tensor::kInt32Data, "int32_data", 1, (DataTypeBits(type) + 7) / 8};
  }
}

ConstantPtr DecodeStrings(const std::vector<WireField>& fields, std::vector<int64_t> dims) {
  std::vector<std::string> strings;
  strings.reserve(fields.size());
  for (const WireField& field : fields) strings.emplace_back(field.Bytes());
  return Constant::Strings(std::move(dims), std::move(strings));
}

void DecodeIntegers(const std::vector<WireField>& fields, uint32_t width, std::vector<uint8_t>* out) {
  std::vector<int64_t> numbers;
  for (const WireField& field : fields) field.AppendInts(&numbers);
  out->resize(numbers.size() * width);
  uint8_t* next = out->data();
  for (const int64_t number : numbers) {
    std::memcpy(next, &number, width);
    next += width;
  }
}

void DecodeFloats(const std::vector<WireField>& fields, uint32_t width, std::vector<uint8_t>* out) {
  for (const WireField& field : fields) {
    if (field.type == WireType::kBytes) {
      out->insert(out->end(), field.bytes.begin(), field.bytes.end());
    } else {
      const auto* bytes = reinterpret_cast<const uint8_t*>(&field.scalar);
      out->insert(out->end(), bytes, bytes + width);
    }
  }
}

}  // namespace

bool TypedData::Take(const WireField& field) {
  switch (field.number) {
    case proto::tensor::kFloatData:
    case proto::tensor::kInt32Data:
    case proto::tensor::kStringData:
    case proto::tensor::kInt64Data:
    case proto::tensor::kDoubleData:
    case proto::tensor::kUint64Data:
      // An empty packed field contains no elements; an empty string is an element.
      if (field.type != WireType::kBytes || !field.bytes.empty() || field.number == proto::tensor::kStringData) {
        fields_.push_back(field);
      }
      return true;
    default: return false;
  }
}

ConstantPtr TypedData::Decode(DataType type, std::vector<int64_t> dims, std::string_view what) const {
  const Storage storage = StorageOf(type);
  const bool is_float = storage.field == proto::tensor::kFloatData || storage.field == proto::tensor::kDoubleData;
  uint64_t found = 0;
  for (const WireField& field : fields_) {
    if (field.number != storage.field) {
      Fail(StatusCode::kInvalidGraph, "{} of type {} has elements in field {} of TensorProto, {} expected", what,
           DataTypeName(type), field.number, storage.field_name);
    }
    if (type == DataType::kString) {
      ++found;
    } else {
      found += is_float ? field.CountFixed(storage.bytes_per_number) : field.CountVarints();
    }
  }
  // Types smaller than a byte are packed; each protobuf number holds one byte.
  const uint64_t elements = ElementCount(dims);
  const bool packed = DataTypeBits(type) < 8;
  const uint64_t per_element = storage.numbers_per_element;
  const bool right_count =
      packed ? found == DataTypeBytes(type, elements) : found % per_element == 0 && found / per_element == elements;
  if (!right_count) {
    Fail(StatusCode::kInvalidGraph, "{} has {} numbers in {}, {} expected for its {} elements", what, found,
         storage.field_name, packed ? DataTypeBytes(type, elements) : elements * per_element, elements);
  }
  if (type == DataType::kString) return DecodeStrings(fields_, std::move(dims));
  std::vector<uint8_t> bytes;
  if (is_float) {
    DecodeFloats(fields_, storage.bytes_per_number, &bytes);
  } else {
    DecodeIntegers(fields_, storage.bytes_per_number, &bytes);
  }
  return Constant::Copy(type, std::move(dims), bytes.data(), bytes.size());
}

}  // namespace epiphyte::core
