// Model files: they are written completely or not at all, and recognised by the stamp of the generator that made them.
//
//   if (!IsCurrent(path)) SaveModel(BuildResNet50(), path);
#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <string>

namespace epiphyte::test {

// Returns <folder>/<name>.onnx.
std::filesystem::path ModelPath(std::string_view name, const std::filesystem::path& folder);
// Returns a path that only this process uses, so that two generators never write to the same file.
std::filesystem::path TemporaryPath(const std::filesystem::path& path);
// Returns true if the file is a model of this version of the generator. `variant` is the one given to StampModel
// (builder.h).
bool IsCurrent(const std::filesystem::path& path, const std::string& variant = "");
// Writes the model to TemporaryPath and renames it. Throws std::runtime_error if the file can't be written.
void SaveModel(const onnx::ModelProto& model, const std::filesystem::path& path);

}  // namespace epiphyte::test
