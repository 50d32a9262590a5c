// The generated models: real architectures and sizes, deterministic random weights.
//
//   TempDir dir;
//   std::filesystem::path model = WriteModel("lstm_tagger", dir.path());
//
// Small enough for unit tests: lstm_tagger, detector_tail, control_flow, tiny_add, chain_1000, voice_activity,
// wake_word.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

namespace epiphyte::test {

// The names that the benches run. Besides these WriteModel takes chain_<N> for any N, and every model in every variant
// that can be made of it (variants/variant.h).
std::span<const std::string_view> ModelNames();

// Writes <folder>/<name>.onnx, with the files it refers to, and returns its path. A model that is there already,
// complete and from this version of the generator, is left alone. Everything is written under another name first and
// renamed, so that a file under its own name is complete. Throws std::invalid_argument on an unknown name,
// std::runtime_error when a file can't be written.
std::filesystem::path WriteModel(std::string_view name, const std::filesystem::path& folder);

// The folder below a build tree in which tests share models, so that the large ones are made once for all tests. For a
// build tree of another user it is `own`, in which each test makes its own models.
std::filesystem::path SharedModels(const std::filesystem::path& build_tree, const std::filesystem::path& own);

}  // namespace epiphyte::test
