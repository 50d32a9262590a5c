// PolicyLayers: every policy that counts for a catalog, in order, and the resulting settings of a provider.
//
//   system     /etc/epiphyte/epiphyte.yaml
//   user       the file that the application names, else EPIPHYTE_POLICY, else the user's epiphyte.yaml
//   this run   EPIPHYTE_DISABLE and the plugins that the application disables
//
// For priority, enabled and each option, the last layer that sets it decides, over the manifest; a session's options
// come after all of them. Neither a later layer nor a session can lift what a layer denies, doesn't allow or pins.
//
//   const PolicyLayers layers = ReadPolicyLayers(options);
//   for (const PolicySetting& setting : layers.SettingsOf(manifest)) …
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/registry/manifest.h"
#include "core/registry/plugin_entry.h"
#include "core/registry/policy.h"
#include "core/registry/search_paths.h"

namespace epiphyte::core {

struct PolicyLayer {
  PolicyFile file;
  Policy policy;
  bool defaults = true;  // false: only its denied, allowed and pinned settings count
};

// One setting of one provider.
struct PolicySetting {
  enum class Kind { kPriority, kEnabled, kOption, kDenied };
  Kind kind = Kind::kPriority;
  std::string provider;
  std::string option;  // key of the option, for kOption
  std::string value;   // value as text; for kDenied the reason
  int64_t number = 0;  // number, for kPriority; 0 or 1, for kEnabled
  bool pinned = false;
  std::string origin;          // origin of the PolicyFile, "manifest", or "EPIPHYTE_DISABLE"
  std::filesystem::path file;  // empty for a variable or the application
  std::string place;           // "file:line:column"; without a position the file or the origin
  std::string overridden_by;   // place of the overriding setting; empty: this one is in effect

  bool in_effect() const { return overridden_by.empty(); }
};

class PolicyLayers {
 public:
  PolicyLayers() = default;
  PolicyLayers(std::vector<PolicyLayer> layers, std::vector<DisabledForRun> disabled)
      : layers_(std::move(layers)), disabled_(std::move(disabled)) {}

  // All settings of a provider, the manifest's own first, including overridden ones.
  std::vector<PolicySetting> SettingsOf(const Manifest& manifest) const;
  // Notes for people, one line each: names that are not among `known`, and settings without effect. `urgent`: only
  // names that are close to a known one.
  std::vector<std::string> Notes(const std::vector<const Manifest*>& known, bool urgent = false) const;
  std::vector<PolicyFile> files() const;

 private:
  std::vector<PolicyLayer> layers_;
  std::vector<DisabledForRun> disabled_;
};

// Reads the files that exist. Throws INVALID_ARGUMENT for a malformed file, and, in a process with raised privileges,
// for one that others could change. Throws NO_SUCHFILE when a named file doesn't exist, FAIL when a file can't be read.
PolicyLayers ReadPolicyLayers(const CatalogOptions& options);

}  // namespace epiphyte::core
