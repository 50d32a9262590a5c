#include "epiphyte/value.hpp"

#include <fmt/format.h>

#include <cstring>

#include "core/graph/value.h"
#include "host/api/access.h"

namespace epiphyte {
namespace {

const char* KindName(ValueKind kind) {
  switch (kind) {
    case ValueKind::kTensor: return "a tensor";
    case ValueKind::kSparseTensor: return "a sparse tensor";
    case ValueKind::kSequence: return "a sequence";
    case ValueKind::kMap: return "a map";
    default: return "an empty optional";
  }
}

[[noreturn]] void RejectKind(const core::Value* value, const char* expected) {
  const char* found = value == nullptr ? "an empty value" : KindName(static_cast<ValueKind>(value->kind()));
  throw Error(StatusCode::kInvalidArgument, fmt::format("{} found, {} expected; check kind() first", found, expected));
}

core::Value& Tensor(core::Value* value) {
  if (value == nullptr || !value->IsTensor()) RejectKind(value, "a tensor");
  return *value;
}

core::Value& PlainTensor(core::Value* value) {
  if (Tensor(value).type() == core::DataType::kString) {
    throw Error(StatusCode::kInvalidArgument, "a tensor of strings found, one of numbers expected; use strings()");
  }
  return *value;
}

core::DataType Checked(ElementType type) {
  if (type == ElementType::kString) {
    throw Error(StatusCode::kInvalidArgument, "a tensor of strings has no plain memory; use Value::Strings");
  }
  if (!core::IsValidDataType(static_cast<int32_t>(type))) {
    throw Error(StatusCode::kInvalidArgument,
                fmt::format("element type {} is none of ONNX's; use one of ElementType", static_cast<int32_t>(type)));
  }
  return static_cast<core::DataType>(type);
}

void CheckBytes(core::DataType type, const Shape& shape, uint64_t bytes) {
  for (int64_t dim : shape) {
    if (dim < 0) {
      throw Error(StatusCode::kInvalidArgument, fmt::format("a dimension is {}; use a size of 0 or more", dim));
    }
  }
  uint64_t needed = core::DataTypeBytes(type, core::ElementCount(shape));
  if (needed != bytes) {
    throw Error(StatusCode::kInvalidArgument,
                fmt::format("{} bytes given, {} expected for {}[{}]; pass memory of the tensor's size", bytes, needed,
                            core::DataTypeName(type), fmt::join(shape, ",")));
  }
}

}  // namespace

Value::Value(const Value& other) : value_(core::ValuePtr::Share(other.value_).Detach()) {}

Value::~Value() {
  if (value_ != nullptr) core::ValuePtr::Adopt(value_);
}

Value Value::Tensor(ElementType type, const Shape& shape) {
  return Translate([&] { return Access::Wrap(core::Value::Tensor(Checked(type), shape)); });
}

Value Value::Wrap(ElementType type, const Shape& shape, void* data, uint64_t bytes, std::function<void()> release) {
  return Translate([&] {
    CheckBytes(Checked(type), shape, bytes);
    if (data == nullptr && bytes != 0) {
      throw Error(StatusCode::kInvalidArgument, fmt::format("null given for {} bytes of memory", bytes));
    }
    return Access::Wrap(core::Value::Wrap(Checked(type), shape, data, bytes, std::move(release)));
  });
}

Value Value::CopyBytes(ElementType type, const Shape& shape, const void* data, uint64_t bytes) {
  return Translate([&] {
    CheckBytes(Checked(type), shape, bytes);
    core::ValuePtr value = core::Value::Tensor(Checked(type), shape);
    if (bytes != 0) std::memcpy(value->mutable_data(), data, bytes);
    return Access::Wrap(std::move(value));
  });
}

Value Value::Strings(std::vector<std::string> strings, const Shape& shape) {
  return Translate([&] { return Access::Wrap(core::Value::Strings(shape, std::move(strings))); });
}

Value Value::Sequence(ElementType element_type, const std::vector<Value>& elements) {
  return Translate([&] {
    std::vector<core::ValuePtr> shared;
    for (const Value& element : elements) {
      if (!element) throw Error(StatusCode::kInvalidArgument, "an element of a sequence is empty; give each a value");
      shared.push_back(Access::Share(element));
    }
    return Access::Wrap(core::Value::Sequence(static_cast<core::DataType>(element_type), std::move(shared)));
  });
}

Value Value::EmptyOptional() {
  return Translate([] { return Access::Wrap(core::Value::EmptyOptional()); });
}

ValueKind Value::kind() const { return value_ == nullptr ? ValueKind::kEmpty : static_cast<ValueKind>(value_->kind()); }

ElementType Value::element_type() const { return static_cast<ElementType>(epiphyte::Tensor(value_).type()); }

Shape Value::shape() const {
  std::span<const int64_t> dims = epiphyte::Tensor(value_).dims();
  return Shape(dims.begin(), dims.end());
}

uint64_t Value::element_count() const { return epiphyte::Tensor(value_).element_count(); }

uint64_t Value::byte_size() const { return epiphyte::Tensor(value_).byte_size(); }

const void* Value::data() const { return PlainTensor(value_).data(); }

void* Value::mutable_data() { return PlainTensor(value_).mutable_data(); }

std::vector<std::string> Value::strings() const {
  const core::Value& tensor = epiphyte::Tensor(value_);
  if (tensor.type() != core::DataType::kString) {
    throw Error(StatusCode::kInvalidArgument, fmt::format("tensor({}) found, tensor(string) expected; use Data()",
                                                          core::DataTypeName(tensor.type())));
  }
  return Translate([&] {
    std::vector<std::string> strings;
    for (uint64_t i = 0; i < tensor.element_count(); ++i) strings.push_back(tensor.string_at(i));
    return strings;
  });
}

std::vector<Value> Value::elements() const {
  if (kind() != ValueKind::kSequence && kind() != ValueKind::kMap) RejectKind(value_, "a sequence or a map");
  std::vector<Value> elements;
  for (const core::ValuePtr& element : value_->elements()) elements.push_back(Access::Wrap(element));
  return elements;
}

const void* Value::CheckedData(ElementType type) const {
  const core::Value& tensor = PlainTensor(value_);
  if (static_cast<ElementType>(tensor.type()) != type) {
    std::string_view asked =
        type == ElementType::kUndefined ? "a C++ type without a tensor type" : ElementTypeName(type);
    throw Error(StatusCode::kInvalidArgument, fmt::format("tensor({}) found, {} asked for; check element_type() first",
                                                          core::DataTypeName(tensor.type()), asked));
  }
  return tensor.data();
}

}  // namespace epiphyte
