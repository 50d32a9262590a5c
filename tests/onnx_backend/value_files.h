// Folders of values as ONNX's backend tests lay them out: <prefix>0.pb, <prefix>1.pb, …
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "core/graph/value.h"

namespace epiphyte::test {

// The files of `folder` that begin with `prefix`, in the order of their numbers.
std::vector<std::filesystem::path> NumberedFiles(const std::filesystem::path& folder, std::string_view prefix);

// Reads files that hold tensors. The files themselves state the element types.
std::vector<core::ValuePtr> ReadTensorFiles(const std::filesystem::path& folder, std::string_view prefix);

// Every kThinning-th element, as a tensor of rank 1, of a tensor that is too large to keep. The number is prime, so
// that elements of every row and channel are among them.
inline constexpr uint64_t kThinning = 997;
core::ValuePtr Thinned(const core::Value& tensor);

}  // namespace epiphyte::test
