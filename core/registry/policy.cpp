#include "core/registry/policy.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "core/base/small_file.h"
#include "core/base/strict_yaml.h"
#include "core/registry/yaml_fields.h"

namespace epiphyte::core {
namespace {

constexpr int64_t kPolicyVersion = 1;
constexpr size_t kMaxBytes = 64 * 1024;
constexpr std::array<std::string_view, 4> kKeys = {"policy_version", "providers", "allow", "deny"};
constexpr std::array<std::string_view, 3> kProviderKeys = {"priority", "enabled", "options"};

void RejectUnknownKeys(const YamlNode& map, std::span<const std::string_view> known) {
  for (const auto& [key, value] : map.fields) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      value.Reject(fmt::format("unknown key '{}' found; expected one of {}", key, fmt::join(known, ", ")));
    }
  }
}

ProviderPolicy ReadProvider(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kMap) node.Reject("a map expected, like {priority: 5}");
  RejectUnknownKeys(node, kProviderKeys);
  ProviderPolicy provider;
  if (const YamlNode* priority = node.Find("priority")) provider.priority = ReadPriority(*priority);
  if (const YamlNode* enabled = node.Find("enabled")) provider.enabled = enabled->AsBool();
  if (const YamlNode* options = node.Find("options")) provider.options = ReadDeclarations(*options);
  return provider;
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

Policy ParsePolicy(std::string_view text, const std::filesystem::path& path) {
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
    for (const auto& [name, settings] : providers->fields) policy.providers.emplace(name, ReadProvider(settings));
  }
  if (const YamlNode* allow = root.Find("allow")) policy.allow = ReadProviderNames(*allow);
  if (const YamlNode* deny = root.Find("deny")) policy.deny = ReadProviderNames(*deny);
  return policy;
}

Policy ReadPolicy(const std::filesystem::path& path) {
  if (path.empty()) return {};
  return ParsePolicy(ReadSmallFile(path, kMaxBytes), path);
}

}  // namespace epiphyte::core
