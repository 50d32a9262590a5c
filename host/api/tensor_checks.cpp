#include "host/api/tensor_checks.h"

#include <fmt/format.h>

#include "epiphyte/error.hpp"

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

}  // namespace

void RejectKind(const core::Value* value, const char* expected) {
  const char* found = value == nullptr ? "an empty value" : KindName(static_cast<ValueKind>(value->kind()));
  throw Error(StatusCode::kInvalidArgument, fmt::format("{} found, {} expected; check kind() first", found, expected));
}

core::Value& AsTensor(core::Value* value) {
  if (value == nullptr || !value->IsTensor()) RejectKind(value, "a tensor");
  return *value;
}

core::Value& AsPlainTensor(core::Value* value) {
  if (AsTensor(value).type() == core::DataType::kString) {
    throw Error(StatusCode::kInvalidArgument, "a tensor of strings found, one of numbers expected; use strings()");
  }
  return *value;
}

core::Value& AsWritableTensor(core::Value* value) {
  core::Value& tensor = AsPlainTensor(value);
  if (tensor.IsReadOnly()) {
    throw Error(StatusCode::kInvalidArgument,
                "the tensor is a constant of a model, which is read-only; write to a copy (CopyTo({}))");
  }
  return tensor;
}

core::DataType PlainType(ElementType type) {
  if (type == ElementType::kString) {
    throw Error(StatusCode::kInvalidArgument, "a tensor of strings has no plain memory; use Value::Strings");
  }
  if (!core::IsValidDataType(static_cast<int32_t>(type))) {
    throw Error(StatusCode::kInvalidArgument,
                fmt::format("element type {} is none of ONNX's; use one of ElementType", static_cast<int32_t>(type)));
  }
  return static_cast<core::DataType>(type);
}

uint64_t PlainBytes(core::DataType type, const Shape& shape) {
  for (int64_t dim : shape) {
    if (dim < 0) {
      throw Error(StatusCode::kInvalidArgument, fmt::format("a dimension is {}; use a size of 0 or more", dim));
    }
  }
  return core::DataTypeBytes(type, core::ElementCount(shape));
}

}  // namespace epiphyte
