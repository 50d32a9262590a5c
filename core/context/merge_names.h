// Names of the models of a merge, and the meaning of `--connect A.out=B.in`.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/onnx/write/annotations.h"

namespace epiphyte::core {

struct MergeModel {
  std::filesystem::path path;
  std::string stem;  // "encoder" of "encoder_ctx.onnx"; prefix for names that are taken
  Model model;
  GraphAnnotations annotations;
};

// Stem of a model's path: "encoder" of "dir/encoder_ctx.onnx".
std::string MergeStem(const std::filesystem::path& path);

struct MergeConnection {
  size_t from;       // index of the model
  ValueDef* output;  // output of that model
  size_t to;
  ValueDef* input;
};

// Throws INVALID_ARGUMENT when a model, output or input of that name doesn't exist, a name is ambiguous, or an input is
// connected twice. Throws INVALID_GRAPH when the types don't fit.
std::vector<MergeConnection> ParseConnections(std::span<const std::string> texts, std::span<const MergeModel> models);

}  // namespace epiphyte::core
