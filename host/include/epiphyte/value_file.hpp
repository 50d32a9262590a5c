// Values as files: TensorProto, SequenceProto, OptionalProto, as ONNX's backend tests keep them.
//
//   epiphyte::Value x = epiphyte::LoadValue("test_data_set_0/input_0.pb", session.inputs()[0].type);
#pragma once

#include <filesystem>
#include <string_view>

#include "epiphyte/export.hpp"
#include "epiphyte/type.hpp"
#include "epiphyte/value.hpp"

namespace epiphyte {

// `type` says which message the file holds. Throws NO_SUCHFILE, or INVALID_PROTOBUF when it holds something else.
EPIPHYTE_API Value LoadValue(const std::filesystem::path& path, const TypeInfo& type);
// Writes in one step and replaces what is there, as WriteFile (files.hpp) does. `type` may be unknown when the value is
// a tensor; `name` is written with it.
EPIPHYTE_API void SaveValue(const std::filesystem::path& path, const Value& value, const TypeInfo& type,
                            std::string_view name);

}  // namespace epiphyte
