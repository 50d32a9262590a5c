// Device tables: what a plugin says of its devices through ep_device.h, with every answer checked.
//
//   const EpDeviceApi* api = DeviceApiOf(plugin);                     // null: the plugin has none
//   for (const EpMemoryInfo& memory : MemoriesOf(plugin, *api, 0)) …
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/registry/catalog.h"
#include "epiphyte/draft/ep_device.h"

namespace epiphyte::core {

// Valid as long as the plugin. Throws EP_FAIL for a table that lacks a function that is not optional.
const EpDeviceApi* DeviceApiOf(const LoadedPlugin& plugin);

// Copies; the names are the plugin's and live as long as it. `device` is one that is present. Throws EP_FAIL when what
// the plugin says can't be.
std::vector<EpMemoryInfo> MemoriesOf(const LoadedPlugin& plugin, const EpDeviceApi& api, uint32_t device);

// For messages; a plugin that lists no devices has one all the same.
std::string DeviceName(const LoadedPlugin& plugin, uint32_t device);
// False for a device for which contexts can be compiled only.
bool IsPresent(const LoadedPlugin& plugin, uint32_t device);

}  // namespace epiphyte::core
