#include "core/registry/policy.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "core/base/small_file.h"
#include "core/base/strict_yaml.h"
#include "core/base/suggest.h"
#include "core/base/text.h"
#include "core/onnx/read/file_kind.h"
#include "core/registry/provider_name.h"
#include "core/registry/yaml_fields.h"

namespace epiphyte::core {
namespace {

constexpr int64_t kPolicyVersion = 1;
constexpr size_t kMaxBytes = 64 * 1024;
constexpr std::array<std::string_view, 4> kKeys = {"policy_version", "providers", "allow", "deny"};
constexpr std::array<std::string_view, 4> kProviderKeys = {"priority", "enabled", "options", "pinned"};

void RejectUnknownKeys(const YamlNode& map, std::span<const std::string_view> known) {
  for (const auto& [key, value] : map.fields) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string_view nearest = Nearest(key, known);
    value.Reject(fmt::format("unknown key '{}' found; expected one of {}{}", PrintableLine(key, 64),
                             fmt::join(known, ", "),
                             nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
  }
}

std::map<std::string, std::string> ReadOptions(const YamlNode& node, const std::string& key, Policy* policy) {
  for (const auto& [option, value] : node.fields) policy->places.emplace(key + "." + option, value.where);
  return ReadDeclarations(node);
}

ProviderPolicy ReadProvider(const YamlNode& node, const std::string& key, Policy* policy) {
  if (node.kind != YamlNode::Kind::kMap) node.Reject("a map expected, like {priority: 5}");
  RejectUnknownKeys(node, kProviderKeys);
  for (const auto& [field, value] : node.fields) policy->places.emplace(key + "." + field, value.where);
  ProviderPolicy provider;
  if (const YamlNode* priority = node.Find("priority")) provider.priority = ReadPriority(*priority);
  if (const YamlNode* enabled = node.Find("enabled")) provider.enabled = enabled->AsBool();
  if (const YamlNode* options = node.Find("options"))
    provider.options = ReadOptions(*options, key + ".options", policy);
  if (const YamlNode* pinned = node.Find("pinned")) {
    provider.pinned = ReadOptions(*pinned, key + ".pinned", policy);
    for (const auto& [option, value] : pinned->fields) {
      if (!provider.options.contains(option)) continue;
      value.Reject(fmt::format("option '{}' found in `options` and in `pinned`; leave it in one of them", option));
    }
  }
  return provider;
}

std::vector<std::string> ReadNames(const YamlNode& list, const std::string& key, Policy* policy) {
  std::vector<std::string> names = ReadProviderNames(list);
  policy->places.emplace(key, list.where);
  for (size_t i = 0; i < names.size(); ++i) policy->places.emplace(key + "." + names[i], list.items[i].where);
  return names;
}

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

const ProviderPolicy* Policy::Find(std::string_view name) const {
  const auto found = providers.find(name);
  return found == providers.end() ? nullptr : &found->second;
}

std::string Policy::ReasonToDeny(std::string_view name) const {
  if (Contains(deny, name)) return fmt::format("'{}' is in the deny list of {}", name, path.string());
  if (allow && !Contains(*allow, name)) return fmt::format("'{}' is not in the allow list of {}", name, path.string());
  return "";
}

std::string Policy::PlaceOfDenial(std::string_view name) const {
  const bool denied = Contains(deny, name);
  if (!denied && (!allow || Contains(*allow, name))) return "";
  const auto found = places.find(denied ? fmt::format("deny.{}", name) : "allow");
  return found == places.end() ? path.string() : found->second;
}

Policy ParsePolicy(std::string_view text, const std::filesystem::path& path) {
  RefuseLfsPointer(text, fmt::format("policy file '{}'", path.string()));
  const YamlNode root = ParseStrictYaml(text, path.string());
  const YamlNode& version = root.Required("policy_version");
  if (version.AsInt() != kPolicyVersion) {
    version.Reject(fmt::format("policy_version {} found, {} expected", version.scalar, kPolicyVersion));
  }
  RejectUnknownKeys(root, kKeys);
  Policy policy;
  policy.path = path;
  if (const YamlNode* providers = root.Find("providers")) {
    if (providers->kind != YamlNode::Kind::kMap) providers->Reject("a map from provider names to settings expected");
    for (const auto& [name, settings] : providers->fields) {
      if (!IsProviderName(name)) settings.Reject(NotAProviderName(name));
      const std::string key = "providers." + name;
      policy.places.emplace(key, settings.where);
      policy.providers.emplace(name, ReadProvider(settings, key, &policy));
    }
  }
  if (const YamlNode* allow = root.Find("allow")) policy.allow = ReadNames(*allow, "allow", &policy);
  if (const YamlNode* deny = root.Find("deny")) policy.deny = ReadNames(*deny, "deny", &policy);
  return policy;
}

Policy ReadPolicy(const std::filesystem::path& path) {
  if (path.empty()) return {};
  return ParsePolicy(ReadSmallFile(path, kMaxBytes), path);
}

}  // namespace epiphyte::core
