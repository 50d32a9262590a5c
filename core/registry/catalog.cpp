#include "core/registry/catalog.h"

#include <algorithm>
#include <functional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/small_file.h"
#include "core/base/suggest.h"
#include "core/base/text.h"
#include "core/registry/decisions.h"
#include "core/registry/plugin_table.h"
#include "core/registry/policy_layers.h"
#include "core/registry/provider_name.h"
#include "core/registry/refusal.h"
#include "core/registry/search_paths.h"

namespace epiphyte::core {
namespace {

PluginEntry ReadEntry(const std::filesystem::path& path) {
  PluginEntry entry;
  std::string text;
  try {
    text = ReadSmallFile(path, kMaxManifestBytes);
    entry.manifest = ParseManifest(text, path);
  } catch (const Error& error) {
    entry.manifest.path = path;
    entry.manifest.name = NameInManifest(text);
    entry.state = PluginState::kBadManifest;
    entry.message = error.message();
    entry.hint = "correct or remove the manifest; its keys are described in manifest_schema.yaml";
  }
  return entry;
}

bool IsUsable(const PluginEntry& entry) {
  return entry.state == PluginState::kReady || entry.state == PluginState::kLoaded;
}

std::string Explain(const PluginEntry& entry) {
  std::string text = fmt::format("provider '{}' can't be used: {}: {}", entry.manifest.name,
                                 PluginStateName(entry.state), entry.message);
  if (!entry.hint.empty()) text += "; " + entry.hint;
  return text;
}

// Tool that explains the state: the plugin list for a decision, probing for a problem of the library.
Hint HintAbout(PluginState state) {
  const bool decided =
      state == PluginState::kDenied || state == PluginState::kDisabled || state == PluginState::kShadowed;
  return decided ? Hint::kListPlugins : Hint::kProbePlugins;
}

void Refuse(PluginEntry* entry, const Refusal& refusal) {
  entry->state = refusal.state();
  entry->message = PrintableLine(refusal.message());
  entry->hint = PrintableLine(refusal.hint());
}

[[noreturn]] void FailToRegister(PluginState state, std::string_view message, std::string_view hint) {
  Fail(StatusCode::kEpFail, "plugin can't be registered: {}: {}{}{}", PluginStateName(state), PrintableLine(message),
       hint.empty() ? "" : "; ", PrintableLine(hint));
}

// Part of a message that names the manifest, because several may have one name.
std::string Place(const PluginEntry& entry) {
  return entry.manifest.path.empty() ? "" : fmt::format(" of '{}'", entry.manifest.path.string());
}

// Applies a manifest's rules for names and digests to values that the application gave.
void CheckSpelling(Manifest* manifest) {
  if (!manifest->name.empty() && !IsProviderName(manifest->name)) {
    Fail(StatusCode::kInvalidArgument, "'{}' is no plugin's name; 1 to 64 letters, digits, '_' or '-' expected",
         PrintableLine(manifest->name, 64));
  }
  if (!manifest->sha256.empty() && !NormalizeSha256(&manifest->sha256)) {
    Fail(StatusCode::kInvalidArgument, "'{}' is no SHA-256; 64 hexadecimal digits expected, as sha256sum prints them",
         PrintableLine(manifest->sha256, 80));
  }
}

bool ShareSource(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

}  // namespace

struct Catalog::Impl {
  struct Item {
    PluginEntry entry;
    const LoadedPlugin* plugin = nullptr;
  };

  // Returns null when no manifest has that name. Of several, returns the usable one, else the first that isn't
  // shadowed.
  Item* Find(std::string_view name);
  // Same as Open, but tries the next plugin of that name when one fails. `failed` is the first that failed, or the one
  // that can't be used.
  const LoadedPlugin* OpenByName(std::string_view name, Item** failed, const StepObserver& observer = {});
  // Determines again which entries are shadowed.
  void Reconsider();
  // Manifests of all known plugins.
  std::vector<const Manifest*> Manifests() const;
  // Runs once, when the first plugin is requested: until then an application may add plugins.
  void LogPolicyNotes();
  // Returns null, with the reason in the entry, when the plugin can't be used.
  const LoadedPlugin* Open(Item* item, const StepObserver& observer = {});
  [[noreturn]] void FailUnknown(std::string_view name) const;
  // Throws when a plugin in use has the name or a source of the plugin to be registered.
  void CheckFree(const PluginFacts& facts) const;
  // Acquires a plugin that is to be registered and enters it. `acquire` gets the check of the plugin's facts. `wanted`
  // holds the facts known beforehand, including the name if the plugin must have a certain one.
  const PluginEntry& Enter(PluginEntry wanted,
                           const std::function<const LoadedPlugin&(const FactsCheck& check)>& acquire);

