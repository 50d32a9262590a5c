// The session's options that select the device and the capabilities of it that are used.
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

// Turns off the capabilities in the value of the option `disable`. Commas or spaces separate the names; brackets around
// the list are optional. Throws INVALID_ARGUMENT for an unknown name.
void Disable(std::string_view list, Capabilities* capabilities);
// Prefers the capabilities in the value of the option `prefer`, a list of the same form. Capabilities that are turned
// off stay off.
void Prefer(std::string_view list, Capabilities* capabilities);
// Throws INVALID_ARGUMENT if `disable` names a capability that a session can't turn off.
void CheckDisabled(std::string_view list);

// Returns indices into `devices`: the device that the option `use` names, else the first in `listed` (the devices that
// the host lists for the session), else all of them, because there is no session. Throws NOT_FOUND if no device fits
// `use`, and INVALID_ARGUMENT if the first listed device does not exist.
std::vector<uint32_t> DevicesToUse(std::span<const DeviceInfo> devices, std::string_view use,
                                   std::span<const uint32_t> listed);

}  // namespace epiphyte::vulkan
