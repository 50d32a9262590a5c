// Reads values from the files of ONNX's backend tests. Some differ in type from the model's declaration.
#pragma once

#include <filesystem>

#include "core/graph/type.h"
#include "core/graph/value.h"

namespace epiphyte::conformance {

// Reads as core::ReadValueFile does, except for bfloat16: ONNX's generator had no such type, so its files have the same
// bits as uint16.
core::ValuePtr ReadCaseValue(const std::filesystem::path& file, const core::Type& type);

}  // namespace epiphyte::conformance
