// Inputs for the generated models: token ids inside the vocabulary, masks of zeros and ones, sensible sizes for the
// dynamic dimensions. Files as in ONNX's backend tests (input_0.pb, …), so that any runtime can be given the same.
#pragma once

#include <filesystem>
#include <string_view>

namespace epiphyte::test {

// Writes <folder>/<name>.inputs/input_<N>.pb and returns that folder. Throws as WriteModel does.
std::filesystem::path WriteSampleInputs(std::string_view name, const std::filesystem::path& folder);

}  // namespace epiphyte::test
