// PolicyLayers: every policy that counts for a catalog, in order, and what they make of one provider.
//
//   system     /etc/epiphyte/epiphyte.yaml
//   user       the file that the application names, else EPIPHYTE_POLICY, else the user's epiphyte.yaml
//   this run   EPIPHYTE_DISABLE and what the application disables
//
// Of priority, enabled and each option the last layer that sets it decides, over the manifest; a session's options come
// after all of them. What a layer denies, doesn't allow or pins no later one can lift, nor can a session.
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
  bool defaults = true;  // false: only what it denies, allows and pins counts
};

// One thing that is said about one provider.
struct PolicySetting {
  enum class Kind { kPriority, kEnabled, kOption, kDenied };
  Kind kind = Kind::kPriority;
  std::string provider;
  std::string option;  // kOption: its key
  std::string value;   // as text; kDenied: the reason
  int64_t number = 0;  // kPriority; kEnabled: 0 or 1
  bool pinned = false;
  std::string origin;          // PolicyFile's, "manifest", "EPIPHYTE_DISABLE"
  std::filesystem::path file;  // empty: a variable or the application
  std::string place;           // "file:line:column", or the file or the origin where there is none
  std::string overridden_by;   // place of what takes its place; empty: it is in effect

  bool in_effect() const { return overridden_by.empty(); }
};

class PolicyLayers {
 public:
  PolicyLayers() = default;
  PolicyLayers(std::vector<PolicyLayer> layers, std::vector<DisabledForRun> disabled)
      : layers_(std::move(layers)), disabled_(std::move(disabled)) {}

  // All that is said about a provider, the manifest's own first. Settings that another one overrides are in it.
  std::vector<PolicySetting> SettingsOf(const Manifest& manifest) const;
  // Names that are not among `known`, and settings without effect: lines for people. `urgent`: only the names that a
  // known one is near to.
  std::vector<std::string> Notes(const std::vector<const Manifest*>& known, bool urgent = false) const;
  std::vector<PolicyFile> files() const;

 private:
  std::vector<PolicyLayer> layers_;
  std::vector<DisabledForRun> disabled_;
};

// Reads the files that exist. Throws INVALID_ARGUMENT for one that is malformed, and for one that others could change
// in a process with raised privileges; NO_SUCHFILE for one that was named and doesn't exist; FAIL for one that can't be
// read.
PolicyLayers ReadPolicyLayers(const CatalogOptions& options);

}  // namespace epiphyte::core
