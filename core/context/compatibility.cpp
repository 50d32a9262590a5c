#include "core/context/compatibility.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/text.h"

namespace epiphyte::core {
namespace {

// Rank from best (0) to worst. A node without an owner stops a session, so it ranks below one that should be
// recompiled.
int Badness(ContextVerdict verdict) {
  switch (verdict) {
    case ContextVerdict::kOptimal: return 0;
    case ContextVerdict::kPreferRecompilation: return 1;
    case ContextVerdict::kNotApplicable: return 2;
    case ContextVerdict::kUnsupported: return 3;
  }
  return 3;
}

// The installed but unusable plugin that owns the source; null when there is none.
std::optional<PluginEntry> UnusableOwner(const std::string& source, const Catalog& catalog) {
  for (PluginEntry& entry : catalog.entries()) {
    const auto& sources = entry.manifest.sources;
    const bool usable = entry.state == PluginState::kReady || entry.state == PluginState::kLoaded;
    if (usable || entry.state == PluginState::kShadowed) continue;
    if (std::find(sources.begin(), sources.end(), source) != sources.end()) return std::move(entry);
  }
  return std::nullopt;
}

std::string WhyUnusable(const PluginEntry& entry, std::string_view source) {
  return fmt::format("provider '{}' owns source '{}' but can't be used ({}): {}{}{} (manifest '{}')",
                     entry.manifest.name, source, PluginStateName(entry.state), entry.message,
                     entry.hint.empty() ? "" : "; ", entry.hint, entry.manifest.path.string());
}

// Text that says how the node was written, as far as its attributes tell: "written with SDK 'X 1.2' for 'arch'".
std::string Origin(const ContextNodeToLoad& node) {
  if (node.ep_sdk_version.empty() && node.hardware_architecture.empty()) return "written with an unknown SDK";
  return fmt::format(
      "written with SDK '{}'{}", PrintableLine(node.ep_sdk_version, 100),
      node.hardware_architecture.empty() ? "" : " for '" + PrintableLine(node.hardware_architecture, 100) + "'");
}

// Cache of the plugins' verdicts: each plugin is asked once for each different header and payload. The place isn't part
// of the key, because a plugin has one place.
class Asker {
 public:
  ContextCheck Ask(const LoadedPlugin& plugin, const ContextHeader& header, const ContextPlace& place) {
    const auto key = std::tuple(&plugin, header.source, header.ep_sdk_version, header.hardware_architecture,
                                header.notes, header.extras, header.blob.data, header.blob.size);
    auto [found, is_new] = answers_.try_emplace(key);
    if (is_new) found->second = CheckContext(plugin, header, place);
    return found->second;
  }

 private:
  using Key = std::tuple<const LoadedPlugin*, std::string, std::string, std::string, std::string, ContextExtras,
                         const void*, uint64_t>;
  std::map<Key, ContextCheck> answers_;
};

class ModelCheck {
 public:
  ModelCheck(const ContextBinding& binding, const Metadata& metadata, NodePayloads* payloads, Catalog& catalog,
             const ProviderRequest& request)
      : binding_(binding), metadata_(metadata), payloads_(payloads), catalog_(catalog), request_(request) {}

  ContextReport Run() {
    CheckNames(catalog_, request_);
    ContextReport report;
    for (const BoundNode& bound : binding_.nodes()) report.nodes.push_back(CheckNode(bound));
    for (const NodeCheck& node : report.nodes) AddToProvider(node, &report);
    if (report.nodes.empty()) {
      report.reason = "the model has no EPContext node";
      return report;
    }
    const auto worst = std::max_element(
        report.nodes.begin(), report.nodes.end(),
        [](const NodeCheck& a, const NodeCheck& b) { return Badness(a.verdict) < Badness(b.verdict); });
    report.verdict = worst->verdict;
    report.reason = worst->reason;
    return report;
  }

