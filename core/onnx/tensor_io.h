// TensorProto, SequenceProto and OptionalProto files, as ONNX's backend tests use them, to and from run-time values.
#pragma once

#include <filesystem>

#include "core/graph/type.h"
#include "core/graph/value.h"

namespace epiphyte::core {

// The file holds what `type` says: TensorProto, SequenceProto, OptionalProto or MapProto. Throws INVALID_PROTOBUF when
// it doesn't.
ValuePtr ReadValueFile(const std::filesystem::path& path, const Type& type);
void WriteValueFile(const std::filesystem::path& path, const Value& value, const Type& type, std::string_view name);

}  // namespace epiphyte::core
