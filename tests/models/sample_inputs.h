// Inputs for the generated models: token ids inside the vocabulary, masks of zeros and ones, and plausible sizes of
// dynamic dimensions. Files are named as in ONNX's backend tests (input_0.pb, …), so that any runtime can read them.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace epiphyte::test {

// Number of scenes. Images of index 1 and more show scene index % kImageScenes.
inline constexpr uint64_t kImageScenes = 64;

// Returns the inputs of one run, each with its name; every `index` gives others. A quantized model <name>_qdq has the
// inputs of its original. Throws std::invalid_argument for an unknown name.
std::vector<onnx::TensorProto> SampleInputs(std::string_view name, uint64_t index = 0);

// Writes the inputs of index 0 to <folder>/<name>.inputs/input_<N>.pb and returns that folder. Throws as WriteModel
// does.
std::filesystem::path WriteSampleInputs(std::string_view name, const std::filesystem::path& folder);

}  // namespace epiphyte::test
