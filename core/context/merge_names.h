// How the models of a merge are called, and what `--connect A.out=B.in` means.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/onnx/annotations.h"

namespace epiphyte::core {

struct MergeModel {
  std::filesystem::path path;
  std::string stem;  // "encoder" of "encoder_ctx.onnx": goes before names that are taken
  Model model;
  GraphAnnotations annotations;
};

// "encoder" of "dir/encoder_ctx.onnx".
std::string MergeStem(const std::filesystem::path& path);

struct MergeConnection {
  size_t from;       // model
  ValueDef* output;  // of it
  size_t to;
  ValueDef* input;
};

// Throws INVALID_ARGUMENT when a model, an output or an input of that name isn't there, when a name is ambiguous or an
// input is connected twice; INVALID_GRAPH when the types don't fit.
std::vector<MergeConnection> ParseConnections(std::span<const std::string> texts, std::span<const MergeModel> models);

}  // namespace epiphyte::core
