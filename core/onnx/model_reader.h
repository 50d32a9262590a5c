// Model reader: ONNX bytes to the core's graph IR.
//
// Reading views, it does not copy: the wire format is walked once, `raw_data` of initializers and EPContext payloads
// stay where they are (in the mapped file, or in the caller's buffer), external data is mapped. A tensor whose bytes
// are not aligned for its element type is copied. Small typed fields (int32_data and the like) are decoded, sparse
// tensors become dense. Opsets 1 to 26, newer ones as far as their operators haven't changed, IR versions 3 to 13
// (older: read as far as they go).
//
// What differs from the file:
// - `ep_cache_context` of an EPContext node is a string attribute; with more than 4096 bytes it is a TENSOR attribute
//   instead, of uint8 and one dimension, that views the payload. The writer writes both as strings.
// - An initializer that is an input, too, is overridable from IR version 4 on: an input with a default value
//   (ReadOptions::constant_initializers). Before that version it is a constant, and no input.
// - The operator of a call to an overloaded model-local function (IR version 10) is "name:overload".
// - The domain "ai.onnx" is "".
// - Gradient nodes have become what they ask for (gradients.h), when types are inferred.
//
// The reader checks what later floors rely on: SSA form, no dangling inputs, unique names, no cycles, attribute and
// data sizes; schemas where the operator is known (arity, attribute types); then infers types and shapes.
//
//   Model model = ReadModelFile("resnet50.onnx", {});
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/progress_callback.h"
#include "core/graph/graph.h"
#include "core/onnx/external_data.h"

namespace epiphyte::core {

class OperatorSchemas;

struct ReadOptions {
  // Where external data is looked for; empty: beside the model file. A model from memory with external data needs it.
  std::filesystem::path external_data_folder;
  // Opens a file of external data by its name in the model; a null owner means that it is in the file system. May be
  // null.
  std::function<ExternalFile(const std::string& name)> open_external;
  // Called before anything but the metadata is looked at; throws to refuse the model. May be null.
  std::function<void(std::string_view bytes, const std::map<std::string, std::string>& metadata)> accept_model;
  // Called with each file of external data before it is used; throws to refuse it. May be null.
  std::function<void(const std::string& name, const ExternalFile& file)> accept_external;
  // Called with the model's own mapping when it is read from a file. May be null.
  std::function<void(std::shared_ptr<const MappedFile> mapping)> on_model_mapped;
  // How many nodes a model may have, nested graphs included; more are refused before they are made.
  uint64_t max_nodes = UINT64_MAX;
  // Beats while nodes are read, checked and inferred. May be empty.
  ProgressCallback on_progress;
  // Initializers that are inputs, too, are constants whatever the IR version is.
  bool constant_initializers = false;
  // Run schema checks and type and shape inference.
  bool infer = true;
  // Who describes operators of other domains than ONNX's; null: nobody.
  const OperatorSchemas* schemas = nullptr;
  // Non-null: function operators (model-local or from the schema) are inlined, except those for which it says true.
  // Null: none is; InlineFunctions() does it later.
  std::function<bool(const Node&)> keep_function;
};

// Throws NO_SUCHFILE, INVALID_PROTOBUF (not ONNX, truncated), INVALID_GRAPH (breaks the rules above), NOT_IMPLEMENTED
// (IR version or operator unknown).
Model ReadModelFile(const std::filesystem::path& path, const ReadOptions& options);
// `bytes` must stay alive and unchanged as long as the model: `owner` keeps them alive; null: the reader copies what it
// needs.
Model ReadModelMemory(const void* bytes, size_t size, std::shared_ptr<const void> owner, const ReadOptions& options);

}  // namespace epiphyte::core
