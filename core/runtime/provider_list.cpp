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

  void Add(const LoadedPlugin& plugin, const ProviderChoice* choice) {
    ChosenProvider provider;
    provider.plugin = &plugin;
    provider.listed = choice != nullptr;
    if (choice != nullptr) provider.options = choice->options;
    if (const auto given = config_.provider_options.find(plugin.name); given != config_.provider_options.end()) {
      provider.has_options = true;
      provider.options.insert(given->second.begin(), given->second.end());
    }
    ProviderSetup setup =
        SetUpProvider(catalog_, plugin, std::move(provider.options), provider.listed || provider.has_options);
    if (!setup.left_out.empty()) {
      Log(LogLevel::kInfo, "session", "{}", setup.left_out);
      return;
    }
    provider.fallback = setup.fallback;
    provider.devices = std::move(setup.devices);
    provider.cannot_run = std::move(setup.cannot_run);
    provider.options = std::move(setup.options);
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

ProviderRequest RequestOf(const SessionConfig& config) {
  ProviderRequest request;
  request.options = config.provider_options;
  request.disable_fallback = config.disable_fallback;
  for (const ProviderChoice& choice : config.providers) {
    request.listed.push_back(choice.name);
    if (choice.options.empty()) continue;
    // A listed provider's own options come first.
    OptionMap options = choice.options;
    options.insert(request.options[choice.name].begin(), request.options[choice.name].end());
    request.options[choice.name] = std::move(options);
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
      if (!chosen.cannot_run.empty() && !context_enabled) Fail(StatusCode::kInvalidArgument, "{}", chosen.cannot_run);
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
