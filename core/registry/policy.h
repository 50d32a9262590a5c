// Policy: what the operator decides about plugins, in epiphyte.yaml.
//
//   policy_version: 1
//   providers:
//     vulkan: { priority: 5, enabled: false, options: { device: 1 } }
//   allow: [cpu, vulkan]   # only these; without the key, all
//   deny: [acme]           # never these
//
// A priority is what a manifest's is: the order of `epiphyte plugins`, and of who is asked first in sessions that list
// no providers. One below the CPU's leaves a provider what the CPU doesn't take, which is nothing. Each key but the
// first is optional. Unlike in a manifest an unknown key is an error: a misspelt `deny` must not pass.
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
};

struct Policy {
  std::filesystem::path path;  // empty: no policy file
  std::map<std::string, ProviderPolicy, std::less<>> providers;
  std::optional<std::vector<std::string>> allow;
  std::vector<std::string> deny;

  // Null when there is nothing about that provider.
  const ProviderPolicy* Find(std::string_view name) const;
  // Why the provider may not be used, or "".
  std::string ReasonToDeny(std::string_view name) const;
};

// Throws INVALID_ARGUMENT with "file:line:column: …".
Policy ParsePolicy(std::string_view text, const std::filesystem::path& path);
// An empty path gives an empty policy.
Policy ReadPolicy(const std::filesystem::path& path);

}  // namespace epiphyte::core
