// What is asked of the tensors and types that an application gives, each with its error.
#pragma once

#include <cstdint>

#include "core/graph/value.h"
#include "epiphyte/value.hpp"

namespace epiphyte {

// Throw INVALID_ARGUMENT. `value` may be null.
[[noreturn]] void RejectKind(const core::Value* value, const char* expected);
core::Value& AsTensor(core::Value* value);
core::Value& AsPlainTensor(core::Value* value);  // of numbers
core::Value& AsWritableTensor(core::Value* value);  // of numbers, and no constant of a model
core::DataType PlainType(ElementType type);      // any but strings
uint64_t PlainBytes(core::DataType type, const Shape& shape);

}  // namespace epiphyte
