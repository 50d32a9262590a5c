// Model reader: reads ONNX bytes into the core's graph IR.
//
// The reader views data instead of copying it. It walks the wire format once; `raw_data` of initializers and EPContext
// payloads stay in the mapped file or in the caller's buffer, and external data is mapped. Exceptions: a tensor with
// bytes that are misaligned for its element type is copied, small typed fields (int32_data and the like) are decoded,
// sparse tensors become dense.
//
// Supported are opsets 1 to 26, and newer ones as far as their operators haven't changed; IR versions 3 to 13, and
// older ones as far as they can be read.
//
// Differences between the IR and the file:
// - `ep_cache_context` of an EPContext node is a string attribute; with more than 4096 bytes it is a TENSOR attribute
//   instead, of uint8 and one dimension, that views the payload. The writer writes both as strings.
// - An initializer that is an input, too, is overridable from IR version 4 on: an input with a default value
//   (ReadOptions::constant_initializers). Before that version it is a constant, and no input.
// - The operator of a call to an overloaded model-local function (IR version 10) is "name:overload".
// - The domain "ai.onnx" is "".
// - Gradient nodes are expanded (gradients.h) when types are inferred.
//
// The reader checks everything that later stages rely on: SSA form, no dangling inputs, unique names, no cycles,
// attribute and data sizes. It checks nodes against the schemas of known operators (arity, attribute types). Then it
// infers types and shapes.
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
#include "core/onnx/read/external_data.h"

namespace epiphyte::core {

class OperatorSchemas;

struct ReadOptions {
  // Folder of external data; empty: the model file's folder. Required for a model from memory with external data.
  std::filesystem::path external_data_folder;
  // Opens an external data file by its name in the model. A null owner means that the file system has it. May be null.
  std::function<ExternalFile(const std::string& name)> open_external;
  // Called after the metadata is read and before everything else; throws to refuse the model. May be null.
  std::function<void(std::string_view bytes, const std::map<std::string, std::string>& metadata)> accept_model;
  // Called with each file of external data before it is used; throws to refuse it. May be null.
  std::function<void(const std::string& name, const ExternalFile& file)> accept_external;
  // Called with the model's own mapping when it is read from a file. May be null.
  std::function<void(std::shared_ptr<const MappedFile> mapping)> on_model_mapped;
  // Maximum number of nodes, nested graphs included. Models with more are refused before nodes are created.
  uint64_t max_nodes = UINT64_MAX;
  // Called while nodes are read, checked and inferred. May be empty.
  ProgressCallback on_progress;
  // Treats initializers that are also inputs as constants, whatever the IR version is.
  bool constant_initializers = false;
  // Enables schema checks and type and shape inference.
  bool infer = true;
  // Describes operators outside ONNX's domains; may be null.
  const OperatorSchemas* schemas = nullptr;
  // Non-null: function operators (model-local or from the schema) are inlined unless this returns true. Null: none is
  // inlined; InlineFunctions() can do it later.
  std::function<bool(const Node&)> keep_function;
};

// Throws NO_SUCHFILE, INVALID_PROTOBUF (not ONNX, truncated), INVALID_GRAPH (breaks the rules above), NOT_IMPLEMENTED
// (IR version or operator unknown).
Model ReadModelFile(const std::filesystem::path& path, const ReadOptions& options);
// `bytes` must stay unchanged as long as the model lives. `owner` keeps them alive; null: the reader copies the parts
// that it needs.
Model ReadModelMemory(const void* bytes, size_t size, std::shared_ptr<const void> owner, const ReadOptions& options);

}  // namespace epiphyte::core
