#include "core/runtime/provider_list.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/log.h"

namespace epiphyte::core {
namespace {

bool IsUsable(const PluginEntry& entry) {
  return entry.state == PluginState::kReady || entry.state == PluginState::kLoaded;
}

// The options that the session gives to a provider; a listed provider's own options come first. Empty when it gives
// none.
std::optional<OptionMap> GivenOptions(const SessionConfig& config, const std::string& name) {
  std::optional<OptionMap> given;
  const auto listed = std::find_if(config.providers.begin(), config.providers.end(),
                                   [&](const ProviderChoice& choice) { return choice.name == name; });
  if (listed != config.providers.end() && !listed->options.empty()) given = listed->options;
  if (const auto more = config.provider_options.find(name); more != config.provider_options.end()) {
    if (!given) given.emplace();
    given->insert(more->second.begin(), more->second.end());
  }
  return given;
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
      Add(catalog_.Load(choice.name), /*listed=*/true);
    }
    LoadUnlisted();
    bool has_fallback = false;
    for (const PluginEntry& entry : catalog_.entries()) {
      if (entry.state != PluginState::kLoaded || !MayJoin(entry)) continue;
      if (entry.manifest.fallback && std::exchange(has_fallback, true)) continue;
      const auto add = [&] { Add(catalog_.Load(entry.manifest.name), /*listed=*/false); };
      // The fallback provider isn't left out because of its options.
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

  // Opens the unlisted plugins that may join. One that fails may leave its name or a source to another plugin, which is
  // opened instead. So the catalog is read again until nothing new appears. One fallback provider is enough.
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

  // Runs `call` for an unlisted provider and returns whether it succeeded. If the session gave the provider options,
  // the error ends the session.
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

  void Add(const LoadedPlugin& plugin, bool listed) {
    const std::optional<OptionMap> given = GivenOptions(config_, plugin.name);
    ChosenProvider provider{SetUpProvider(catalog_, plugin, given.value_or(OptionMap()), listed || given)};
    if (!provider.left_out.empty()) {
      Log(LogLevel::kInfo, "session", "{}", provider.left_out);
      return;
    }
    provider.plugin = &plugin;
    provider.listed = listed;
    provider.has_options = HasOptions(plugin.name);
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

  // " (…)" with the first failure, or else with why the fallback isn't used; "" when there is no reason.
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

const std::vector<ChosenProvider>& ChosenProviders::Get() const {
  if (!chosen_) chosen_ = ChooseProviders(catalog_, config_);
  return *chosen_;
}

ProviderRequest RequestOf(const SessionConfig& config) {
  ProviderRequest request;
  request.options = config.provider_options;
  request.disable_fallback = config.disable_fallback;
  for (const ProviderChoice& choice : config.providers) {
    request.listed.push_back(choice.name);
    if (std::optional<OptionMap> given = GivenOptions(config, choice.name)) {
      request.options[choice.name] = std::move(*given);
    }
  }
  return request;
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

std::vector<ProviderSlot> MakeProviders(const std::vector<ChosenProvider>& chosen, ProviderConfig config,
                                        Devices& memories) {
  std::vector<ProviderSlot> slots;
  for (const ChosenProvider& one : chosen) {
    ProviderSlot slot{one};
    config.options = one.options;
    config.devices = one.devices;
    try {
      if (!one.cannot_run.empty() && !config.context_enabled) {
        Fail(StatusCode::kInvalidArgument, "{}", one.cannot_run);
      }
      slot.provider = Provider::Create(*one.plugin, config);
      for (const uint32_t device : slot.devices) {
        if (slot.AbsentDevice() != nullptr) continue;
        if (PluginDevice* found = memories.Find(*one.plugin, device)) slot.with_memory.push_back(found);
      }
    } catch (const Error& error) {
      if (one.listed || one.has_options || one.fallback) throw;
      Log(LogLevel::kWarning, "session", "provider '{}' is left out: {}", one.plugin->name, error.message());
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
