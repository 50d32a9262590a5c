#include "core/registry/provider_setup.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <utility>

#include "core/base/error.h"

namespace epiphyte::core {
namespace {

// Removes the host's option from the provider's options and returns its devices: "1", or "0,2".
std::vector<uint32_t> TakeDevices(const LoadedPlugin& plugin, OptionMap* options) {
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

// Checks the options for the plugin and completes them. `from_session` came from the session, others from the policy
// file; the manifest's are known to fit.
void FitOptions(const LoadedPlugin& plugin, const std::set<std::string>& from_session,
                const std::map<std::string, std::filesystem::path>& policy_files, OptionMap* options) {
  if (!plugin.options) return;
  if (const auto wrong = FindWrong(*plugin.options, *options)) {
    const auto policy = policy_files.find(wrong->name);
    const bool is_policys = !from_session.contains(wrong->name) && policy != policy_files.end();
    Fail(StatusCode::kInvalidArgument, "provider '{}': {}{} {}", plugin.name, wrong->subject,
         is_policys ? fmt::format(" of the policy file '{}'", policy->second.string()) : "", wrong->problem);
  }
  Complete(*plugin.options, options);
}

bool CanBeUsed(const PluginEntry& entry) {
  return entry.state == PluginState::kReady || entry.state == PluginState::kLoaded;
}

}  // namespace

void RequireDevices(const LoadedPlugin& plugin, const std::vector<uint32_t>& devices) {
  for (const uint32_t device : devices) {
    if (device >= std::max<size_t>(1, plugin.devices.size())) {
      const size_t count = plugin.devices.size();
      FailHinting(
          Hint::kProbePlugins, StatusCode::kInvalidArgument,
          "provider '{}': device {} was asked for, but {}, and counting begins at 0; the catalog of plugins lists them",
          plugin.name, device, count > 1 ? fmt::format("its devices are 0 to {}", count - 1) : "its only device is 0");
    }
    if (std::count(devices.begin(), devices.end(), device) > 1) {
      Fail(StatusCode::kInvalidArgument, "provider '{}': device {} was asked for twice; name each once", plugin.name,
           device);
    }
    if (device < plugin.devices.size() && plugin.devices[device].lost) {
      Fail(StatusCode::kDeviceReset, "provider '{}': device '{}' is lost; restart the program, or use another device",
           plugin.name, plugin.devices[device].name);
    }
  }
}

ProviderSetup SetUpProvider(const Catalog& catalog, const LoadedPlugin& plugin, OptionMap given, bool is_named) {
  ProviderSetup setup;
  setup.options = std::move(given);
  std::set<std::string> from_session;
  for (const auto& [key, value] : setup.options) from_session.insert(key);
  std::map<std::string, std::filesystem::path> policy_files;
  for (const PluginEntry& entry : catalog.entries()) {
    if (entry.state != PluginState::kLoaded || entry.manifest.name != plugin.name) continue;
    setup.fallback = entry.manifest.fallback;
    AddEntryOptions(entry, &setup.options);
    policy_files = entry.option_files;
  }
  const bool is_asked_for = is_named || setup.options.contains(std::string(kDeviceOption));
  setup.has_device_option = setup.options.contains(std::string(kDeviceOption));
  setup.devices = TakeDevices(plugin, &setup.options);
  if (!is_asked_for && IsSoftware(plugin, setup.devices[0])) {
    setup.left_out = fmt::format("provider '{}' is left out: its device '{}' is emulated by the CPU; list it to use it",
                                 plugin.name, plugin.devices[setup.devices[0]].name);
  }
  for (const uint32_t device : setup.devices) {
    if (device >= plugin.devices.size() || !plugin.devices[device].compile_only) continue;
    setup.cannot_run = fmt::format(
        "provider '{}': device '{}' is not here, so nothing can run on it; compile a context model for it "
        "(ep.context_enable=1), or choose another device",
        plugin.name, plugin.devices[device].name);
    break;
  }
  FitOptions(plugin, from_session, policy_files, &setup.options);
  return setup;
}

ProviderSetup SetUpProvider(const Catalog& catalog, const LoadedPlugin& plugin, const ProviderRequest& request) {
  const bool is_listed = std::find(request.listed.begin(), request.listed.end(), plugin.name) != request.listed.end();
  const auto given = request.options.find(plugin.name);
  ProviderSetup setup = SetUpProvider(catalog, plugin, given == request.options.end() ? OptionMap() : given->second,
                                      is_listed || given != request.options.end());
  const bool joins = is_listed || (setup.fallback ? !request.disable_fallback : request.listed.empty());
  if (!joins) {
    Fail(StatusCode::kInvalidArgument, "provider '{}' is not in the session's list ({}); add it", plugin.name,
         request.listed.empty() ? "which has none" : fmt::format("{}", fmt::join(request.listed, ", ")));
  }
  return setup;
}

void CheckNames(Catalog& catalog, const ProviderRequest& request) {
  std::set<std::string> names(request.listed.begin(), request.listed.end());
  for (const auto& [name, options] : request.options) names.insert(name);
  for (const PluginEntry& entry : catalog.entries()) {
    if (CanBeUsed(entry)) names.erase(entry.manifest.name);
  }
  for (const std::string& name : names) catalog.Load(name);
  if (request.listed.empty()) return;
  for (const auto& [name, options] : request.options) {
    if (options.empty() || std::find(request.listed.begin(), request.listed.end(), name) != request.listed.end())
      continue;
    const std::vector<PluginEntry> entries = catalog.entries();
    const bool is_fallback = std::any_of(entries.begin(), entries.end(), [&, &name = name](const PluginEntry& entry) {
      return entry.manifest.name == name && entry.manifest.fallback;
    });
    if (is_fallback && !request.disable_fallback) continue;
    FailHinting(Hint::kListPlugins, StatusCode::kInvalidArgument,
                "options were given for provider '{}', which this session doesn't use", name);
  }
}

}  // namespace epiphyte::core
