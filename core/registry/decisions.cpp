#include "core/registry/decisions.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>

#include <fmt/format.h>

#include "core/base/file_trust.h"
#include "core/registry/descriptor.h"
#include "core/registry/platform.h"

namespace epiphyte::core {
namespace {

namespace fs = std::filesystem;

bool IsReady(const PluginEntry& entry) { return entry.state == PluginState::kReady; }

void Set(PluginEntry* entry, PluginState state, std::string message, std::string hint = "") {
  entry->state = state;
  entry->message = std::move(message);
  entry->hint = std::move(hint);
}

// Returns null when the manifest has no library for this platform.
const std::string* LibraryForThisPlatform(const Manifest& manifest) {
  auto found = manifest.library.find(std::string(CurrentPlatform()));
  if (found == manifest.library.end()) found = manifest.library.find("");
  return found == manifest.library.end() ? nullptr : &found->second;
}

void CheckPlatform(PluginEntry* entry) {
  const std::string* library = LibraryForThisPlatform(entry->manifest);
  if (library != nullptr) {
    entry->library = (entry->manifest.path.parent_path() / *library).lexically_normal();
    return;
  }
  std::string platforms;
  std::string_view misspelled;
  for (const auto& [platform, path] : entry->manifest.library) {
    platforms += (platforms.empty() ? "" : ", ") + platform;
    if (MeansPlatform(platform, CurrentPlatform())) misspelled = platform;
  }
  Set(entry, PluginState::kWrongPlatform,
      fmt::format("the manifest has libraries for {}; this is {}", platforms, CurrentPlatform()),
      misspelled.empty() ? "install the plugin for this platform"
                         : fmt::format("if '{}' is meant to be this platform, spell it {} in the manifest", misspelled,
                                       CurrentPlatform()));
}

void CheckAbi(PluginEntry* entry, const EpHostInfo& host) {
  const uint32_t abi = entry->manifest.abi;
  if (IsSpoken(abi, host)) return;
  const bool too_new = abi > host.abi_max;
  Set(entry, too_new ? PluginState::kAbiTooNew : PluginState::kAbiTooOld,
      fmt::format("the manifest asks for ABI {}; {} is spoken here", AbiVersionName(abi), AbiRangeName(host)),
      too_new ? "update Epiphyte"
              : fmt::format("rebuild the plugin with the headers of ABI {}, or install a newer one",
                            AbiVersionName(host.abi_max)));
}

void CheckLibrary(PluginEntry* entry) {
  std::error_code error;
  const fs::path canonical = fs::canonical(entry->library, error);
  std::string problem;
  if (error) {
    problem = error == std::errc::no_such_file_or_directory ? "does not exist" : error.message();
  } else if (!fs::is_regular_file(canonical, error)) {
    problem = "is no regular file";
  }
  if (problem.empty()) {
    entry->library = canonical;
    return;
  }
  Set(entry, PluginState::kLibraryMissing, fmt::format("library '{}': {}", entry->library.string(), problem),
      "install the library or correct its path");
}

// Any user who can write a plugin decides what this process runs.
void CheckWriters(PluginEntry* entry, bool elevated, FileTrust* trust) {
  for (const fs::path& path : {entry->manifest.path, entry->library}) {
    if (path.empty()) continue;
    const std::string reason = trust->ReasonAgainstCanonical(path);
    if (reason.empty()) continue;
    const std::string what = fmt::format("others could change this plugin: {}", reason);
    entry->manifest.notes.push_back(what);
    if (elevated) {
      Set(entry, PluginState::kDenied, fmt::format("{}; a process with raised privileges doesn't load it", what),
          "install the plugin where only root can write");
    }
    return;
  }
}

void Decide(PluginEntry* entry, const PolicyLayers& policy, const EpHostInfo& host, bool elevated, FileTrust* trust) {
  const bool has_manifest = !entry->manifest.path.empty();
  if (IsReady(*entry)) {
    ApplyPolicy(entry, policy);
    if (has_manifest) CheckPlatform(entry);
    if (has_manifest && IsReady(*entry)) CheckAbi(entry, host);
    if (IsReady(*entry)) CheckPolicy(entry, policy);
    if (IsReady(*entry)) CheckLibrary(entry);
  }
  if (IsReady(*entry)) CheckWriters(entry, elevated, trust);
}

bool IsLoaded(const PluginEntry& entry) { return entry.state == PluginState::kLoaded; }

std::string NameOf(const PluginEntry& owner) {
  return owner.manifest.path.empty()
             ? fmt::format("plugin '{}', which the application registered,", owner.manifest.name)
             : fmt::format("'{}'", owner.manifest.path.string());
}

using Owners = std::map<std::string_view, const PluginEntry*>;

void ShadowNames(const std::vector<PluginEntry*>& entries) {
  Owners owners;
  for (const PluginEntry* entry : entries) {
    if (IsLoaded(*entry)) owners.emplace(entry->manifest.name, entry);
  }
  std::vector<PluginEntry*> found = entries;
  std::stable_sort(found.begin(), found.end(),
                   [](const PluginEntry* a, const PluginEntry* b) { return a->found < b->found; });
  for (PluginEntry* entry : found) {
    const bool counts = IsReady(*entry) || entry->state == PluginState::kDisabled;
    if (!counts) continue;
    const auto [owner, is_first] = owners.emplace(entry->manifest.name, entry);
    if (is_first || !IsReady(*entry)) continue;
    Set(entry, PluginState::kShadowed, fmt::format("{} has the same name and is found first", NameOf(*owner->second)),
        "remove one of the two");
  }
}

// Returns the entries that lost a source to another entry.
std::vector<PluginEntry*> ShadowSources(const std::vector<PluginEntry*>& entries) {
  std::vector<PluginEntry*> lost;
  Owners owners;
  const auto take = [&](const PluginEntry* entry) {
    for (const std::string& source : entry->manifest.sources) owners.emplace(source, entry);
  };
  for (const PluginEntry* entry : entries) {
    if (IsLoaded(*entry)) take(entry);
  }
  for (PluginEntry* entry : entries) {
    if (!IsReady(*entry)) continue;
    for (const std::string& source : entry->manifest.sources) {
      const auto owner = owners.find(source);
      if (owner == owners.end()) continue;
      Set(entry, PluginState::kShadowed,
          fmt::format("source '{}' belongs to plugin '{}', which comes first", source, owner->second->manifest.name),
          "disable one of the two, or change their priorities");
      break;
    }
    if (IsReady(*entry)) {
      take(entry);
    } else {
      lost.push_back(entry);
    }
  }
  return lost;
}

}  // namespace

void ApplyPolicy(PluginEntry* entry, const PolicyLayers& policy) {
  entry->options.clear();
  entry->option_files.clear();
  entry->pinned.clear();
  for (const PolicySetting& setting : policy.SettingsOf(entry->manifest)) {
    if (!setting.in_effect()) continue;
    if (setting.kind == PolicySetting::Kind::kPriority) entry->priority = setting.number;
    if (setting.kind != PolicySetting::Kind::kOption) continue;
    entry->options[setting.option] = setting.value;
    if (setting.file != entry->manifest.path) entry->option_files[setting.option] = setting.file;
    if (setting.pinned) entry->pinned.insert(setting.option);
  }
}

void CheckPolicy(PluginEntry* entry, const PolicyLayers& policy) {
  if (entry->manifest.name.empty()) return;
  const std::vector<PolicySetting> settings = policy.SettingsOf(entry->manifest);
  for (const PolicySetting& setting : settings) {
    if (setting.kind != PolicySetting::Kind::kDenied || !setting.in_effect()) continue;
    Set(entry, PluginState::kDenied, setting.value,
        setting.origin == "system" ? "the administrator of this machine can change that file"
                                   : fmt::format("change {}", setting.place));
    return;
  }
  for (const PolicySetting& setting : settings) {
    if (setting.kind != PolicySetting::Kind::kEnabled || !setting.in_effect() || setting.number != 0) continue;
    if (setting.origin == "manifest") {
      Set(entry, PluginState::kDisabled, "disabled in its manifest",
          "set `enabled: true` there, or in the policy file for this provider");
    } else if (setting.file.empty()) {
      Set(entry, PluginState::kDisabled,
          fmt::format("disabled for this run by {}",
                      setting.origin == "application" ? "the application" : setting.origin),
          setting.origin == "application" ? "take it out of the plugins that are to be disabled"
                                          : fmt::format("take it out of {}", setting.origin));
    } else {
      Set(entry, PluginState::kDisabled, fmt::format("disabled in {}", setting.file.string()),
          fmt::format("set providers.{}.enabled to true there", entry->manifest.name));
    }
  }
}

void DecideOne(PluginEntry* entry, const PolicyLayers& policy, const EpHostInfo& host, bool elevated) {
  FileTrust trust;
  Decide(entry, policy, host, elevated, &trust);
}

bool ComesBefore(const PluginEntry& a, const PluginEntry& b) {
  const auto rank = [](const PluginEntry& entry) {
    return std::tuple(-entry.priority, entry.manifest.fallback, std::string_view(entry.manifest.name),
                      std::string_view(entry.manifest.path.native()));
  };
  return rank(a) < rank(b);
}

// An entry that loses a source goes out of use and frees its name for another entry, which has sources too. So rounds
// are repeated; each round settles at least one entry.
void Shadow(const std::vector<PluginEntry*>& entries) {
  std::set<PluginEntry*> settled;
  for (;;) {
    for (PluginEntry* entry : entries) {
      const bool undecided = entry->state == PluginState::kShadowed && !settled.contains(entry);
      if (undecided) Set(entry, PluginState::kReady, "");
    }
    ShadowNames(entries);
    const std::vector<PluginEntry*> lost = ShadowSources(entries);
    if (lost.empty()) return;
    settled.insert(lost.begin(), lost.end());
  }
}

void DecideAll(std::vector<PluginEntry>* entries, const PolicyLayers& policy, const EpHostInfo& host, bool elevated) {
  FileTrust trust;
  size_t place = 0;
  for (PluginEntry& entry : *entries) {
    entry.found = place++;
    Decide(&entry, policy, host, elevated, &trust);
  }
  std::sort(entries->begin(), entries->end(), ComesBefore);
  std::vector<PluginEntry*> sorted;
  for (PluginEntry& entry : *entries) sorted.push_back(&entry);
  Shadow(sorted);
}

}  // namespace epiphyte::core
