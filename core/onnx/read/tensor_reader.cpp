#include "core/onnx/read/tensor_reader.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "core/base/error.h"
#include "core/onnx/read/type_reader.h"
#include "core/onnx/read/typed_data.h"
#include "core/onnx/wire/proto_fields.h"
#include "core/onnx/wire/wire_reader.h"

namespace epiphyte::core {
namespace {

// Maximum size of an unfolded sparse tensor. The dense size in the file isn't backed by data.
constexpr uint64_t kMaxDensifiedBytes = uint64_t{1} << 31;

struct TensorFields {
  std::string name;
  int64_t data_type = 0;
  std::vector<int64_t> dims;
  TypedData typed;
  std::optional<std::string_view> raw;
  std::vector<std::string_view> external_entries;
  bool is_external = false;
};

TensorFields WalkTensor(std::string_view bytes) {
  TensorFields tensor;
  WireReader reader(bytes, "TensorProto");
  for (WireField field; reader.Next(&field);) {
    if (tensor.typed.Take(field)) continue;
    switch (field.number) {
      case proto::tensor::kDims: field.AppendInts(&tensor.dims); break;
      case proto::tensor::kDataType: tensor.data_type = field.Int64(); break;
      case proto::tensor::kName: tensor.name = field.Bytes(); break;
      case proto::tensor::kRawData: tensor.raw = field.Bytes(); break;
      case proto::tensor::kExternalData: tensor.external_entries.push_back(field.Bytes()); break;
      case proto::tensor::kDataLocation: tensor.is_external = field.Varint() == 1; break;
      case proto::tensor::kSegment:
        Fail(StatusCode::kNotImplemented, "tensor '{}' is split into segments; save the model with whole tensors",
             tensor.name);
      default: break;
    }
  }
  return tensor;
}

uint64_t ParseNumber(std::string_view text, std::string_view key, std::string_view what) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
    Fail(StatusCode::kInvalidGraph, "external data of {}: {} is '{}', a number of bytes expected", what, key, text);
  }
  return value;
}

ExternalLocation ReadLocation(const TensorFields& tensor, ExternalData* files, std::string_view what) {
  ExternalLocation location;
  bool has_length = false;
  for (const std::string_view bytes : tensor.external_entries) {
    std::string_view key, value;
    WireReader reader(bytes, "StringStringEntryProto");
    for (WireField field; reader.Next(&field);) {
      if (field.number == proto::entry::kKey) key = field.Bytes();
      if (field.number == proto::entry::kValue) value = field.Bytes();
    }
    if (key == "location") location.file = value;
    if (key == "offset") location.offset = ParseNumber(value, key, what);
    if (key == "length") {
      location.length = ParseNumber(value, key, what);
      has_length = true;
    }
  }
  if (location.file.empty()) {
    Fail(StatusCode::kInvalidGraph, "{} is external data without a location; save the model again", what);
  }
  if (!has_length) location.length = files->LengthFrom(location.file, location.offset, what);
  return location;
}

DataType CheckedType(int64_t number, std::string_view what) {
  if (number > 0 && number <= INT32_MAX && IsValidDataType(static_cast<int32_t>(number))) {
    return static_cast<DataType>(number);
  }
  Fail(StatusCode::kInvalidGraph, "{} has element type {}, an ONNX element type from 1 to 26 expected", what, number);
}

uint64_t CheckedByteSize(DataType type, const std::vector<int64_t>& dims, std::string_view what) {
  try {
    return DataTypeBytes(type, ElementCount(dims));
  } catch (const Error& error) {
    Fail(error.code(), "{}: {}", what, error.message());
  }
}

void CheckSize(uint64_t found, uint64_t expected, DataType type, const std::vector<int64_t>& dims,
               std::string_view what) {
  if (found == expected) return;
  Fail(StatusCode::kInvalidGraph, "{} of type {}[{}] has {} bytes of data, {} expected", what, DataTypeName(type),
       fmt::join(dims, ","), found, expected);
}

// Offsets in the dense tensor. `indices` has linear positions, or one row of coordinates for each value.
std::vector<uint64_t> SparsePositions(const Constant& indices, uint64_t count, const std::vector<int64_t>& dims,
                                      uint64_t dense_count, std::string_view what) {
  const size_t rank = dims.size();
  const auto rows = static_cast<int64_t>(count);
  const bool linear = indices.dims() == std::vector<int64_t>{rows};
  if (indices.type() != DataType::kInt64 ||
      (!linear && indices.dims() != std::vector<int64_t>{rows, static_cast<int64_t>(rank)})) {
    Fail(StatusCode::kInvalidGraph, "{}: sparse indices are {}[{}], int64[{}] or int64[{},{}] expected", what,
         DataTypeName(indices.type()), fmt::join(indices.dims(), ","), count, count, rank);
  }
  std::vector<uint64_t> positions(count);
  const auto* numbers = static_cast<const uint8_t*>(indices.bytes());
  auto at = [numbers](uint64_t i) {
    int64_t value = 0;
    std::memcpy(&value, numbers + i * sizeof value, sizeof value);
    return value;
  };
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t position = 0;
    bool inside = true;
    if (linear) {
      position = static_cast<uint64_t>(at(i));
      inside = position < dense_count;
    } else {
      for (size_t axis = 0; axis < rank; ++axis) {
        const int64_t coordinate = at(i * rank + axis);
        inside &= coordinate >= 0 && coordinate < dims[axis];
        if (inside) position = position * static_cast<uint64_t>(dims[axis]) + static_cast<uint64_t>(coordinate);
      }
    }
    if (!inside)
      Fail(StatusCode::kInvalidGraph, "{}: sparse index {} lies outside [{}]", what, i, fmt::join(dims, ","));
    positions[i] = position;
  }
  return positions;
}

}  // namespace

