// Files of models: written whole or not at all, and known again by the stamp of the generator that made them.
//
//   if (!IsCurrent(path)) SaveModel(BuildResNet50(), path);
#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <string>

namespace epiphyte::test {

// <folder>/<name>.onnx
std::filesystem::path ModelPath(std::string_view name, const std::filesystem::path& folder);
// A path for this process alone, so that two generators never write to the same file.
std::filesystem::path TemporaryPath(const std::filesystem::path& path);
// The file is a model of this version of the generator; `variant` as it was stamped (builder.h).
bool IsCurrent(const std::filesystem::path& path, const std::string& variant = "");
// Under another name first. Throws std::runtime_error when the file can't be written.
void SaveModel(const onnx::ModelProto& model, const std::filesystem::path& path);

}  // namespace epiphyte::test
