// Policy: what one policy file says about plugins. Which files there are, and which of them decides: policy_layers.h.
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
  std::filesystem::path path;  // empty: no policy file
  std::map<std::string, ProviderPolicy, std::less<>> providers;
  std::optional<std::vector<std::string>> allow;
  std::vector<std::string> deny;
  // "file:line:column" of what is set: "providers.npu", "providers.npu.enabled", "providers.npu.pinned.device",
  // "allow", "allow.cpu", "deny.acme".
  std::map<std::string, std::string, std::less<>> places;

  // Null when there is nothing about that provider.
  const ProviderPolicy* Find(std::string_view name) const;
  // Why the provider may not be used, or "".
  std::string ReasonToDeny(std::string_view name) const;
  // Where that was decided, or "" when it may be used.
  std::string PlaceOfDenial(std::string_view name) const;
};

// Throws INVALID_ARGUMENT with "file:line:column: …".
Policy ParsePolicy(std::string_view text, const std::filesystem::path& path);
// An empty path gives an empty policy.
Policy ReadPolicy(const std::filesystem::path& path);

}  // namespace epiphyte::core
