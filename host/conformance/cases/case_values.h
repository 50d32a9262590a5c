// Values in the files of ONNX's backend tests, which differ in places from what the models say.
#pragma once

#include <filesystem>

#include "core/graph/type.h"
#include "core/graph/value.h"

namespace epiphyte::conformance {

// As core::ReadValueFile, but bfloat16: ONNX's generator had no such type, so its files hold the same bits as uint16.
core::ValuePtr ReadCaseValue(const std::filesystem::path& file, const core::Type& type);

}  // namespace epiphyte::conformance
