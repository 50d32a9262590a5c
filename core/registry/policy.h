// Policy: the content of one policy file about plugins. policy_layers.h tells which files exist, and which one decides.
//
//   policy_version: 1
//   providers:
//     vulkan: { priority: 5, enabled: false, options: { device: 1 } }
//     npu: { pinned: { device: 0 } }   # nothing that comes later may change it
//   allow: [cpu, vulkan]               # only these; without the key, all
//   deny: [acme]                       # never these
//
// Every key is described in plugin_manifests/policy_schema.yaml. Unlike in a manifest an unknown key is an error: a
// misspelt `deny` must not pass.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace epiphyte::core {

struct ProviderPolicy {
  std::optional<int64_t> priority;
  std::optional<bool> enabled;
  std::map<std::string, std::string> options;
  std::map<std::string, std::string> pinned;  // options that later files and sessions can't change
};

struct Policy {
  std::filesystem::path path;  // empty when there is no policy file
  std::map<std::string, ProviderPolicy, std::less<>> providers;
  std::optional<std::vector<std::string>> allow;
  std::vector<std::string> deny;
  // Position ("file:line:column") of each setting. Keys: "providers.npu", "providers.npu.enabled",
  // "providers.npu.pinned.device", "allow", "allow.cpu", "deny.acme".
  std::map<std::string, std::string, std::less<>> places;

  // Returns null when the policy says nothing about the provider.
  const ProviderPolicy* Find(std::string_view name) const;
  // Why the provider may not be used; "" when it may.
  std::string ReasonToDeny(std::string_view name) const;
  // Position of that decision; "" when the provider may be used.
  std::string PlaceOfDenial(std::string_view name) const;
};

// Throws INVALID_ARGUMENT with "file:line:column: …".
Policy ParsePolicy(std::string_view text, const std::filesystem::path& path);
// An empty path gives an empty policy.
Policy ReadPolicy(const std::filesystem::path& path);

}  // namespace epiphyte::core
