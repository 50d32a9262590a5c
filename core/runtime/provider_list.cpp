#include "core/runtime/provider_list.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/log.h"

namespace epiphyte::core {
namespace {

bool IsUsable(const PluginEntry& entry) {
  return entry.state == PluginState::kReady || entry.state == PluginState::kLoaded;
}

// Takes the host's option out of the provider's: "1", or "0,2".
std::vector<uint32_t> TakeDevices(const LoadedPlugin& plugin, std::map<std::string, std::string>* options) {
  const auto option = options->find(std::string(kDeviceOption));
  if (option == options->end()) {
    const std::vector<Device>& known = plugin.devices;
    const auto is_here = [](const Device& device) { return !device.compile_only && !device.lost; };
    auto usable = std::find_if(known.begin(), known.end(),
                               [&](const Device& device) { return is_here(device) && !device.software; });
    if (usable == known.end()) usable = std::find_if(known.begin(), known.end(), is_here);
    return {usable == known.end() ? 0 : static_cast<uint32_t>(usable - known.begin())};
  }
  const std::string text = option->second;
  options->erase(option);
  std::vector<uint32_t> devices;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    uint32_t index = 0;
    const auto parsed = std::from_chars(at, end, index);
    if (parsed.ec != std::errc() || (parsed.ptr != end && *parsed.ptr != ',')) {
      Fail(StatusCode::kInvalidArgument,
           "provider '{}': option '{}' is '{}', expected a number from 0, or several with commas between them",
           plugin.name, kDeviceOption, text);
    }
    devices.push_back(index);
    if (parsed.ptr == end) return devices;
    at = parsed.ptr + 1;
  }
}

bool IsSoftware(const LoadedPlugin& plugin, uint32_t device) {
  return device < plugin.devices.size() && plugin.devices[device].software;
}

// What the plugin gets of the options, which `from_session` gave or else the policy file: the manifest's are known to
// fit.
void FitOptions(const LoadedPlugin& plugin, const std::set<std::string>& from_session,
                const std::map<std::string, std::filesystem::path>& policy_files,
                std::map<std::string, std::string>* options) {
  if (!plugin.options) return;
  if (const auto wrong = FindWrong(*plugin.options, *options)) {
    const auto policy = policy_files.find(wrong->name);
    const bool is_policys = !from_session.contains(wrong->name) && policy != policy_files.end();
    Fail(StatusCode::kInvalidArgument, "provider '{}': {}{} {}", plugin.name, wrong->subject,
         is_policys ? fmt::format(" of the policy file '{}'", policy->second.string()) : "", wrong->problem);
  }
  Complete(*plugin.options, options);
}

class Chooser {
 public:
  Chooser(Catalog& catalog, const SessionConfig& config) : catalog_(catalog), config_(config) {}

  std::vector<ChosenProvider> Choose() {
    for (const ProviderChoice& choice : config_.providers) {
      if (!listed_.insert(choice.name).second) {
        Fail(StatusCode::kInvalidArgument, "provider '{}' is listed twice; list each once, in order of priority",
             choice.name);
      }
      Add(catalog_.Load(choice.name), &choice);
    }
    LoadUnlisted();
    bool has_fallback = false;
    for (const PluginEntry& entry : catalog_.entries()) {
      if (entry.state != PluginState::kLoaded || !MayJoin(entry)) continue;
      if (entry.manifest.fallback && std::exchange(has_fallback, true)) continue;
      const auto add = [&] { Add(catalog_.Load(entry.manifest.name), nullptr); };
      // What everything falls back on isn't left out because of its options.
      if (entry.manifest.fallback) {
        add();
      } else {
        TryUnlisted(entry.manifest.name, add);
      }
    }
    CheckNames();
    if (chosen_.empty()) {
      FailHinting(Hint::kProbePlugins, StatusCode::kNotFound,
                  "no usable provider is installed{}; the catalog of plugins says what was found", WhyNone());
    }
    return std::move(chosen_);
  }

 private:
  bool HasOptions(const std::string& name) const { return config_.provider_options.contains(name); }

  // Whether the session may use a plugin that it doesn't list.
  bool MayJoin(const PluginEntry& entry) const {
    if (listed_.contains(entry.manifest.name)) return false;
    if (entry.manifest.fallback) return !config_.disable_fallback;
    return config_.providers.empty();
  }

  // Opens what may join. One that fails may leave its name or a source to another, which is then opened in its place;
  // so the catalog is read again until there is nothing new. Of the fallback providers one is enough.
  void LoadUnlisted() {
    std::set<std::string> failed;
    for (bool more = true; more;) {
      more = false;
      bool has_fallback = false;
      for (const PluginEntry& entry : catalog_.entries()) {
        const std::string& name = entry.manifest.name;
        if (!IsUsable(entry) || !MayJoin(entry) || failed.contains(name)) continue;
        if (entry.manifest.fallback && has_fallback) continue;
        if (entry.state == PluginState::kReady) {
          if (!TryUnlisted(name, [&] { catalog_.Load(name); })) failed.insert(name);
          more = true;
          break;
        }
        has_fallback = has_fallback || entry.manifest.fallback;
      }
    }
  }

  // Whether it went well for a provider that nobody listed. One that was given options ends the session with its error.
  template <typename Call>
  bool TryUnlisted(const std::string& name, const Call& call) {
    try {
      call();
      return true;
    } catch (const Error& error) {
      if (HasOptions(name)) throw;
      if (first_failure_.empty()) first_failure_ = error.message();
      Log(LogLevel::kWarning, "session", "provider '{}' is left out: {}", name, error.message());
      return false;
    }
  }