 private:
  NodeCheck CheckNode(const BoundNode& bound) {
    NodeCheck check;
    check.node = NodePath(*bound.node);
    check.source = bound.attributes.source;
    check.provider = bound.owner;
    try {
      if (!bound.readable) Fail(StatusCode::kInvalidGraph, "{}", bound.problem);
      Judge(bound, &check);
    } catch (const Error& error) {
      check.verdict = ContextVerdict::kUnsupported;
      check.reason = error.message();
    }
    return check;
  }

  void Judge(const BoundNode& bound, NodeCheck* check) {
    const ContextAttributes& attributes = bound.attributes;
    const LoadedPlugin* plugin = bound.owner.empty() ? nullptr : catalog_.TryLoad(bound.owner);
    if (plugin == nullptr) return ExplainUnusable(*bound.node, attributes.source, check);
    if (!bound.problem.empty()) Fail(StatusCode::kInvalidGraph, "{}", bound.problem);
    ContextHeader header;
    static_cast<ContextAttributes&>(header) = attributes;
    header.compatibility_info = CompatibilityInfo(metadata_, plugin->name);
    // A node that several payloads fit is judged without a payload: each payload is judged with its primary.
    if (payloads_ != nullptr && bound.payload_node != kNoPayloadNode) {
      const BoundNode& payload_node = binding_.nodes()[bound.payload_node];
      const NodePayload& payload = payloads_->Open(*payload_node.node, payload_node.attributes);
      if (!payload.problem.empty()) Fail(StatusCode::kInvalidGraph, "{}", payload.problem);
      header.blob = payload.blob;
    }
    const ProviderSetup& setup = SetupOf(*plugin);
    RequireDevices(*plugin, setup.devices);
    // Without a chosen device the verdict is for the plugin's best device, because a session can be given that one.
    const ContextPlace place{setup.has_device_option ? setup.devices : std::vector<uint32_t>(), setup.options};
    const ContextCheck answer = asker_.Ask(*plugin, header, place);
    check->verdict = answer.verdict;
    check->reason = answer.reason;
    // A defect that the plugin finds in the context itself is reported before a problem of the setup.
    const std::string& unused = setup.left_out.empty() ? setup.cannot_run : setup.left_out;
    if (unused.empty() || answer.verdict == ContextVerdict::kUnsupported) return;
    check->verdict = ContextVerdict::kUnsupported;
    check->reason = unused;
  }

  const ProviderSetup& SetupOf(const LoadedPlugin& plugin) {
    const auto found = setups_.find(&plugin);
    if (found != setups_.end()) return found->second;
    return setups_.emplace(&plugin, SetUpProvider(catalog_, plugin, request_)).first->second;
  }

  void ExplainUnusable(const Node& node, const std::string& source, NodeCheck* check) const {
    const std::optional<PluginEntry> owner = UnusableOwner(source, catalog_);
    check->provider = owner ? owner->manifest.name : std::string();
    check->reason = owner ? WhyUnusable(*owner, source) : UnownedSourceMessage(node, source, catalog_);
  }

  static void AddToProvider(const NodeCheck& node, ContextReport* report) {
    auto found = std::find_if(report->providers.begin(), report->providers.end(),
                              [&](const ProviderCheck& candidate) { return candidate.provider == node.provider; });
    if (found == report->providers.end()) {
      report->providers.push_back({node.provider, node.verdict, node.reason});
    } else if (Badness(node.verdict) > Badness(found->verdict)) {
      found->verdict = node.verdict;
      found->reason = node.reason;
    }
  }

