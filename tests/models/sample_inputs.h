// Inputs for the generated models: token ids inside the vocabulary, masks of zeros and ones, sensible sizes for the
// dynamic dimensions. Files as in ONNX's backend tests (input_0.pb, …), so that any runtime can be given the same.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace epiphyte::test {

// Images of index 1 and more show scene number index % kImageScenes.
inline constexpr uint64_t kImageScenes = 64;

// The inputs of one run, by name; every `index` gives others. A quantised model, <name>_qdq, has those of its original.
// Throws std::invalid_argument on an unknown name.
std::vector<onnx::TensorProto> SampleInputs(std::string_view name, uint64_t index = 0);

// Writes those of index 0 to <folder>/<name>.inputs/input_<N>.pb and returns that folder. Throws as WriteModel does.
std::filesystem::path WriteSampleInputs(std::string_view name, const std::filesystem::path& folder);

}  // namespace epiphyte::test
