// Context models: reading the EPContext nodes of a model without a plugin, and checking on this machine without a
// session whether they can be used.
//
//   for (const epiphyte::ContextNodeInfo& node : epiphyte::InspectContext("model_ctx.onnx").nodes) {
//     std::cout << node.source << ' ' << node.file << ' ' << node.problem << '\n';
//   }
//   if (!epiphyte::CheckContext(environment, "model_ctx.onnx").usable()) …   // compile the source model again
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/context_store.hpp"
#include "epiphyte/environment.hpp"
#include "epiphyte/export.hpp"
#include "epiphyte/options.hpp"

namespace epiphyte {

// One EPContext node, with the schema's defaults filled in.
struct ContextNodeInfo {
  std::string name;
  std::string graph;  // path of nested graphs, "" for the model's own
  std::string source;
  std::string partition;
  bool main_context = true;
  int64_t embed_mode = 1;
  std::string file;             // as spelled in the node; empty: embedded, or the payload of another node
  uint64_t size = 0;            // bytes of the actual payload
  std::string digest;           // XXH3-128 of the actual payload in hex; empty when there is none
  std::string recorded_digest;  // digest in the model; empty when there is none
  std::string sdk_version;
  std::string hardware;
  std::string notes;
  std::string onnx_model_filename;
  int64_t max_size = 0;
  std::string problem;  // problem of the payload, one line; empty when there is none
};

struct ContextInfo {
  std::filesystem::path model;
  std::vector<ContextNodeInfo> nodes;
  uint64_t plain_nodes = 0;                     // nodes that aren't EPContext nodes
  std::map<std::string, std::string> metadata;  // the model's metadata: compatibility strings, fingerprints
};

// Reads the EPContext nodes of a model. Throws when the model can't be read; a payload's problem is in its node's
// `problem`. `nodes` is empty for a model without EPContext nodes. `store` holds the payloads and initializers, and
// with StoresModel() also the model, named by its path. Null: all are files. [any thread]
EPIPHYTE_API ContextInfo InspectContext(const std::filesystem::path& model,
                                        const std::shared_ptr<ContextStore>& store = nullptr);

// A plugin's verdict on a context. The numbers are ONNX Runtime's.
enum class ContextVerdict : uint32_t {
  kNotApplicable = 0,  // no plugin owns the source, or its plugin can't be used or has no opinion
  kOptimal = 1,
  kPreferRecompilation = 2,  // works, but compiling again would be better
  kUnsupported = 3,
};
// "optimal", "prefer recompilation", "unsupported", "not applicable"
EPIPHYTE_API std::string_view ContextVerdictName(ContextVerdict verdict);

struct ContextCheck {
  struct Node {
    std::string name;  // prefixed by enclosing nodes and attributes: "loop/body/npu_0"
    std::string source;
    std::string provider;  // owner of the source; empty: no installed plugin owns it
    ContextVerdict verdict = ContextVerdict::kNotApplicable;
    std::string reason;  // one line; may be empty when optimal
  };
  struct Provider {
    std::string name;  // empty: the nodes without an owner
    ContextVerdict verdict = ContextVerdict::kNotApplicable;
    std::string reason;
  };
  std::vector<Node> nodes;
  std::vector<Provider> providers;  // each has the worst verdict of its nodes
  // The worst verdict of all nodes; kNotApplicable for a model without EPContext nodes.
  ContextVerdict verdict = ContextVerdict::kNotApplicable;
  std::string reason;

  bool usable() const { return verdict == ContextVerdict::kOptimal || verdict == ContextVerdict::kPreferRecompilation; }
};

// Asks the plugins for their verdicts. With payloads, plugins see the payloads, and a payload that can't be opened or
// differs from its record is unsupported. So is a model with a broken seal. Without payloads, plugins judge by the
// nodes' attributes and the model's metadata, which is very cheap. Opens the libraries of the plugins that own a node.
// Throws when the model can't be read. `store` is as in InspectContext. [any thread]
EPIPHYTE_API ContextCheck CheckContext(const Environment& environment, const std::filesystem::path& model,
                                       bool with_payloads = true, const std::shared_ptr<ContextStore>& store = nullptr);

// Checks as a session with `options` would. Plugins get the provider options and devices of such a session, applied
// after policy files and manifests, and the context store is the session's. A node is unsupported if the session would
// not use its plugin. That is the case if the session lists other providers, or lists none and all of the plugin's
// devices are emulated. Throws INVALID_ARGUMENT or NOT_FOUND for providers that aren't installed. The overload above
// checks for a session without options.
EPIPHYTE_API ContextCheck CheckContext(const Environment& environment, const std::filesystem::path& model,
                                       const SessionOptions& options, bool with_payloads = true);

}  // namespace epiphyte