  const ContextBinding& binding_;
  const Metadata& metadata_;
  NodePayloads* payloads_;
  Catalog& catalog_;
  const ProviderRequest& request_;
  std::map<const LoadedPlugin*, ProviderSetup> setups_;
  Asker asker_;
};

}  // namespace

ContextReport CheckContexts(Model& model, const std::filesystem::path& model_path, Catalog& catalog, bool with_payloads,
                            const std::shared_ptr<ContextStore>& store, const ProviderRequest& request) {
  std::optional<NodePayloads> payloads;
  if (with_payloads) {
    payloads.emplace(PayloadAccess{.model = model_path, .store = store, .digests = PayloadAccess::kRecorded},
                     model.metadata);
  }
  const ContextBinding binding(FindContextNodes(*model.graph), OwnersIn(catalog));
  return ModelCheck(binding, model.metadata, payloads ? &*payloads : nullptr, catalog, request).Run();
}

ContextReport CheckContexts(const ContextBinding& binding, const Metadata& metadata, NodePayloads& payloads,
                            Catalog& catalog, const ProviderRequest& request) {
  return ModelCheck(binding, metadata, &payloads, catalog, request).Run();
}

void RequireUsable(const LoadedPlugin& plugin, std::span<const ContextNodeToLoad> nodes,
                   std::span<const ContextBlob> blobs, const Metadata& metadata, bool fail_on_suboptimal,
                   const ContextPlace& place) {
  Asker asker;
  ContextHeader header;
  header.compatibility_info = CompatibilityInfo(metadata, plugin.name);
  bool warned = false;
  for (const ContextNodeToLoad& node : nodes) {
    static_cast<ContextAttributes&>(header) = node;
    // A caller that accepts only optimal contexts has the payload checked too: the metadata tells less.
    const bool shows_payload = (header.compatibility_info.empty() || fail_on_suboptimal) && node.blob >= 0;
    header.blob = shows_payload ? blobs[static_cast<size_t>(node.blob)] : ContextBlob{};
    const ContextCheck answer = asker.Ask(plugin, header, place);

    const auto label = [&] { return fmt::format("{}, {},", ContextNodeLabel(*node.node), Origin(node)); };
    if (answer.verdict == ContextVerdict::kUnsupported) {
      const bool has_advice = answer.reason.find("compile the model again") != std::string::npos;
      Fail(StatusCode::kInvalidGraph, "{} can't be used by provider '{}' {} here: {}{}", label(), plugin.name,
           plugin.version, answer.reason, has_advice ? "" : "; compile the model again on this machine");
    }
    if (answer.verdict != ContextVerdict::kPreferRecompilation) continue;
    if (fail_on_suboptimal) {
      Fail(
          StatusCode::kInvalidGraph,
          "{} would work with provider '{}' {}, but not optimally: {}; session.fail_on_suboptimal_compiled_model is 1: "
          "compile the model again, or set it to 0",
          label(), plugin.name, plugin.version, answer.reason);
    }
    if (!warned) {
      Log(LogLevel::kWarning, "context", "{} works with provider '{}' {}, but not optimally: {}", label(), plugin.name,
          plugin.version, answer.reason);
    }
    warned = true;
  }
}

std::string LoadFailureMessage(const LoadedPlugin& plugin, std::span<const ContextNodeToLoad> nodes,
                               std::string_view reason) {
  const ContextNodeToLoad& first = nodes.front();
  const std::string more = nodes.size() == 1 ? "" : fmt::format(" and {} more of its nodes", nodes.size() - 1);
  return fmt::format(
      "{}{}, {}, can't be loaded by provider '{}' {}: {}{}", ContextNodeLabel(*first.node), more, Origin(first),
      plugin.name, plugin.version, reason,
      reason.find("compile the model again") == std::string_view::npos ? "; compile the model again" : "");
}

std::string UnownedSourceMessage(const Node& node, const std::string& source, const Catalog& catalog) {
  if (const std::optional<PluginEntry> owner = UnusableOwner(source, catalog)) {
    return fmt::format("{}: {}", ContextNodeLabel(node), WhyUnusable(*owner, source));
  }
  std::set<std::string> known;
  for (const PluginEntry& entry : catalog.entries()) {
    known.insert(entry.manifest.sources.begin(), entry.manifest.sources.end());
  }
  return fmt::format(
      "{}: no installed plugin owns source '{}' (installed: {}); install the plugin that it was compiled with",
      ContextNodeLabel(node), source, known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
}

}  // namespace epiphyte::core
