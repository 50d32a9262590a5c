// Merge: several context models become one, connected as asked, with the payloads they had.
//
//   MergeOptions options;
//   options.models = {"encoder_ctx.onnx", "decoder_ctx.onnx"};
//   options.connections = {"encoder.hidden=decoder.hidden"};
//   options.output = "whole_ctx.onnx";
//   MergeContextModels(options, environment.catalog());
//
// What becomes of things:
// - Models are called by their file's stem, with or without "_ctx", or by their position: A, B, C, …
// - Values and nodes whose names are taken get the model's stem before theirs; an earlier model keeps its names.
//   partition_name stays, because it is the key into the payload.
// - A connected input is no input any more, a connected output no output. The other inputs and outputs follow in the
//   order of the models.
// - Payloads in files beside the result are referred to where they are; others are copied beside it, under a name of
//   their own where two are called the same. Embedded ones stay embedded, except where a secondary could no longer tell
//   its primary from another model's: such a payload goes into a file, which its nodes name.
// - Domains that plain nodes of two models use must be imported in one version.
// - Metadata: each model's payload records, numbered anew. A compatibility string on which the models differ
//   is left out: it speaks for all payloads of a provider, and without it each payload speaks for itself.
//   Who had the plain nodes is kept if all models say it for theirs.
//   Other entries on which they differ keep the first model's, and get a second key "<stem>.<key>" for the others.
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
  std::filesystem::path output;               // the .onnx to write
  // Weights of plain nodes go to this file beside the result; "" embeds them.
  std::string external_initializers;
  bool overwrite = false;
  // Where the models' payloads and initializers are, and the result's go; with StoresModel() the models too, by the
  // names of their paths. What is in it stays, and is referred to. Null: files.
  std::shared_ptr<ContextStore> store;
};

struct MergeResult {
  std::filesystem::path model;
  std::vector<std::filesystem::path> written;     // besides the model
  std::vector<std::filesystem::path> referenced;  // payloads that were beside it already
  std::vector<std::string> renamed;               // "b_ctx.onnx: value 'x' is 'b_x'"
  size_t context_nodes = 0;
  size_t plain_nodes = 0;
};

// Everything is checked, as a session would, before anything is written; publishing is staged and the .onnx comes last.
// Throws INVALID_ARGUMENT for what was asked wrongly, INVALID_GRAPH for models that are damaged or don't fit together,
// FAIL for what exists already. The catalog says which sources are one provider's; no library is opened.
MergeResult MergeContextModels(const MergeOptions& options, const Catalog& catalog);

}  // namespace epiphyte::core
