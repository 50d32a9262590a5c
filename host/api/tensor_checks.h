// Checks of the tensors and types that an application passes; each throws its own error.
#pragma once

#include <cstdint>

#include "core/graph/value.h"
#include "epiphyte/value.hpp"

namespace epiphyte {

// All throw INVALID_ARGUMENT. `value` may be null.
[[noreturn]] void RejectKind(const core::Value* value, const char* expected);
core::Value& AsTensor(core::Value* value);
core::Value& AsPlainTensor(core::Value* value);     // a tensor of numbers
core::Value& AsWritableTensor(core::Value* value);  // a tensor of numbers that is not a model's constant
core::DataType PlainType(ElementType type);         // any type but strings
uint64_t PlainBytes(core::DataType type, const Shape& shape);

}  // namespace epiphyte
