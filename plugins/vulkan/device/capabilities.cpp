#include "plugins/vulkan/device/capabilities.h"

#include <iterator>

#include "epiphyte/kit/abi/fail.hpp"

namespace epiphyte::vulkan {
namespace {

constexpr std::string_view kNames[] = {"storage16", "storage8",      "int64",  "fp16",    "int8",
                                       "dot_product", "subgroup", "shared_memory", "coopmat", "timeline"};
static_assert(std::size(kNames) == static_cast<size_t>(Capability::kCount));

}  // namespace

std::string_view NameOf(Capability capability) { return kNames[static_cast<size_t>(capability)]; }

std::optional<Capability> CapabilityOf(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i] == name) return static_cast<Capability>(i);
  return std::nullopt;
}

void Capabilities::Disable(Capability capability) {
  const auto i = static_cast<size_t>(capability);
  disabled[i] = has[i] || slow[i] || disabled[i];
  has[i] = slow[i] = preferred[i] = false;
}

void Capabilities::Prefer(Capability capability) {
  const auto i = static_cast<size_t>(capability);
  if (!has[i] && !slow[i]) return;
  has[i] = preferred[i] = true;
  slow[i] = false;
}

void Capabilities::Disable(std::span<const std::string> names) {
  for (const std::string& name : names) {
    const std::optional<Capability> capability = CapabilityOf(name);
    if (!capability) {
      std::string known;
      for (const std::string_view each : kNames) known += (known.empty() ? "" : ", ") + std::string(each);
      kit::FailArgument("option 'disable': '", name, "' is no capability; known are ", known);
    }
    Disable(*capability);
  }
}

std::string Capabilities::WhyNot(Capability capability) const {
  const std::string name(NameOf(capability));
  if (disabled[static_cast<size_t>(capability)]) return name + " is turned off by option 'disable'";
  return (IsSlow(capability) ? "the device does better without " : "the device has no ") + name;
}

}  // namespace epiphyte::vulkan
