// The session's options that say which device is used, and which of its capabilities.
//
//   const uint32_t index = DevicesToUse(instance.devices(), options.Text("use"), config.devices).at(0);
//   Capabilities capabilities = instance.devices()[index].capabilities;
//   Disable(options.Text("disable"), &capabilities);
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "plugins/vulkan/device/device_info.h"

namespace epiphyte::vulkan {

// Turns off the capabilities that the option `disable` names: with commas or spaces between them, in brackets if one
// likes. Throws INVALID_ARGUMENT for others.
void Disable(std::string_view list, Capabilities* capabilities);
// Has those used that the option `prefer` names, a list of the same kind, unless they are turned off.
void Prefer(std::string_view list, Capabilities* capabilities);
// Throws INVALID_ARGUMENT where `disable` names a capability that a session can't turn off.
void CheckDisabled(std::string_view list);

// Indices into `devices`: the one that the option `use` names; else the first that the host lists; else, where no
// session asks, all of them. Throws INVALID_ARGUMENT, or NOT_FOUND for a name that fits no device.
std::vector<uint32_t> DevicesToUse(std::span<const DeviceInfo> devices, std::string_view use,
                                   std::span<const uint32_t> listed);

}  // namespace epiphyte::vulkan
