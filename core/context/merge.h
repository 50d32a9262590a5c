// Merge: joins several context models into one, connected as requested, with their payloads.
//
//   MergeOptions options;
//   options.models = {"encoder_ctx.onnx", "decoder_ctx.onnx"};
//   options.connections = {"encoder.hidden=decoder.hidden"};
//   options.output = "whole_ctx.onnx";
//   MergeContextModels(options, environment.catalog());
//
// Rules:
// - Models are named by their file's stem, with or without "_ctx", or by their position: A, B, C, …
// - Values and nodes with a name that is taken get the model's stem as a prefix; an earlier model keeps its names.
//   partition_name stays, because it is the key into the payload.
// - A connected input is no longer an input, a connected output no longer an output. The other inputs and outputs
//   follow in the order of the models.
// - Payloads in files beside the result are referred to in place. Others are copied beside it, under a new name if two
//   have the same one. Embedded ones stay embedded, unless a secondary could no longer tell its primary from another
//   model's: such a payload goes into a file, which its nodes name.
// - Domains that plain nodes of two models use must be imported in one version.
// - Metadata holds each model's payload records, numbered anew. A compatibility string on which the models differ is
//   left out: it speaks for all payloads of a provider, and without it each payload speaks for itself. The providers
//   that had the plain nodes are kept if all models name theirs. For other entries on which they differ, the first
//   model's value stays, and the others get a second key "<stem>.<key>".
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/context/context_store.h"
#include "core/registry/catalog.h"

namespace epiphyte::core {

struct MergeOptions {
  std::vector<std::filesystem::path> models;  // two or more, context models or plain ones
  std::vector<std::string> connections;       // "A.output=B.input"
  std::filesystem::path output;               // path of the .onnx to write
  // File beside the result for the weights of plain nodes; "" embeds them.
  std::string external_initializers;
  bool overwrite = false;
  // Store that holds the models' payloads and initializers and receives the result's; null: files. With StoresModel()
  // it holds the models too, under the names of their paths. Existing content stays and is referred to.
  std::shared_ptr<ContextStore> store;
};

struct MergeResult {
  std::filesystem::path model;
  std::vector<std::filesystem::path> written;     // files written besides the model
  std::vector<std::filesystem::path> referenced;  // payloads that were beside the result already
  std::vector<std::string> renamed;               // one line for each: "b_ctx.onnx: value 'x' is 'b_x'"
  size_t context_nodes = 0;
  size_t plain_nodes = 0;
};

// Checks everything as a session would before it writes anything. Publishing is staged, and the .onnx comes last.
// Throws INVALID_ARGUMENT for wrong arguments, INVALID_GRAPH for models that are damaged or don't fit together, FAIL
// for files that exist already. The catalog tells which sources belong to one provider; no library is opened.
MergeResult MergeContextModels(const MergeOptions& options, const Catalog& catalog);

}  // namespace epiphyte::core
