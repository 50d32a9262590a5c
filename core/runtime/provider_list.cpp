#include "core/runtime/provider_list.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "core/base/error.h"
#include "core/base/log.h"

namespace epiphyte::core {
namespace {

// Option `device` of any provider: an index into the devices its plugin reports.
uint32_t DeviceIndex(const std::string& provider, const std::map<std::string, std::string>& options) {
  auto option = options.find("device");
  if (option == options.end()) return 0;
  uint32_t index = 0;
  const std::string& text = option->second;
  auto parsed = std::from_chars(text.data(), text.data() + text.size(), index);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    Fail(StatusCode::kInvalidArgument, "provider '{}': option 'device' is '{}', expected a number from 0", provider,
         text);
  }
  return index;
}

}  // namespace

std::vector<ProviderSlot> MakeProviders(Catalog& catalog, const SessionOptions& options, ThreadPool* thread_pool,
                                        bool context_enabled, const ShareMembership& share,
                                        const ProgressFunction& progress) {
  std::vector<PluginEntry> entries = catalog.entries();
  auto usable = [](const PluginEntry& entry) {
    return entry.state == PluginState::kReady || entry.state == PluginState::kLoaded;
  };
  auto entry_of = [&](std::string_view name) -> const PluginEntry* {
    auto found = std::find_if(entries.begin(), entries.end(),
                              [&](const PluginEntry& entry) { return usable(entry) && entry.manifest.name == name; });
    return found == entries.end() ? nullptr : &*found;
  };
  std::vector<ProviderSlot> slots;
  auto add = [&](const LoadedPlugin& plugin, std::map<std::string, std::string> chosen, bool listed) {
    ProviderSlot slot;
    slot.plugin = &plugin;
    slot.listed = listed;
    const PluginEntry* entry = entry_of(plugin.name);
    slot.fallback = entry != nullptr && entry->manifest.fallback;
    ProviderConfig config;
    config.options = std::move(chosen);
    auto given = options.provider_options.find(plugin.name);
    if (given != options.provider_options.end()) config.options.insert(given->second.begin(), given->second.end());
    if (entry != nullptr) config.options.insert(entry->options.begin(), entry->options.end());
    config.thread_pool = thread_pool;
    config.device = slot.device_index = DeviceIndex(plugin.name, config.options);
    config.context_enabled = context_enabled;
    config.progress = progress;
    config.share = share;
    slot.provider = Provider::Create(plugin, config);
    slots.push_back(std::move(slot));
  };

  std::set<std::string> names;
  for (const ProviderChoice& choice : options.providers) {
    if (!names.insert(choice.name).second) {
      Fail(StatusCode::kInvalidArgument, "provider '{}' is listed twice; list each once, in order of priority",
           choice.name);
    }
    add(catalog.Load(choice.name), choice.options, true);
  }
  bool want_fallback = !options.GetBool("session.disable_cpu_ep_fallback");
  const PluginEntry* fallback = nullptr;
  for (const PluginEntry& entry : entries) {
    if (!usable(entry) || names.contains(entry.manifest.name)) continue;
    if (entry.manifest.fallback) {
      if (fallback == nullptr) fallback = &entry;
      continue;
    }
    if (!options.providers.empty()) continue;
    try {
      add(catalog.Load(entry.manifest.name), {}, false);
    } catch (const Error& error) {
      Log(LogLevel::kWarning, "session", "provider '{}' is left out: {}", entry.manifest.name, error.message());
    }
  }
  if (want_fallback && fallback != nullptr) add(catalog.Load(fallback->manifest.name), {}, false);
  for (const auto& [name, unused] : options.provider_options) {
    if (std::none_of(slots.begin(), slots.end(),
                     [&, &name = name](const ProviderSlot& slot) { return slot.plugin->name == name; })) {
      Fail(StatusCode::kInvalidArgument,
           "options were given for provider '{}', which this session doesn't use; list it, or see `epiphyte plugins` "
           "for the installed ones",
           name);
    }
  }
  if (slots.empty()) {
    Fail(StatusCode::kNotFound,
         "no usable provider is installed; run `epiphyte doctor` to see what was found and why it can't be used");
  }
  return slots;
}

}  // namespace epiphyte::core
