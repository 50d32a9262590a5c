// YAML fields that manifests and policy files have in common.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/strict_yaml.h"

namespace epiphyte::core {

// Option values are scalars of any form ("0", "true", "bf16"), kept as they are spelled.
std::map<std::string, std::string> ReadDeclarations(const YamlNode& node);
// Priorities are bounded so that arithmetic on them can't overflow.
int64_t ReadPriority(const YamlNode& node);
std::string ReadProviderName(const YamlNode& node);
// Message text: "name 'a b' found; expected 1 to 64 letters, …".
std::string NotAProviderName(std::string_view found);
std::vector<std::string> ReadProviderNames(const YamlNode& list);
// One note for each unknown key of `map`, with the nearest known one.
std::vector<std::string> NotesOnUnknownKeys(const YamlNode& map, std::span<const std::string_view> known);

}  // namespace epiphyte::core
