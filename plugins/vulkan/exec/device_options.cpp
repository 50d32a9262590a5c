#include "plugins/vulkan/exec/device_options.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "epiphyte/kit/abi/fail.hpp"

namespace epiphyte::vulkan {
namespace {

std::string AllCapabilities() {
  std::string names;
  for (size_t i = 0; i < static_cast<size_t>(Capability::kCount); ++i)
    names += (i == 0 ? "" : ", ") + std::string(NameOf(static_cast<Capability>(i)));
  return names;
}

template <typename Visit>
void ForEachName(std::string_view list, Visit&& visit) {
  constexpr std::string_view kBetween = ", []";
  while (true) {
    list.remove_prefix(std::min(list.find_first_not_of(kBetween), list.size()));
    if (list.empty()) return;
    const std::string_view name = list.substr(0, list.find_first_of(kBetween));
    list.remove_prefix(name.size());
    visit(name);
  }
}

// Visits each capability that the value of an option names. "all" names every capability.
template <typename Visit>
void ForEachCapability(std::string_view option, std::string_view list, Visit&& visit) {
  ForEachName(list, [&](std::string_view name) {
    const std::optional<Capability> capability = CapabilityOf(name);
    if (name == "all") {
      for (size_t i = 0; i < static_cast<size_t>(Capability::kCount); ++i) visit(static_cast<Capability>(i));
    } else if (capability) {
      visit(*capability);
    } else {
      kit::FailArgument("option '", option, "' names '", name, "'; capabilities are ", AllCapabilities(), "; or all");
    }
  });
}

}  // namespace

void Disable(std::string_view list, Capabilities* capabilities) {
  ForEachCapability("disable", list, [&](Capability capability) { capabilities->Disable(capability); });
}

void Prefer(std::string_view list, Capabilities* capabilities) {
  ForEachCapability("prefer", list, [&](Capability capability) { capabilities->Prefer(capability); });
}

void CheckDisabled(std::string_view list) {
  ForEachName(list, [](std::string_view name) {
    if (name == NameOf(Capability::kTimeline))
      kit::FailArgument(
          "option 'disable' names 'timeline', by which streams work, and those are not the session's; turn "
          "it off for all by the parameter 'disable' in the plugin's manifest");
  });
}

std::vector<uint32_t> DevicesToUse(std::span<const DeviceInfo> devices, std::string_view use,
                                   std::span<const uint32_t> listed) {
  if (!use.empty()) return {ChooseDevice(devices, {.device = std::string(use), .allow_software = true}).index};
  if (!listed.empty()) {
    if (listed[0] >= devices.size())
      kit::FailArgument("device ", listed[0], " asked for; there are ", devices.size(), ", numbered from 0");
    return {listed[0]};
  }
  std::vector<uint32_t> all(devices.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace epiphyte::vulkan