  void Add(const LoadedPlugin& plugin, const ProviderChoice* choice) {
    ChosenProvider provider;
    provider.plugin = &plugin;
    provider.listed = choice != nullptr;
    if (choice != nullptr) provider.options = choice->options;
    if (const auto given = config_.provider_options.find(plugin.name); given != config_.provider_options.end()) {
      provider.has_options = true;
      provider.options.insert(given->second.begin(), given->second.end());
    }
    std::set<std::string> from_session;
    for (const auto& [key, value] : provider.options) from_session.insert(key);
    std::map<std::string, std::filesystem::path> policy_files;
    for (const PluginEntry& entry : catalog_.entries()) {
      if (entry.state != PluginState::kLoaded || entry.manifest.name != plugin.name) continue;
      provider.fallback = entry.manifest.fallback;
      AddEntryOptions(entry, &provider.options);
      policy_files = entry.option_files;
    }
    const bool asked = provider.listed || provider.has_options || provider.options.contains(std::string(kDeviceOption));
    provider.devices = TakeDevices(plugin, &provider.options);
    if (!asked && IsSoftware(plugin, provider.devices[0])) {
      Log(LogLevel::kInfo, "session",
          "provider '{}' is left out: its device '{}' is emulated by the CPU; list it to use it", plugin.name,
          plugin.devices[provider.devices[0]].name);
      return;
    }
    FitOptions(plugin, from_session, policy_files, &provider.options);
    chosen_.push_back(std::move(provider));
  }

  void CheckNames() const {
    for (const auto& [name, unused] : config_.provider_options) {
      const bool used = std::any_of(chosen_.begin(), chosen_.end(), [&, &name = name](const ChosenProvider& provider) {
        return provider.plugin->name == name;
      });
      if (used) continue;
      FailHinting(Hint::kListPlugins, StatusCode::kInvalidArgument,
                  "options were given for provider '{}', which this session doesn't use{}", name, WhyUnused(name));
    }
  }

  // " (…)": what failed first, or else why the fallback isn't used; "" when there is nothing to say.
  std::string WhyNone() const {
    if (!first_failure_.empty()) return fmt::format(" ({})", first_failure_);
    for (const PluginEntry& entry : catalog_.entries()) {
      if (!entry.manifest.fallback || IsUsable(entry)) continue;
      return fmt::format(" ({}: {}: {})", entry.manifest.name, PluginStateName(entry.state), entry.message);
    }
    return "";
  }

  std::string WhyUnused(const std::string& name) const {
    for (const PluginEntry& entry : catalog_.entries()) {
      if (entry.manifest.name != name || entry.state == PluginState::kShadowed) continue;
      if (IsUsable(entry)) return "; add it to the session's providers";
      return fmt::format(" because it can't: {}: {}", PluginStateName(entry.state), entry.message);
    }
    return "; the catalog of plugins lists the installed ones";
  }

  Catalog& catalog_;
  const SessionConfig& config_;
  std::set<std::string> listed_;
  std::vector<ChosenProvider> chosen_;
  std::string first_failure_;
};

}  // namespace

std::vector<ChosenProvider> ChooseProviders(Catalog& catalog, const SessionConfig& config) {
  return Chooser(catalog, config).Choose();
}

std::string ProviderSlot::DeviceNames() const {
  std::string names;
  for (const uint32_t device : devices) {
    if (device < plugin->devices.size()) names += (names.empty() ? "" : ", ") + plugin->devices[device].name;
  }
  return names;
}

const Device* ProviderSlot::AbsentDevice() const {
  for (const uint32_t device : devices) {
    if (device < plugin->devices.size() && plugin->devices[device].compile_only) return &plugin->devices[device];
  }
  return nullptr;
}

std::vector<ProviderSlot> MakeProviders(Catalog& catalog, const SessionConfig& config, ThreadPool* thread_pool,
                                        bool context_enabled, const ShareMembership& share,
                                        const ProgressFunction& progress, SpanSink* spans, Devices* memories) {
  std::vector<ProviderSlot> slots;
  for (ChosenProvider& chosen : ChooseProviders(catalog, config)) {
    ProviderConfig config;
    config.options = std::move(chosen.options);
    config.thread_pool = thread_pool;
    config.devices = chosen.devices;
    config.context_enabled = context_enabled;
    config.progress = progress;
    config.spans = spans;
    config.share = share;
    ProviderSlot slot;
    slot.plugin = chosen.plugin;
    slot.listed = chosen.listed;
    slot.fallback = chosen.fallback;
    slot.devices = std::move(chosen.devices);
    slot.options = config.options;
    try {
      if (const Device* absent = slot.AbsentDevice(); absent != nullptr && !context_enabled) {
        Fail(StatusCode::kInvalidArgument,
             "provider '{}': device '{}' is not here, so nothing can run on it; compile a context model for it "
             "(ep.context_enable=1), or choose another device",
             chosen.plugin->name, absent->name);
      }
      slot.provider = Provider::Create(*chosen.plugin, config);
      for (const uint32_t device : slot.devices) {
        if (memories == nullptr || slot.AbsentDevice() != nullptr) continue;
        if (PluginDevice* found = memories->Find(*chosen.plugin, device)) slot.with_memory.push_back(found);
      }
    } catch (const Error& error) {
      if (chosen.listed || chosen.has_options || chosen.fallback) throw;
      Log(LogLevel::kWarning, "session", "provider '{}' is left out: {}", chosen.plugin->name, error.message());
      continue;
    }
    slots.push_back(std::move(slot));
  }
  if (slots.empty()) {
    FailHinting(Hint::kProbePlugins, StatusCode::kNotFound,
                "no installed provider works; the catalog of plugins says what is wrong with each");
  }
  return slots;
}

}  // namespace epiphyte::core
