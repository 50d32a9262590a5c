// The generated models: real architectures and sizes with deterministic random weights.
//
//   TempDir dir;
//   std::filesystem::path model = WriteModel("lstm_tagger", dir.path());
//
// These are small enough for unit tests: lstm_tagger, detector_tail, control_flow, tiny_add, chain_1000,
// voice_activity, wake_word.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

namespace epiphyte::test {

// The names of the models that the benches run. WriteModel also takes chain_<N> for any N, and every model in every
// variant that can be made of it (variants/variant.h).
std::span<const std::string_view> ModelNames();

// Writes <folder>/<name>.onnx with the files it refers to, and returns its path. A complete model of this version of
// the generator is left alone. Everything is written under another name first and renamed, so that a file under its own
// name is complete. Throws std::invalid_argument for an unknown name, std::runtime_error if a file can't be written.
std::filesystem::path WriteModel(std::string_view name, const std::filesystem::path& folder);

// Returns the folder in a build tree in which tests share models, so that the large ones are made once for all tests.
// If the build tree belongs to another user, returns `own`, in which each test makes its own models.
std::filesystem::path SharedModels(const std::filesystem::path& build_tree, const std::filesystem::path& own);

}  // namespace epiphyte::test
