// Compatibility: can the EPContext nodes of a model be used here, as the plugins that own them say? No session, no
// provider, no device work.
//
//   ContextReport report = CheckContexts(model, path, environment.catalog(), /*with_payloads=*/true);
//   if (report.verdict == ContextVerdict::kUnsupported) …
//
// A session asks too, between LoadPayloads and Provider::LoadContext, for each provider:
//
//   RequireUsable(*slot.plugin, batch.to_load, batch.blobs, model.metadata,
//                 config.context.refuse_suboptimal, {slot.devices, slot.options});
//
// which throws INVALID_GRAPH for an unsupported context (and, asked to, for one that should be compiled again), and
// logs a warning when compiling again would be better.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/abi/context_check.h"
#include "core/context/context_metadata.h"
#include "core/context/node_payloads.h"
#include "core/graph/graph.h"
#include "core/registry/catalog.h"
#include "core/registry/provider_setup.h"

namespace epiphyte::core {

struct NodeCheck {
  std::string node;  // with the path of nested graphs before it: "loop/body/npu_0"
  std::string source;
  std::string provider;  // the plugin that owns the source; empty: none does
  ContextVerdict verdict = ContextVerdict::kNotApplicable;
  std::string reason;  // one line; may be empty for kOptimal
};

// All nodes of one provider together: the worst verdict, with its reason. Nodes that nobody owns have provider "".
struct ProviderCheck {
  std::string provider;
  ContextVerdict verdict = ContextVerdict::kNotApplicable;
  std::string reason;
};

struct ContextReport {
  std::vector<NodeCheck> nodes;          // in the order of FindContextNodes
  std::vector<ProviderCheck> providers;  // in the order of their first node
  // The worst of all: unsupported, then not applicable, prefer recompilation, optimal. Not applicable for a model
  // without EPContext nodes.
  ContextVerdict verdict = ContextVerdict::kNotApplicable;
  std::string reason;
};

// Bad nodes and payloads that can't be read are kUnsupported with the reason; nothing is thrown for them. Opens the
// libraries of the plugins that own a node. With payloads, which are in `store` where that isn't null, each plugin sees
// its payload and may check all of it; without it judges by the attributes and the metadata alone. `model_path` empty:
// files beside the model can't be found, so their nodes are judged without payload.
//
// The verdict is that of a session with `request`: plugins get the options and devices that it would give them, and a
// plugin that it would not use can't use its nodes. Throws what the session throws for names that no plugin has.
ContextReport CheckContexts(Model& model, const std::filesystem::path& model_path, Catalog& catalog, bool with_payloads,
                            const std::shared_ptr<ContextStore>& store = nullptr, const ProviderRequest& request = {});

// As above with payloads, which the caller has opened or will use too.
ContextReport CheckContexts(Model& model, NodePayloads& payloads, Catalog& catalog,
                            const ProviderRequest& request = {});

// Throws INVALID_GRAPH naming node, source, reason and what to do. A verdict of "not applicable" passes: the plugin has
// no opinion, and LoadContext decides. The plugin sees the payload only where the metadata holds nothing of it for that
// plugin (another tool's model), and where nothing but the best will do: LoadContext checks the payload itself, and
// twice would cost twice.
void RequireUsable(const LoadedPlugin& plugin, std::span<const ContextNodeToLoad> nodes,
                   std::span<const ContextBlob> blobs, const Metadata& metadata, bool fail_on_suboptimal,
                   const ContextPlace& place);

// What a session says when LoadContext of `plugin` failed with `reason`: nodes, sources, file, what wrote them and what
// to do.
std::string LoadFailureMessage(const LoadedPlugin& plugin, std::span<const ContextNodeToLoad> nodes,
                               std::string_view reason);

// Why no plugin takes the node: nobody owns its source (the installed ones are named, sorted, once each), or the one
// that does can't be used (its state, manifest and hint are given).
std::string UnownedSourceMessage(const Node& node, const std::string& source, const Catalog& catalog);

}  // namespace epiphyte::core
