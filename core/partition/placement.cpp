#include "core/partition/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/base/text.h"

namespace epiphyte::core {
namespace {

struct Share {
  std::string provider;  // as reports show it
  bool is_host = false;
  std::string device;
  size_t nodes = 0;
  size_t partitions = 0;
};

// Share of each provider. Order: the asked providers that got something, by priority; then the host; then "" for
// unplaced nodes.
std::vector<Share> Shares(const Placement& placement) {
  std::vector<Share> shares;
  std::unordered_map<std::string_view, size_t> index;
  const auto share_of = [&](std::string_view provider) -> Share& {
    const auto [found, added] = index.try_emplace(provider, shares.size());
    if (added) shares.push_back({.provider = std::string(provider)});
    return shares[found->second];
  };
  for (const std::string& provider : placement.providers) share_of(provider);
  std::unordered_set<std::string_view> partitions;
  for (const NodePlacement& node : placement.nodes) {
    Share& share = share_of(node.ProviderInReports());
    share.is_host = node.is_run_by_host;
    ++share.nodes;
    if (share.device.empty()) share.device = node.device;
    if (!node.partition.empty() && partitions.insert(node.partition).second) ++share.partitions;
  }
  std::erase_if(shares, [](const Share& share) { return share.nodes == 0; });
  const auto rank = [](const Share& share) { return share.provider.empty() ? 2 : share.is_host ? 1 : 0; };
  std::stable_sort(shares.begin(), shares.end(), [&](const Share& a, const Share& b) { return rank(a) < rank(b); });
  return shares;
}

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    if (static_cast<unsigned char>(c) >= ' ') escaped += c;
  }
  return escaped;
}

// Colours that can be told apart, with black text on them readable.
constexpr std::array<std::string_view, 8> kPalette = {"#8dd3c7", "#ffffb3", "#bebada", "#fdb462",
                                                      "#80b1d3", "#b3de69", "#fccde5", "#d9d9d9"};
constexpr std::string_view kUnplacedColour = "#fb8072";
constexpr std::string_view kHostColour = "#ffffff";

}  // namespace

std::string Placement::Summary() const {
  std::string text = CountText(nodes.size(), "node");
  std::string_view separator = ": ";
  for (const Share& share : Shares(*this)) {
    text += separator;
    separator = ", ";
    text += fmt::format("{} {}", share.provider.empty() ? "unplaced" : share.provider, share.nodes);
    if (share.partitions > 0) text += " in " + CountText(share.partitions, "partition");
  }
  return text;
}

std::string Placement::RemovedSummary() const {
  if (removed.empty()) return {};
  std::string text = CountText(removed.size(), "more node") + " of the model";
  std::string_view separator = ": ";
  for (const RemovalReason fate :
       {RemovalReason::kFolded, RemovalReason::kMerged, RemovalReason::kForwarded, RemovalReason::kDead,
        RemovalReason::kInlined, RemovalReason::kDecided, RemovalReason::kDeadBranch, RemovalReason::kRewritten}) {
    const auto count =
        std::count_if(removed.begin(), removed.end(), [fate](const RemovedNode& node) { return node.reason == fate; });
    if (count == 0) continue;
    text += fmt::format("{}{} {}", separator, count, RemovalReasonName(fate));
    separator = ", ";
  }
  return text;
}

std::string Placement::ToJson() const {
  using Json = nlohmann::ordered_json;
  Json json;
  json["summary"] = Summary();
  json["providers"] = Json::array();
  for (const Share& share : Shares(*this)) {
    json["providers"].push_back(Json{
        {"name", share.provider}, {"device", share.device}, {"nodes", share.nodes}, {"partitions", share.partitions}});
  }
  json["nodes"] = Json::array();
  for (const NodePlacement& node : nodes) {
    Json entry{{"graph", node.graph},     {"id", node.node_id},         {"name", node.name},
               {"op_type", node.op_type}, {"domain", node.domain},      {"provider", node.ProviderInReports()},
               {"device", node.device},   {"partition", node.partition}};
    entry["declines"] = Json::array();
    for (const Decline& decline : node.declines) {
      entry["declines"].push_back(Json{{"provider", decline.provider}, {"reason", decline.reason}});
    }
    entry["notes"] = node.notes;
    json["nodes"].push_back(std::move(entry));
  }
  json["removed"] = Json::array();
  for (const RemovedNode& node : removed) {
    json["removed"].push_back(Json{{"graph", node.graph},
                                   {"name", node.name},
                                   {"op_type", node.op_type},
                                   {"domain", node.domain},
                                   {"fate", RemovalReasonName(node.reason)},
                                   {"into", node.into},
                                   {"text", node.Describe()}});
  }
  json["claims"] = Json::array();
  for (const auto& [partition, said] : claims) {
    json["claims"].push_back(
        Json{{"partition", partition}, {"names", said.names}, {"memory_bytes", said.memory_bytes}});
  }
  json["edges"] = Json::array();
  for (const auto& [from, to] : edges) json["edges"].push_back(Json::array({from, to}));
  json["warnings"] = warnings;
  // Names come from models and plugins and need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string Placement::ToDot() const {
  std::unordered_map<std::string_view, std::string_view> colours;
  std::string legend;
  size_t next = 0;
  const std::vector<Share> shares = Shares(*this);
  for (size_t i = 0; i < shares.size(); ++i) {
    const Share& share = shares[i];
    const std::string_view colour = share.provider.empty() ? kUnplacedColour
                                    : share.is_host        ? kHostColour
                                                           : kPalette[next++ % kPalette.size()];
    colours[share.provider] = colour;
    legend += fmt::format("    legend_{} [label=\"{}: {}\", fillcolor=\"{}\"];\n", i,
                          share.provider.empty() ? "unplaced" : Escaped(share.provider), CountText(share.nodes, "node"),
                          colour);
  }
  std::string text =
      "digraph placement {\n"
      "  rankdir=TB;\n"
      "  node [shape=box, style=\"filled,rounded\", fontname=\"sans-serif\", fontsize=10];\n"
      "  subgraph cluster_legend {\n    label=\"" +
      Escaped(Summary()) + "\";\n" + legend + "  }\n";
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodePlacement& node = nodes[i];
    text += fmt::format("  n{} [label=\"{}\\n{}\", tooltip=\"{}\", fillcolor=\"{}\"];\n", i, Escaped(node.op_type),
                        Escaped(node.name), Escaped(node.partition), colours[node.ProviderInReports()]);
  }
  for (const auto& [from, to] : edges) text += fmt::format("  n{} -> n{};\n", from, to);
  return text + "}\n";
}

}  // namespace epiphyte::core
