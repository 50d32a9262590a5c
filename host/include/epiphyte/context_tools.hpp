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

// State of a context model's seal, the digest of the model that it carries. A model without a seal was written by
// another tool.
enum class SealState { kNone, kIntact, kBroken };
EPIPHYTE_API std::string_view SealStateName(SealState state);  // "none", "intact", "broken"

struct ContextVerification {
  struct Payload {
    std::string file;  // as spelled in the model; empty: embedded
    uint64_t size = 0;
    std::string digest;     // XXH3-128 in hex
    bool recorded = false;  // true if the model records the digest
  };
  std::filesystem::path model;
  SealState seal = SealState::kNone;
  size_t context_nodes = 0;
  std::vector<Payload> payloads;      // includes external initializers
  std::vector<std::string> problems;  // one line each; empty: the model is unchanged since it was written
  std::vector<Hint> hints;            // one for each problem
  std::vector<std::string> notes;     // remarks that are not problems
};

// Checks a context model as far as possible without running it: the seal, the nodes, path, size and digest of each
// payload and of the external initializers, and the plugins' verdicts on this machine. Throws only when the file can't
// be opened. `store` holds the payloads and initializers, and with StoresModel() also the model, named by its path.
// Null: all are files. [any thread]
EPIPHYTE_API ContextVerification VerifyContext(const Environment& environment, const std::filesystem::path& model,
                                               const std::shared_ptr<ContextStore>& store = nullptr);
// Checks as a session with `options` would; see CheckContext.
EPIPHYTE_API ContextVerification VerifyContext(const Environment& environment, const std::filesystem::path& model,
                                               const SessionOptions& options);

// Renews the seal and the digest records of a model that was changed on purpose, for example by another tool. A payload
// without a record gets one, and a record without a payload is removed. Throws INVALID_GRAPH when the model can't be
// read or a payload differs from its record. Returns the state before; intact means that nothing was changed.
EPIPHYTE_API SealState ResealContext(const Environment& environment, const std::filesystem::path& model);
// Reseals a model with its files in a store; `store` is as in VerifyContext.
EPIPHYTE_API SealState ResealContext(const Environment& environment, const std::filesystem::path& model,
                                     const std::shared_ptr<ContextStore>& store);

struct MergeOptions {
  // Two or more models. `connections` names a model by its file's stem, with or without "_ctx", or by its position: A,
  // B, C, …
  std::vector<std::filesystem::path> models;
  std::vector<std::string> connections;  // "A.output=B.input"
  std::filesystem::path output;          // the .onnx to write
  std::string external_initializers;     // file beside `output` for weights of plain nodes; empty: embedded
  bool overwrite = false;
  // Store of the payloads and initializers of the models and of the result; with StoresModel() also of the models,
  // named by their paths. Payloads in the store stay unchanged, and the result refers to them. Null: all are files.
  std::shared_ptr<ContextStore> context_store;
};

struct MergedContext {
  std::filesystem::path model;
  std::vector<std::filesystem::path> written;     // files other than the model
  std::vector<std::filesystem::path> referenced;  // payloads that were beside the model already
  std::vector<std::string> renamed;               // "b_ctx.onnx: value 'x' is 'b_x'"
  size_t context_nodes = 0;
  size_t plain_nodes = 0;
};

// Merges models into one. Connected inputs and outputs disappear; the others stay, in the order of the models. A name
// that is taken already gets the model's stem as a prefix. Binaries are copied beside the result unless they are there
// already. An embedded payload becomes a binary if its nodes could not distinguish it from another model's payload. The
// environment's plugins define which sources belong together; no plugin is opened. Throws before anything is written.
// [any thread]
EPIPHYTE_API MergedContext MergeContexts(const Environment& environment, const MergeOptions& options);

}  // namespace epiphyte
