#include "core/registry/policy_layers.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/file_trust.h"
#include "core/base/suggest.h"
#include "core/base/text.h"

namespace epiphyte::core {
namespace {

using Kind = PolicySetting::Kind;

constexpr const char* kManifestOrigin = "manifest";  // or the application's facts about a library without a manifest

// Collects all settings of one provider, first to last. Each setting overrides the earlier one unless that is pinned.
class SettingList {
 public:
  explicit SettingList(std::string provider) : provider_(std::move(provider)) {}

  void Add(PolicySetting setting) {
    setting.provider = provider_;
    const auto [slot, is_new] = winners_.try_emplace({setting.kind, setting.option}, settings_.size());
    if (!is_new) {
      PolicySetting& before = settings_[slot->second];
      if (before.pinned || setting.kind == Kind::kDenied) {
        setting.overridden_by = before.place;
      } else {
        before.overridden_by = setting.place;
        slot->second = settings_.size();
      }
    }
    settings_.push_back(std::move(setting));
  }
  std::vector<PolicySetting> Take() { return std::move(settings_); }

 private:
  std::string provider_;
  std::map<std::pair<Kind, std::string>, size_t> winners_;
  std::vector<PolicySetting> settings_;
};

PolicySetting MakeSetting(Kind kind, std::string value, std::string origin, const std::filesystem::path& file,
                          std::string place) {
  PolicySetting setting;
  setting.kind = kind;
  setting.value = std::move(value);
  setting.origin = std::move(origin);
  setting.file = file;
  setting.place = place.empty() ? file.string() : std::move(place);
  return setting;
}

PolicySetting MakePriority(int64_t priority, std::string origin, const std::filesystem::path& file, std::string place) {
  PolicySetting setting =
      MakeSetting(Kind::kPriority, fmt::format("{}", priority), std::move(origin), file, std::move(place));
  setting.number = priority;
  return setting;
}

PolicySetting MakeEnabled(bool enabled, std::string origin, const std::filesystem::path& file, std::string place) {
  PolicySetting setting =
      MakeSetting(Kind::kEnabled, enabled ? "true" : "false", std::move(origin), file, std::move(place));
  setting.number = enabled ? 1 : 0;
  return setting;
}

PolicySetting MakeOption(const std::string& key, const std::string& value, bool pinned, std::string origin,
                         const std::filesystem::path& file, std::string place) {
  PolicySetting setting = MakeSetting(Kind::kOption, value, std::move(origin), file, std::move(place));
  setting.option = key;
  setting.pinned = pinned;
  return setting;
}

void AddManifest(const Manifest& manifest, SettingList* list) {
  const std::string place = manifest.path.empty() ? "the application" : manifest.path.string();
  list->Add(MakeEnabled(manifest.enabled, kManifestOrigin, manifest.path, place));
  list->Add(MakePriority(manifest.priority, kManifestOrigin, manifest.path, place));
  for (const auto& [key, value] : manifest.options) {
    list->Add(MakeOption(key, value, /*pinned=*/false, kManifestOrigin, manifest.path, place));
  }
}

void AddLayer(const PolicyLayer& layer, const std::string& name, SettingList* list) {
  const Policy& policy = layer.policy;
  const std::string& origin = layer.file.origin;
  const auto place = [&](const std::string& key) {
    const auto found = policy.places.find("providers." + name + "." + key);
    return found == policy.places.end() ? "" : found->second;
  };
  if (std::string reason = policy.ReasonToDeny(name); !reason.empty()) {
    list->Add(MakeSetting(Kind::kDenied, std::move(reason), origin, policy.path, policy.PlaceOfDenial(name)));
  }
  const ProviderPolicy* provider = policy.Find(name);
  if (provider == nullptr) return;
  if (layer.defaults) {
    if (provider->enabled) list->Add(MakeEnabled(*provider->enabled, origin, policy.path, place("enabled")));
    if (provider->priority) list->Add(MakePriority(*provider->priority, origin, policy.path, place("priority")));
    for (const auto& [key, value] : provider->options) {
      list->Add(MakeOption(key, value, /*pinned=*/false, origin, policy.path, place("options." + key)));
    }
  }
  for (const auto& [key, value] : provider->pinned) {
    list->Add(MakeOption(key, value, /*pinned=*/true, origin, policy.path, place("pinned." + key)));
  }
}

// Provider name in a key of `places`: "providers.npu", "allow.npu", "deny.npu".
std::string_view NameInPlace(std::string_view key) {
  const size_t dot = key.find('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view name = key.substr(dot + 1);
  return name.find('.') == std::string_view::npos ? name : std::string_view();
}

std::string WhatIsSet(const PolicySetting& setting) {
  switch (setting.kind) {
    case Kind::kPriority: return "priority";
    case Kind::kEnabled: return "enabled";
    case Kind::kOption: return fmt::format("option '{}'", setting.option);
    case Kind::kDenied: return "deny";
  }
  return "";
}

// Adds notes on settings that a pinned setting or a denial overrides with a different value.
void AddIneffective(const std::vector<PolicySetting>& settings, std::vector<std::string>* notes) {
  std::map<std::string, const PolicySetting*> pinned;
  const PolicySetting* denied = nullptr;
  for (const PolicySetting& setting : settings) {
    if (setting.kind == Kind::kDenied && denied == nullptr) denied = &setting;
    if (setting.pinned && setting.in_effect()) pinned.emplace(setting.option, &setting);
  }
  for (const PolicySetting& setting : settings) {
    if (setting.kind == Kind::kOption && !setting.in_effect()) {
      const auto pin = pinned.find(setting.option);
      if (pin == pinned.end() || pin->second->place != setting.overridden_by || pin->second->value == setting.value)
        continue;
      if (setting.origin == kManifestOrigin) continue;
      notes->push_back(fmt::format("{}: {} of '{}' has no effect: {} pins it to '{}'", setting.place,
                                   WhatIsSet(setting), setting.provider, pin->second->place, pin->second->value));
    }
    const bool asks_for_it = setting.kind == Kind::kEnabled && setting.number != 0 && setting.origin != kManifestOrigin;
    if (denied != nullptr && asks_for_it) {
      notes->push_back(
          fmt::format("{}: enabling '{}' has no effect: {}", setting.place, setting.provider, denied->value));
    }
  }
}

}  // namespace

std::vector<PolicySetting> PolicyLayers::SettingsOf(const Manifest& manifest) const {
  SettingList list(manifest.name);
  AddManifest(manifest, &list);
  if (manifest.name.empty()) return list.Take();
  for (const PolicyLayer& layer : layers_) AddLayer(layer, manifest.name, &list);
  for (const DisabledForRun& disabled : disabled_) {
    if (disabled.name == manifest.name) list.Add(MakeEnabled(false, disabled.origin, {}, disabled.origin));
  }
  return list.Take();
}

std::vector<std::string> PolicyLayers::Notes(const std::vector<const Manifest*>& known, bool urgent) const {
  std::vector<std::string_view> names;
  for (const Manifest* manifest : known) {
    if (!manifest->name.empty()) names.push_back(manifest->name);
  }
  std::vector<std::string> notes;
  const auto check = [&](std::string_view place, std::string_view name) {
    if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) return;
    const std::string_view nearest = Nearest(name, names);
    if (urgent && nearest.empty()) return;
    notes.push_back(fmt::format("{}: no plugin named '{}' is installed{}", place, PrintableLine(name, 64),
                                nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
  };
  for (const PolicyLayer& layer : layers_) {
    for (const auto& [key, place] : layer.policy.places) check(place, NameInPlace(key));
  }
  for (const DisabledForRun& disabled : disabled_) {
    check(disabled.origin == "application" ? "disabled for this run" : disabled.origin, disabled.name);
  }
  if (urgent) return notes;
  std::set<std::string_view> seen;
  for (const Manifest* manifest : known) {
    if (seen.insert(manifest->name).second) AddIneffective(SettingsOf(*manifest), &notes);
  }
  FileTrust trust;
  for (const PolicyLayer& layer : layers_) {
    if (!layer.file.exists) continue;
    const std::string reason = trust.ReasonAgainst(layer.file.path);
    if (!reason.empty()) notes.push_back(fmt::format("others could change this policy: {}", reason));
  }
  return notes;
}

std::vector<PolicyFile> PolicyLayers::files() const {
  std::vector<PolicyFile> files;
  for (const PolicyLayer& layer : layers_) files.push_back(layer.file);
  return files;
}

PolicyLayers ReadPolicyLayers(const CatalogOptions& options) {
  std::vector<PolicyLayer> layers;
  for (PolicyFile& file : FindPolicyFiles(options)) {
    PolicyLayer layer;
    layer.defaults = file.origin != "system" || options.use_system_folders;
    if (file.exists && options.elevated) {
      if (const std::string reason = FileTrust().ReasonAgainst(file.path); !reason.empty()) {
        Fail(StatusCode::kInvalidArgument,
             "policy file '{}': others could change it: {}; a process with raised privileges needs a policy file of "
             "root",
             file.path.string(), reason);
      }
    }
    if (file.exists) layer.policy = ReadPolicy(file.path);
    layer.file = std::move(file);
    layers.push_back(std::move(layer));
  }
  return {std::move(layers), FindDisabled(options)};
}

}  // namespace epiphyte::core
