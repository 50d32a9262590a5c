// Values as files: TensorProto, SequenceProto, OptionalProto, the format of ONNX's backend tests.
//
//   epiphyte::Value x = epiphyte::LoadValue("test_data_set_0/input_0.pb", session.inputs()[0].type);
#pragma once

#include <filesystem>
#include <string_view>

#include "epiphyte/export.hpp"
#include "epiphyte/type.hpp"
#include "epiphyte/value.hpp"

namespace epiphyte {

// `type` selects the message that the file holds. Throws NO_SUCHFILE, or INVALID_PROTOBUF when the file holds another
// message.
EPIPHYTE_API Value LoadValue(const std::filesystem::path& path, const TypeInfo& type);
// Writes atomically and replaces an existing file, as WriteFile (files.hpp) does. `type` may be unknown when the value
// is a tensor. `name` is stored in the message.
EPIPHYTE_API void SaveValue(const std::filesystem::path& path, const Value& value, const TypeInfo& type,
                            std::string_view name);

}  // namespace epiphyte
