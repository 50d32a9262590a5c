// Tools for context models: verify them, seal them again after a change, join several into one.
//
//   for (const std::string& problem : epiphyte::VerifyContext(environment, "model_ctx.onnx").problems) {
//     std::cerr << problem << '\n';
//   }
//   epiphyte::MergeOptions options;
//   options.models = {"encoder_ctx.onnx", "decoder_ctx.onnx"};
//   options.connections = {"encoder.hidden=decoder.hidden"};
//   options.output = "whole_ctx.onnx";
//   epiphyte::MergeContexts(environment, options);
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/context_store.hpp"
#include "epiphyte/environment.hpp"
#include "epiphyte/error.hpp"
#include "epiphyte/export.hpp"
#include "epiphyte/options.hpp"

namespace epiphyte {

// The digest that a context model carries of itself. A model without one was written by another tool.
enum class SealState { kNone, kIntact, kBroken };
EPIPHYTE_API std::string_view SealStateName(SealState state);  // "none", "intact", "broken"

struct ContextVerification {
  struct Payload {
    std::string file;  // as the model spells it; empty: embedded
    uint64_t size = 0;
    std::string digest;     // XXH3-128 in hex
    bool recorded = false;  // the model says what it was
  };
  std::filesystem::path model;
  SealState seal = SealState::kNone;
  size_t context_nodes = 0;
  std::vector<Payload> payloads;      // external initializers too
  std::vector<std::string> problems;  // all of them, one line each; empty: the model is as it was written
  std::vector<Hint> hints;            // one for each problem
  std::vector<std::string> notes;     // what is no problem but good to know
};

// Checks everything that can be checked without running the model: the seal, path, size and digest of each payload and
// of the external initializers, the nodes, and what the plugins say of their payloads on this machine. Throws only when
// the file can't be opened. `store`: where payloads and initializers are, and with StoresModel() the model too, under
// the name of its path; null: all are files. [any thread]
EPIPHYTE_API ContextVerification VerifyContext(const Environment& environment, const std::filesystem::path& model,
                                               const std::shared_ptr<ContextStore>& store = nullptr);
// As a session with `options` would judge; see CheckContext.
EPIPHYTE_API ContextVerification VerifyContext(const Environment& environment, const std::filesystem::path& model,
                                               const SessionOptions& options);

// For a model that was changed on purpose, by another tool, say: makes its seal fit, and its list of records: a payload
// without a record gets one, and a record without a payload goes. Throws INVALID_GRAPH when the model can't be read or a
// payload isn't what it was. Returns what the seal was; intact: nothing had to be done.
EPIPHYTE_API SealState ResealContext(const Environment& environment, const std::filesystem::path& model);
// The same for a model whose files are in a store; `store` as of VerifyContext.
EPIPHYTE_API SealState ResealContext(const Environment& environment, const std::filesystem::path& model,
                                     const std::shared_ptr<ContextStore>& store);

struct MergeOptions {
  // Two or more. A model is called by its file's stem, with or without "_ctx", or by its position: A, B, C, …
  std::vector<std::filesystem::path> models;
  std::vector<std::string> connections;  // "A.output=B.input"
  std::filesystem::path output;          // the .onnx to write
  std::string external_initializers;     // weights of plain nodes go to this file beside it; empty: embedded
  bool overwrite = false;
  // Where the models' payloads and initializers are, and the result's go; with StoresModel() the models too, by the
  // names of their paths. Payloads in it stay as they are and are referred to. Null: all are files.
  std::shared_ptr<ContextStore> context_store;
};

struct MergedContext {
  std::filesystem::path model;
  std::vector<std::filesystem::path> written;     // besides the model
  std::vector<std::filesystem::path> referenced;  // payloads that were beside it already
  std::vector<std::string> renamed;               // "b_ctx.onnx: value 'x' is 'b_x'"
  size_t context_nodes = 0;
  size_t plain_nodes = 0;
};

// Inputs and outputs that are connected disappear; the others stay, in the order of the models. Names that are taken
// get the model's stem before theirs. Binaries are copied beside the result unless they are there already; an embedded
// payload becomes a binary where its nodes could not tell it from another model's. The environment's plugins say which
// sources belong together; none is opened. Throws before anything is written. [any thread]
EPIPHYTE_API MergedContext MergeContexts(const Environment& environment, const MergeOptions& options);

}  // namespace epiphyte
