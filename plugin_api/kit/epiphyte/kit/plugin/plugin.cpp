#include "epiphyte/kit/plugin/plugin.hpp"

#include <algorithm>
#include <vector>

namespace epiphyte::kit {
namespace {

std::string_view Architecture(const EpDeviceInfo& device) {
  return device.architecture == nullptr ? std::string_view() : device.architecture;
}

// Devices of the session that asks; all devices without a session.
std::vector<const EpDeviceInfo*> AskedDevices(std::span<const EpDeviceInfo> all, const ContextHeader& header) {
  std::vector<const EpDeviceInfo*> asked;
  for (const uint32_t device : header.devices()) {
    if (device < all.size()) asked.push_back(&all[device]);
  }
  if (header.devices().empty()) {
    for (const EpDeviceInfo& device : all) asked.push_back(&device);
  }
  return asked;
}

std::string ListOf(std::span<const char* const> sources) {
  std::string list;
  for (const char* source : sources) list += (list.empty() ? "'" : " or '") + std::string(source) + "'";
  return list.empty() ? "none" : list;
}

}  // namespace

std::optional<std::string_view> PluginConfig::Parameter(std::string_view key) const {
  for (uint32_t i = 0; i < environment.parameter_count; ++i) {
    if (environment.parameters[i].key == key) return environment.parameters[i].value;
  }
  return std::nullopt;
}

Plugin::Plugin(const PluginConfig& config)
    : host_(config.host),
      info_(config.info),
      only_device_(
          MakeDevice(EP_DEVICE_OTHER, config.info.name, config.info.vendor, config.info.version, config.info.name)) {}

ContextVerdict Plugin::CheckContext(const ContextHeader& header) { return JudgeOrigin(header, true, true); }

ContextVerdict Plugin::JudgeOrigin(const ContextHeader& header, bool judges_sdk, bool judges_hardware) {
  const ContextOrigin origin = header.origin();
  const std::span<const char* const> sources = info_.sources;
  if (!origin.source.empty() && std::find(sources.begin(), sources.end(), origin.source) == sources.end()) {
    return ContextVerdict::NotApplicable("its source is '" + std::string(origin.source) + "', this plugin's is " +
                                         ListOf(sources));
  }
  ContextVerdict verdict = judges_sdk && judges_hardware
                               ? ContextVerdict::Optimal()
                               : ContextVerdict::NotApplicable("the provider judges contexts when it loads them");
  if (judges_sdk) {
    if (std::string why = SdkMismatch(origin, SdkVersion()); !why.empty()) {
      verdict.Worsen(ContextVerdict::Unsupported(std::move(why)));
    }
  }
  if (judges_hardware) {
    const std::vector<const EpDeviceInfo*> asked = AskedDevices(Devices(), header);
    const bool fits = asked.empty() || std::any_of(asked.begin(), asked.end(), [&](const EpDeviceInfo* device) {
                        return HardwareMismatch(origin, Architecture(*device)).empty();
                      });
    if (!fits) verdict.Worsen(ContextVerdict::Unsupported(HardwareMismatch(origin, Architecture(*asked[0]))));
  }
  return verdict;
}

}  // namespace epiphyte::kit
