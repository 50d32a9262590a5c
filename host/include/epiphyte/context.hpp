// Context models: what is in the EPContext nodes of a model, without any plugin, and whether they can be used here,
// without a session.
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

// One EPContext node, the schema's defaults filled in.
struct ContextNodeInfo {
  std::string name;
  std::string graph;  // path of nested graphs, "" for the model's own
  std::string source;
  std::string partition;
  bool main_context = true;
  int64_t embed_mode = 1;
  std::string file;             // as the node spells it; empty when the payload is embedded or belongs to another node
  uint64_t size = 0;            // of the payload as it is
  std::string digest;           // of the payload as it is, XXH3-128 in hex; empty when there is none
  std::string recorded_digest;  // what the model says that it was; empty when it doesn't
  std::string sdk_version;
  std::string hardware;
  std::string notes;
  std::string onnx_model_filename;
  int64_t max_size = 0;
  std::string problem;  // what is wrong with the payload, one line; empty when nothing is
};

struct ContextInfo {
  std::filesystem::path model;
  std::vector<ContextNodeInfo> nodes;
  uint64_t plain_nodes = 0;                     // nodes that aren't EPContext nodes
  std::map<std::string, std::string> metadata;  // of the model: compatibility strings, fingerprints
};

// Throws when the model can't be read; trouble with a payload is in its node's `problem`. A model without EPContext
// nodes gives none. `store`: where payloads and initializers are, and with StoresModel() the model too, under the name
// of its path; null: all are files. [any thread]
EPIPHYTE_API ContextInfo InspectContext(const std::filesystem::path& model,
                                        const std::shared_ptr<ContextStore>& store = nullptr);

// What a plugin says of a context, without a session. The numbers are ONNX Runtime's.
enum class ContextVerdict : uint32_t {
  kNotApplicable = 0,  // nobody owns the source, its plugin can't be used, or has no opinion
  kOptimal = 1,
  kPreferRecompilation = 2,  // works, but compiling again would be better
  kUnsupported = 3,
};
// "optimal", "prefer recompilation", "unsupported", "not applicable"
EPIPHYTE_API std::string_view ContextVerdictName(ContextVerdict verdict);

struct ContextCheck {
  struct Node {
    std::string name;  // after those of the nodes and attributes around it: "loop/body/npu_0"
    std::string source;
    std::string provider;  // who owns the source; empty: nobody who is installed
    ContextVerdict verdict = ContextVerdict::kNotApplicable;
    std::string reason;  // one line; may be empty when optimal
  };
  struct Provider {
    std::string name;  // empty: the nodes that nobody owns
    ContextVerdict verdict = ContextVerdict::kNotApplicable;
    std::string reason;
  };
  std::vector<Node> nodes;
  std::vector<Provider> providers;  // the worst of each one's nodes
  // The worst of all; not applicable for a model without EPContext nodes.
  ContextVerdict verdict = ContextVerdict::kNotApplicable;
  std::string reason;

  bool usable() const { return verdict == ContextVerdict::kOptimal || verdict == ContextVerdict::kPreferRecompilation; }
};

// With payloads, plugins see them, and a payload that can't be opened or isn't what the model recorded is unsupported;
// without, they judge by the nodes' attributes and the model's metadata, which costs next to nothing. Opens the
// libraries of the plugins that own a node. Throws when the model can't be read. `store` as of InspectContext. [any
// thread]
EPIPHYTE_API ContextCheck CheckContext(const Environment& environment, const std::filesystem::path& model,
                                       bool with_payloads = true, const std::shared_ptr<ContextStore>& store = nullptr);

// As a session with `options` would judge: plugins get the provider options and devices that it would give them, after
// those of policy files and manifests, and the context store is the session's. A node whose plugin that session would
// not use is unsupported: when the session lists others, or when it lists none and all of the plugin's devices are
// emulated. Throws INVALID_ARGUMENT or NOT_FOUND for providers that aren't installed. The call above judges for a
// session without options.
EPIPHYTE_API ContextCheck CheckContext(const Environment& environment, const std::filesystem::path& model,
                                       const SessionOptions& options, bool with_payloads = true);

}  // namespace epiphyte
