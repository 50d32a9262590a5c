// Compatibility: whether the EPContext nodes of a model can be used here, according to the plugins that own them. It
// makes no session and no provider, and does no device work.
//
//   ContextReport report = CheckContexts(model, path, environment.catalog(), /*with_payloads=*/true);
//   if (report.verdict == ContextVerdict::kUnsupported) …
//
// A session asks too, between LoadPayloads and Provider::LoadContext, for each provider:
//
//   RequireUsable(*slot.plugin, batch.to_load, batch.blobs, model.metadata,
//                 config.context.refuse_suboptimal, {slot.devices, slot.options});
//
// RequireUsable throws INVALID_GRAPH for an unsupported context. With refuse_suboptimal it throws for a context that
// should be recompiled, too; otherwise it logs a warning.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/abi/context_check.h"
#include "core/context/context_binding.h"
#include "core/context/context_metadata.h"
#include "core/context/node_payloads.h"
#include "core/graph/graph.h"
#include "core/registry/catalog.h"
#include "core/registry/provider_setup.h"

namespace epiphyte::core {

struct NodeCheck {
  std::string node;  // node name with the path of nested graphs before it: "loop/body/npu_0"
  std::string source;
  std::string provider;  // plugin that owns the source; empty when no plugin does
  ContextVerdict verdict = ContextVerdict::kNotApplicable;
  std::string reason;  // one line; may be empty for kOptimal
};

// Verdict on all nodes of one provider: the worst of them, with its reason. Nodes without an owner have provider "".
struct ProviderCheck {
  std::string provider;
  ContextVerdict verdict = ContextVerdict::kNotApplicable;
  std::string reason;
};

struct ContextReport {
  std::vector<NodeCheck> nodes;          // one for each node, in the order of FindContextNodes
  std::vector<ProviderCheck> providers;  // one for each provider, in the order of their first node
  // Worst verdict of all nodes: unsupported, then not applicable, prefer recompilation, optimal. A model without
  // EPContext nodes is not applicable.
  ContextVerdict verdict = ContextVerdict::kNotApplicable;
  std::string reason;
};

// Judges all EPContext nodes of a model. Bad nodes and unreadable payloads become kUnsupported with the reason; nothing
// is thrown for them. Opens the libraries of the plugins that own a node.
//
// With payloads, each plugin sees its payload and may check all of it; they are read from `store` unless that is null.
// Without payloads, a plugin judges by attributes and metadata alone. If `model_path` is empty, files beside the model
// can't be found, and the nodes that name them are judged without a payload.
//
// The verdict is the one of a session with `request`: plugins get the options and devices that the session would give
// them. A plugin that the session would not use can't use its nodes. Throws what the session throws for names that no
// plugin has.
ContextReport CheckContexts(Model& model, const std::filesystem::path& model_path, Catalog& catalog, bool with_payloads,
                            const std::shared_ptr<ContextStore>& store = nullptr, const ProviderRequest& request = {});

// Same as above for a caller that uses the binding of the model's nodes and their payloads, too.
ContextReport CheckContexts(const ContextBinding& binding, const Metadata& metadata, NodePayloads& payloads,
                            Catalog& catalog, const ProviderRequest& request = {});

// Throws INVALID_GRAPH naming node, source, reason and what to do. The verdict "not applicable" passes: the plugin has
// no opinion, and LoadContext decides.
//
// The plugin sees the payload in two cases only: the metadata says nothing of it for that plugin (another tool's
// model), or only optimal contexts are accepted. Otherwise LoadContext checks the payload, and checking it twice would
// cost twice.
void RequireUsable(const LoadedPlugin& plugin, std::span<const ContextNodeToLoad> nodes,
                   std::span<const ContextBlob> blobs, const Metadata& metadata, bool fail_on_suboptimal,
                   const ContextPlace& place);

// Message of a session after LoadContext of `plugin` failed with `reason`: nodes, sources, file, the writer and what to
// do.
std::string LoadFailureMessage(const LoadedPlugin& plugin, std::span<const ContextNodeToLoad> nodes,
                               std::string_view reason);

// Message that says why no plugin takes the node. If no plugin owns the source, it lists the installed sources, sorted,
// once each. If the owner can't be used, it gives the owner's state, manifest and hint.
std::string UnownedSourceMessage(const Node& node, const std::string& source, const Catalog& catalog);

}  // namespace epiphyte::core
