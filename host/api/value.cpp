#include "epiphyte/value.hpp"

#include <fmt/format.h>

#include <cstring>

#include "core/device/transfer.h"
#include "core/graph/value.h"
#include "core/runtime/session_memory.h"
#include "host/api/access.h"
#include "host/api/tensor_checks.h"

namespace epiphyte {
namespace {

void CheckBytes(core::DataType type, const Shape& shape, uint64_t bytes) {
  const uint64_t needed = PlainBytes(type, shape);
  if (needed != bytes) {
    throw Error(StatusCode::kInvalidArgument,
                fmt::format("{} bytes given, {} expected for {}[{}]; pass memory of the tensor's size", bytes, needed,
                            core::DataTypeName(type), fmt::join(shape, ",")));
  }
}

void* DataOf(const core::Value& tensor) {
  core::DeviceAllocation* piece = core::PieceOf(tensor);
  if (piece == nullptr) return const_cast<void*>(tensor.data());
  void* data = WithPublicErrors([&] { return piece->Map(); });
  if (data == nullptr) {
    throw Error(StatusCode::kInvalidArgument,
                fmt::format("the tensor is in memory {}, which the host can't read; use ToHost() for a copy",
                            core::MemoryText(*piece->pool())));
  }
  return data;
}

}  // namespace

Value::Value(const Value& other) : value_(core::ValuePtr::Share(other.value_).Detach()) {}

Value::~Value() {
  if (value_ != nullptr) core::ValuePtr::Adopt(value_);
}

Value Value::Tensor(ElementType type, const Shape& shape) {
  return WithPublicErrors([&] { return Access::Wrap(core::Value::Tensor(PlainType(type), shape)); });
}

Value Value::Wrap(ElementType type, const Shape& shape, void* data, uint64_t bytes, std::function<void()> release) {
  return WithPublicErrors([&] {
    CheckBytes(PlainType(type), shape, bytes);
    if (data == nullptr && bytes != 0) {
      throw Error(StatusCode::kInvalidArgument, fmt::format("null given for {} bytes of memory", bytes));
    }
    return Access::Wrap(core::Value::Wrap(PlainType(type), shape, data, bytes, std::move(release)));
  });
}

Value Value::CopyBytes(ElementType type, const Shape& shape, const void* data, uint64_t bytes) {
  return WithPublicErrors([&] {
    CheckBytes(PlainType(type), shape, bytes);
    core::ValuePtr value = core::Value::Tensor(PlainType(type), shape);
    if (bytes != 0) std::memcpy(value->mutable_data(), data, bytes);
    return Access::Wrap(std::move(value));
  });
}

Value Value::Strings(std::vector<std::string> strings, const Shape& shape) {
  return WithPublicErrors([&] { return Access::Wrap(core::Value::Strings(shape, std::move(strings))); });
}

Value Value::Sequence(ElementType element_type, const std::vector<Value>& elements) {
  return WithPublicErrors([&] {
    std::vector<core::ValuePtr> shared;
    for (const Value& element : elements) {
      if (!element) throw Error(StatusCode::kInvalidArgument, "an element of a sequence is empty; give each a value");
      shared.push_back(Access::Share(element));
    }
    return Access::Wrap(core::Value::Sequence(static_cast<core::DataType>(element_type), std::move(shared)));
  });
}

Value Value::EmptyOptional() {
  return WithPublicErrors([] { return Access::Wrap(core::Value::EmptyOptional()); });
}

ValueKind Value::kind() const { return value_ == nullptr ? ValueKind::kEmpty : static_cast<ValueKind>(value_->kind()); }

ElementType Value::element_type() const { return static_cast<ElementType>(AsTensor(value_).type()); }

Shape Value::shape() const {
  std::span<const int64_t> dims = AsTensor(value_).dims();
  return Shape(dims.begin(), dims.end());
}

uint64_t Value::element_count() const { return AsTensor(value_).element_count(); }

uint64_t Value::byte_size() const { return AsTensor(value_).byte_size(); }

const void* Value::data() const { return DataOf(AsPlainTensor(value_)); }

void* Value::mutable_data() { return DataOf(AsWritableTensor(value_)); }

std::vector<std::string> Value::strings() const {
  const core::Value& tensor = AsTensor(value_);
  if (tensor.type() != core::DataType::kString) {
    throw Error(StatusCode::kInvalidArgument, fmt::format("tensor({}) found, tensor(string) expected; use Data()",
                                                          core::DataTypeName(tensor.type())));
  }
  return WithPublicErrors([&] {
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

void* Value::CheckedMutableData(ElementType type) {
  AsWritableTensor(value_);
  return const_cast<void*>(CheckedData(type));
}

const void* Value::CheckedData(ElementType type) const {
  const core::Value& tensor = AsPlainTensor(value_);
  if (static_cast<ElementType>(tensor.type()) != type) {
    std::string_view asked =
        type == ElementType::kUndefined ? "a C++ type without a tensor type" : ElementTypeName(type);
    throw Error(StatusCode::kInvalidArgument, fmt::format("tensor({}) found, {} asked for; check element_type() first",
                                                          core::DataTypeName(tensor.type()), asked));
  }
  return DataOf(tensor);
}

}  // namespace epiphyte
