// Manifest: the description of one plugin in a YAML file. It has everything needed to reject, rank or list the plugin
// without opening it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry/provider_name.h"

namespace epiphyte::core {

struct Manifest {
  std::filesystem::path path;  // canonical path
  std::string name;
  std::string vendor;
  std::string version;
  std::string license;
  std::string description;
  std::map<std::string, std::string> library;  // key: platform, or "" for all; value: path as spelled
  uint32_t abi = 0;                            // lowest ABI version that the plugin needs
  std::vector<std::string> sources;
  std::vector<std::string> devices;
  int64_t priority = 0;
  bool enabled = true;
  bool fallback = false;             // the plugin may be added by itself for nodes that no listed provider takes
  std::string sha256;                // lower-case hex or empty
  std::vector<std::string> depends;  // libraries that the plugin needs; the error names one that is missing
  std::map<std::string, std::string> options;
  std::map<std::string, std::string> parameters;  // the plugin's own settings; it gets them before anything else
  std::vector<std::string> notes;                 // remarks about unknown keys and similar
};

// Throws INVALID_ARGUMENT with "file:line:column: found, expected". The keys are described in
// plugin_manifests/schema.yaml.
Manifest ParseManifest(std::string_view text, const std::filesystem::path& path);

// For reports: the name in a manifest that ParseManifest refuses, or "" when not even that can be read.
std::string NameInManifest(std::string_view text);

// Makes the digits lower-case; returns false when the text is no SHA-256.
bool NormalizeSha256(std::string* digest);

constexpr size_t kMaxManifestBytes = 64 * 1024;

}  // namespace epiphyte::core