  const EpHostInfo* host = nullptr;
  PolicyLayers policy;
  bool elevated = false;
  bool notes_logged = false;
  std::vector<SearchedFolder> folders;
  mutable std::mutex mutex;
  std::vector<Item> items;  // all entries, in the total order
};

Catalog::Impl::Item* Catalog::Impl::Find(std::string_view name) {
  const auto rank = [](const Item& item) {
    return std::pair(item.entry.state == PluginState::kShadowed, item.entry.found);
  };
  Item* found = nullptr;
  for (Item& item : items) {
    if (item.entry.manifest.name != name) continue;
    if (IsUsable(item.entry)) return &item;
    if (found == nullptr || rank(item) < rank(*found)) found = &item;
  }
  return found;
}

void Catalog::Impl::Reconsider() {
  std::vector<PluginEntry*> entries;
  for (Item& item : items) entries.push_back(&item.entry);
  Shadow(entries);
}

std::vector<const Manifest*> Catalog::Impl::Manifests() const {
  std::vector<const Manifest*> manifests;
  for (const Item& item : items) manifests.push_back(&item.entry.manifest);
  return manifests;
}

void Catalog::Impl::LogPolicyNotes() {
  if (std::exchange(notes_logged, true)) return;
  const std::vector<std::string> urgent = policy.Notes(Manifests(), /*urgent=*/true);
  for (const std::string& note : policy.Notes(Manifests())) {
    const bool is_urgent = std::find(urgent.begin(), urgent.end(), note) != urgent.end();
    Log(is_urgent ? LogLevel::kWarning : LogLevel::kInfo, "registry", "{}", note);
  }
}

const LoadedPlugin* Catalog::Impl::OpenByName(std::string_view name, Item** failed, const StepObserver& observer) {
  *failed = nullptr;
  LogPolicyNotes();
  for (;;) {
    Item* item = Find(name);
    if (item == nullptr) return nullptr;
    const bool usable = IsUsable(item->entry);
    if (const LoadedPlugin* plugin = Open(item, observer)) {
      if (*failed != nullptr) {
        Log(LogLevel::kWarning, "registry", "plugin '{}'{} is used in place of the one{}: {}", name, Place(item->entry),
            Place((*failed)->entry), Explain((*failed)->entry));
      }
      return plugin;
    }
    if (*failed == nullptr) *failed = item;
    if (!usable) return nullptr;
  }
}

const LoadedPlugin* Catalog::Impl::Open(Item* item, const StepObserver& observer) {
  PluginEntry& entry = item->entry;
  if (item->plugin != nullptr && !item->plugin->IsUsableHere()) {
    Refuse(&entry, Refusal(PluginState::kInitFailed, "it was loaded before fork(), by the parent process",
                           "load it after fork(), or start the child as a new program (spawn instead of fork)"));
    item->plugin = nullptr;
    Reconsider();
  }
  if (entry.state != PluginState::kReady) return item->plugin;
  try {
    item->plugin = &AcquirePlugin(entry.library, entry.manifest, *host, observer);
    entry.state = PluginState::kLoaded;
  } catch (const Refusal& refusal) {
    Refuse(&entry, refusal);
    Log(LogLevel::kInfo, "registry", "{}", Explain(entry));
  } catch (const Error& error) {
    Refuse(&entry, Refusal(PluginState::kInitFailed, error.message()));
  }
  if (item->plugin == nullptr) Reconsider();
  return item->plugin;
}

void Catalog::Impl::FailUnknown(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const Item& item : items) {
    if (!item.entry.manifest.name.empty()) names.push_back(item.entry.manifest.name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const std::string_view nearest = Nearest(name, names);
  FailHinting(Hint::kListPlugins, StatusCode::kNotFound, "no plugin named '{}' is installed{}; installed: {}",
              PrintableLine(name, 64), nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest),
              names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

void Catalog::Impl::CheckFree(const PluginFacts& facts) const {
  for (const Item& item : items) {
    const Manifest& manifest = item.entry.manifest;
    if (item.plugin == nullptr) continue;
    if (manifest.name != facts.name && !ShareSource(manifest.sources, facts.sources)) continue;
    Fail(StatusCode::kInvalidArgument,
         "plugin '{}' can't be registered: '{}' is in use and has the same name or a source of it; register plugins "
         "before the first one is loaded, and each once",
         facts.name, manifest.name);
  }
}

const PluginEntry& Catalog::Impl::Enter(PluginEntry wanted,
                                        const std::function<const LoadedPlugin&(const FactsCheck& check)>& acquire) {
  PluginEntry entry = std::move(wanted);
  const auto check = [&](const PluginFacts& facts) {
    if (!entry.manifest.name.empty() && entry.manifest.name != facts.name) {
      throw Refusal(
          PluginState::kManifestMismatch,
          fmt::format("the library says its name is '{}', '{}' was asked for", facts.name, entry.manifest.name),
          "name the library of that plugin");
    }
    entry.manifest.name = facts.name;
    entry.manifest.vendor = facts.vendor;
    entry.manifest.version = facts.version;
    entry.manifest.sources = facts.sources;
    ApplyPolicy(&entry, policy);
    CheckPolicy(&entry, policy);
    if (!IsUsable(entry)) throw Refusal(entry.state, entry.message, entry.hint);
    CheckFree(facts);
  };
  if (!IsUsable(entry)) FailToRegister(entry.state, entry.message, entry.hint);
  const LoadedPlugin* plugin = nullptr;
  try {
    plugin = &acquire(check);
  } catch (const Refusal& refusal) {
    FailToRegister(refusal.state(), refusal.message(), refusal.hint());
  }
  entry.state = PluginState::kLoaded;
  entry.manifest.abi = plugin->descriptor->abi_version;
  entry.library = plugin->library;
  const auto place =
      std::find_if(items.begin(), items.end(), [&](const Item& item) { return ComesBefore(entry, item.entry); });
  const auto entered = items.insert(place, {std::move(entry), plugin});
  Reconsider();
  return entered->entry;
}

Catalog::Catalog(CatalogOptions options, const EpHostInfo* host) : impl_(std::make_unique<Impl>()) {
  impl_->host = host;
  impl_->elevated = options.elevated;
  impl_->policy = ReadPolicyLayers(options);
  Search search = FindManifests(options);
  impl_->folders = std::move(search.folders);

  std::vector<PluginEntry> entries;
  entries.reserve(search.manifests.size());
  for (const std::filesystem::path& path : search.manifests) entries.push_back(ReadEntry(path));
  DecideAll(&entries, impl_->policy, *host, options.elevated);
  for (PluginEntry& entry : entries) {
    for (const std::string& note : entry.manifest.notes) Log(LogLevel::kInfo, "registry", "{}", note);
    impl_->items.push_back({std::move(entry), nullptr});
  }
}

Catalog::~Catalog() {
  for (const Impl::Item& item : impl_->items) {
    if (item.plugin != nullptr) ReleasePlugin(*item.plugin);
  }
}

std::vector<PluginEntry> Catalog::entries() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  std::vector<PluginEntry> entries;
  entries.reserve(impl_->items.size());
  for (const Impl::Item& item : impl_->items) entries.push_back(item.entry);
  return entries;
}

const std::vector<SearchedFolder>& Catalog::folders() const { return impl_->folders; }

PolicyReport Catalog::policy() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  PolicyReport report;
  report.files = impl_->policy.files();
  std::set<std::string> seen;
  for (const Manifest* manifest : impl_->Manifests()) {
    if (manifest->name.empty() || !seen.insert(manifest->name).second) continue;
    const Manifest& used = impl_->Find(manifest->name)->entry.manifest;
    for (PolicySetting& setting : impl_->policy.SettingsOf(used)) report.settings.push_back(std::move(setting));
  }
  report.notes = impl_->policy.Notes(impl_->Manifests());
  return report;
}

const LoadedPlugin& Catalog::Load(std::string_view name) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  Impl::Item* failed = nullptr;
  const LoadedPlugin* plugin = impl_->OpenByName(name, &failed);
  if (plugin != nullptr) return *plugin;
  if (failed == nullptr) impl_->FailUnknown(name);
  // Repeated calls give the same answer: the entry found first, regardless of when it was tried.
  const PluginEntry& entry = impl_->Find(name)->entry;
  throw Error(StatusCode::kEpFail, Explain(entry), HintAbout(entry.state));
}

const LoadedPlugin* Catalog::TryLoad(std::string_view name, const StepObserver& observer) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  Impl::Item* failed = nullptr;
  return impl_->OpenByName(name, &failed, observer);
}

