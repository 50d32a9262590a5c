// Folders of values in the layout of ONNX's backend tests: <prefix>0.pb, <prefix>1.pb, …
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "core/graph/value.h"

namespace epiphyte::test {

// Returns the files of `folder` that begin with `prefix`, in the order of their numbers.
std::vector<std::filesystem::path> NumberedFiles(const std::filesystem::path& folder, std::string_view prefix);

// Reads files that hold tensors. The files themselves state the element types.
std::vector<core::ValuePtr> ReadTensorFiles(const std::filesystem::path& folder, std::string_view prefix);

// Thinned returns every kThinning-th element of a tensor that is too large to keep, as a tensor of rank 1. The number
// is prime, so that elements of every row and channel are among them.
inline constexpr uint64_t kThinning = 997;
core::ValuePtr Thinned(const core::Value& tensor);

}  // namespace epiphyte::test
