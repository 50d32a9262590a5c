// Manifest: what a YAML file says about one plugin. Everything needed to reject, rank or list it without opening it.
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
  std::filesystem::path path;  // canonical
  std::string name;
  std::string vendor;
  std::string version;
  std::string license;
  std::string description;
  std::map<std::string, std::string> library;  // platform, or "" for all, to path as spelled
  uint32_t abi = 0;                            // lowest ABI version it needs
  std::vector<std::string> sources;
  std::vector<std::string> devices;
  int64_t priority = 0;
  bool enabled = true;
  bool fallback = false;             // may be added by itself for nodes that no listed provider takes
  std::string sha256;                // lower-case hex or empty
  std::vector<std::string> depends;  // libraries, named in the error if missing
  std::map<std::string, std::string> options;
  std::map<std::string, std::string> parameters;  // the plugin's own; it gets them before anything else
  std::vector<std::string> notes;                 // unknown keys and the like
};

// Throws INVALID_ARGUMENT with "file:line:column: what was found, what was expected". The keys are described in
// plugin_manifests/schema.yaml.
Manifest ParseManifest(std::string_view text, const std::filesystem::path& path);

// The name in a manifest that ParseManifest refuses, or "" when not even that can be read. For reports.
std::string NameInManifest(std::string_view text);

// Makes the digits lower-case; false when it is no SHA-256.
bool NormalizeSha256(std::string* digest);

constexpr size_t kMaxManifestBytes = 64 * 1024;

}  // namespace epiphyte::core
