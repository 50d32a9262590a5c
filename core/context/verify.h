// Verify: everything about a context model that can be checked without running it, and every problem found, not only
// the first: the seal; each payload's path, size and digest; the external initializers; attributes, sources and
// primaries of the nodes; and what the plugins say of their payloads, down to the digests of sections that only they
// know.
//
//   VerifyReport report = VerifyContextModel("model_ctx.onnx", environment.catalog());
//   for (const VerifyProblem& problem : report.problems) std::cerr << problem.text << '\n';
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/context/context_store.h"
#include "core/context/seal.h"
#include "core/registry/catalog.h"
#include "core/registry/provider_setup.h"

namespace epiphyte::core {

struct VerifyProblem {
  enum Kind {
    kSeal,      // the model was changed after it was written
    kRecord,    // the same: a payload has no record, or a record no payload
    kModel,     // it can't be read, or its nodes or records are malformed
    kPayload,   // a binary, an embedded payload or the external initializers
    kProvider,  // nobody owns a source, or its plugin refuses the payload on this machine
  };
  Kind kind;
  std::string text;  // one line
  Hint hint = Hint::kNone;
};

struct VerifiedPayload {
  std::string file;  // as the model spells it; empty: embedded
  uint64_t size = 0;
  std::string digest;
  bool recorded = false;  // the model says what it was; without, only the plugin can tell
};

struct VerifyReport {
  std::filesystem::path model;
  SealState seal = SealState::kNone;
  size_t context_nodes = 0;
  std::vector<VerifiedPayload> payloads;  // each once; external initializers too
  std::vector<VerifyProblem> problems;
  std::vector<std::string> notes;  // what is no problem but good to know, one line each

  bool Has(VerifyProblem::Kind kind) const;
};

// Throws only when the file can't be opened: NO_SUCHFILE, INVALID_ARGUMENT, FAIL, and what the store throws. Opens the
// libraries of the plugins that own a node. `store`: where payloads and initializers are, and the model if it stores
// models, under the name of its path; null: all are files.
//
// `request`: the session for which plugins judge, as in CheckContexts.
VerifyReport VerifyContextModel(const std::filesystem::path& model, Catalog& catalog,
                                const std::shared_ptr<ContextStore>& store = nullptr,
                                const ProviderRequest& request = {});

}  // namespace epiphyte::core
