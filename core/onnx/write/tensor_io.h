// Reads and writes TensorProto, SequenceProto and OptionalProto files, as ONNX's backend tests use them, from and to
// run-time values.
#pragma once

#include <filesystem>

#include "core/graph/type.h"
#include "core/graph/value.h"

namespace epiphyte::core {

// `type` selects the message: TensorProto, SequenceProto, OptionalProto or MapProto. Throws INVALID_PROTOBUF when the
// file doesn't contain it.
ValuePtr ReadValueFile(const std::filesystem::path& path, const Type& type);
void WriteValueFile(const std::filesystem::path& path, const Value& value, const Type& type, std::string_view name);

}  // namespace epiphyte::core