void Catalog::Register(EpPluginQueryFunction query, int64_t priority) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  PluginEntry entry;
  entry.manifest.priority = priority;
  impl_->Enter(std::move(entry), [&](const FactsCheck& check) -> const LoadedPlugin& {
    return AcquirePlugin(query, *impl_->host, check);
  });
}

PluginEntry Catalog::Add(const PluginLibrary& library) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  PluginEntry entry;
  entry.manifest.name = library.name;
  entry.manifest.sha256 = library.sha256;
  entry.manifest.depends = library.depends;
  entry.manifest.priority = library.priority;
  entry.manifest.fallback = library.fallback;
  entry.manifest.options = library.options;
  std::error_code ignored;
  entry.library = std::filesystem::absolute(library.path, ignored);
  CheckSpelling(&entry.manifest);
  DecideOne(&entry, impl_->policy, *impl_->host, impl_->elevated);
  for (const std::string& note : entry.manifest.notes) Log(LogLevel::kInfo, "registry", "{}", note);
  const std::filesystem::path path = entry.library;
  const Manifest manifest = entry.manifest;
  return impl_->Enter(std::move(entry), [&](const FactsCheck& check) -> const LoadedPlugin& {
    return AcquirePlugin(path, manifest, *impl_->host, {}, check);
  });
}

std::string Catalog::OwnerOfSource(std::string_view source) const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  for (const Impl::Item& item : impl_->items) {
    const std::vector<std::string>& sources = item.entry.manifest.sources;
    if (IsUsable(item.entry) && std::find(sources.begin(), sources.end(), source) != sources.end()) {
      return item.entry.manifest.name;
    }
  }
  return "";
}

}  // namespace epiphyte::core
