// Device tables: a plugin's description of its devices through ep_device.h, with every answer checked.
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

// Returns the plugin's table, valid as long as the plugin. Throws EP_FAIL for a table that lacks a required function.
const EpDeviceApi* DeviceApiOf(const LoadedPlugin& plugin);

// Returns copies; the names belong to the plugin and live as long as it does. `device` must be present. Throws EP_FAIL
// for impossible values.
std::vector<EpMemoryInfo> MemoriesOf(const LoadedPlugin& plugin, const EpDeviceApi& api, uint32_t device);

// Name for messages. A plugin that lists no devices has one all the same.
std::string DeviceName(const LoadedPlugin& plugin, uint32_t device);
// False for a device that contexts can only be compiled for.
bool IsPresent(const LoadedPlugin& plugin, uint32_t device);

}  // namespace epiphyte::core
