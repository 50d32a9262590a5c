// Verify: every check of a context model that doesn't need a run. It reports all problems, not only the first: the
// seal; each payload's path, size and digest; the external initializers; attributes, sources and primaries of the
// nodes. It also reports what the plugins find in their payloads, down to digests of sections that only they know.
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
    kRecord,    // the model was changed after it was written: a payload has no record, or a record no payload
    kModel,     // the model can't be read, or its nodes or records are malformed
    kPayload,   // a binary, an embedded payload or the external initializers are damaged or missing
    kProvider,  // a source has no owner, or the owning plugin refuses the payload on this machine
  };
  Kind kind;
  std::string text;  // one line
  Hint hint = Hint::kNone;
};

struct VerifiedPayload {
  std::string file;  // path as the model spells it; empty when embedded
  uint64_t size = 0;
  std::string digest;
  bool recorded = false;  // the model records its size and digest; false: only the plugin can judge it
};

struct VerifyReport {
  std::filesystem::path model;
  SealState seal = SealState::kNone;
  size_t context_nodes = 0;
  std::vector<VerifiedPayload> payloads;  // each payload once, external initializers too
  std::vector<VerifyProblem> problems;
  std::vector<std::string> notes;  // remarks that are not problems, one line each

  bool Has(VerifyProblem::Kind kind) const;
};

// Throws only when the file can't be opened: NO_SUCHFILE, INVALID_ARGUMENT, FAIL, and what the store throws. Opens the
// libraries of the plugins that own a node. `store` holds payloads and initializers, and the model too if it stores
// models, under the name of its path; null: all are files.
//
// `request`: the session that plugins judge for, as in CheckContexts.
VerifyReport VerifyContextModel(const std::filesystem::path& model, Catalog& catalog,
                                const std::shared_ptr<ContextStore>& store = nullptr,
                                const ProviderRequest& request = {});

}  // namespace epiphyte::core