ConstantPtr TensorReader::Bytes(DataType type, std::vector<int64_t> dims, const void* data, uint64_t size,
                                const std::shared_ptr<const void>& owner) const {
  if (owner) return Constant::ViewOfAnyAlignment(type, std::move(dims), data, size, owner);
  return Constant::Copy(type, std::move(dims), data, size);
}

NamedTensor TensorReader::Read(std::string_view bytes, std::string_view what) const {
  TensorFields tensor = WalkTensor(bytes);
  const std::string subject = tensor.name.empty() ? std::string(what) : fmt::format("tensor '{}'", tensor.name);
  const DataType type = CheckedType(tensor.data_type, subject);
  const uint64_t expected = CheckedByteSize(type, tensor.dims, subject);
  if (tensor.dims.size() > kMaxRank) {
    Fail(StatusCode::kInvalidGraph, "{} has {} dimensions, at most {} expected", subject, tensor.dims.size(), kMaxRank);
  }

  NamedTensor result;
  result.name = std::move(tensor.name);
  if (tensor.raw && !tensor.typed.empty()) {
    Fail(StatusCode::kInvalidGraph, "{} has its data twice, as raw_data and as typed data; one expected", subject);
  }
  if (type == DataType::kString && (tensor.is_external || (tensor.raw && !tensor.raw->empty()))) {
    Fail(StatusCode::kInvalidGraph, "{} is a string tensor with raw or external data, string_data expected", subject);
  }
  if (tensor.is_external) {
    if (external_ == nullptr) {
      Fail(StatusCode::kInvalidGraph, "{} is external data, which is not allowed here; embed it", subject);
    }
    if (tensor.raw || !tensor.typed.empty()) {
      Fail(StatusCode::kInvalidGraph, "{} has its data twice, in the model and outside of it; one expected", subject);
    }
    ExternalLocation location = ReadLocation(tensor, external_, subject);
    CheckSize(location.length, expected, type, tensor.dims, subject);
    const ExternalData::Bytes data = external_->Find(location, subject);
    result.constant = Bytes(type, std::move(tensor.dims), data.data, location.length, data.file);
    result.external = std::make_unique<ExternalLocation>(std::move(location));
  } else if (tensor.raw && type != DataType::kString) {
    CheckSize(tensor.raw->size(), expected, type, tensor.dims, subject);
    result.constant = Bytes(type, std::move(tensor.dims), tensor.raw->data(), tensor.raw->size(), owner_);
  } else {
    result.constant = tensor.typed.Decode(type, std::move(tensor.dims), subject);
  }
  return result;
}

// Limits the unfolded size by the amount of values in the file, because the dense size is an unproven claim.
void TensorReader::CountUnfolded(uint64_t size, uint64_t values, std::string_view subject) const {
  uint64_t earned = 0;
  if (__builtin_mul_overflow(values, kMostUnfoldedTimes, &earned) ||
      __builtin_add_overflow(unfolded_left_, earned, &unfolded_left_)) {
    unfolded_left_ = UINT64_MAX;
  }
  if (size > unfolded_left_) {
    Fail(StatusCode::kNotImplemented,
         "{} has {} bytes when dense, of which {} are values; a model's sparse tensors may become {} MiB and {} times "
         "their values, expected no more; store it dense",
         subject, size, values, kMostUnfoldedBytes >> 20, kMostUnfoldedTimes);
  }
  unfolded_left_ -= size;
}

NamedTensor TensorReader::ReadSparse(std::string_view bytes, std::string_view what) const {
  std::string_view values_bytes, indices_bytes;
  std::vector<int64_t> dims;
  WireReader reader(bytes, "SparseTensorProto");
  for (WireField field; reader.Next(&field);) {
    if (field.number == proto::sparse_tensor::kValues) values_bytes = field.Bytes();
    if (field.number == proto::sparse_tensor::kIndices) indices_bytes = field.Bytes();
    if (field.number == proto::sparse_tensor::kDims) field.AppendInts(&dims);
  }
  NamedTensor values = Read(values_bytes, what);
  const std::string subject = values.name.empty() ? std::string(what) : fmt::format("sparse tensor '{}'", values.name);
  const NamedTensor indices = Read(indices_bytes, subject);
  const DataType type = values.constant->type();
  const uint32_t width = DataTypeBits(type) / 8;
  if (type == DataType::kString || width == 0) {
    Fail(StatusCode::kNotImplemented, "{} has elements of type {}, a type of whole bytes expected; store it dense",
         subject, DataTypeName(type));
  }
  const uint64_t size = CheckedByteSize(type, dims, subject);
  if (size > kMaxDensifiedBytes) {
    Fail(StatusCode::kNotImplemented, "{} has {} bytes when dense, at most {} expected", subject, size,
         kMaxDensifiedBytes);
  }
  CountUnfolded(size, values.constant->byte_size(), subject);
  const uint64_t count = values.constant->element_count();
  const auto positions = SparsePositions(*indices.constant, count, dims, size / width, subject);
  // calloc, because pages without values are then never allocated.
  std::shared_ptr<void> dense(std::calloc(size == 0 ? 1 : size, 1), std::free);
  if (!dense) Fail(StatusCode::kFail, "{}: no memory for {} bytes", subject, size);
  const auto* from = static_cast<const uint8_t*>(values.constant->bytes());
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(static_cast<uint8_t*>(dense.get()) + positions[i] * width, from + i * width, width);
  }
  values.constant = Constant::View(type, std::move(dims), dense.get(), size, dense);
  values.external = nullptr;
  return values;
}

}  // namespace epiphyte::core
