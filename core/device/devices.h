// Devices: the devices with memory of their own that the plugins of an environment have. Pools belong to the
// environment: values outlive the session that made them, and sessions can read each other's values.
//
//   PluginDevice* device = environment.devices().Find(plugin, 0);   // null: the plugin has no ep.device
//   device->memories()[0]->Take(…);
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/device/device_memory.h"
#include "core/registry/catalog.h"
#include "epiphyte/draft/ep_device.h"

namespace epiphyte::core {

// One device of a plugin. Lives as long as the environment.
class PluginDevice {
 public:
  // Throws EP_FAIL when the plugin's description of its memories is impossible.
  PluginDevice(const LoadedPlugin& plugin, const EpDeviceApi& api, uint32_t index, std::weak_ptr<void> keep_alive);
  PluginDevice(const PluginDevice&) = delete;
  PluginDevice& operator=(const PluginDevice&) = delete;

  const LoadedPlugin& plugin() const { return plugin_; }
  const EpDeviceApi& api() const { return api_; }
  uint32_t index() const { return index_; }
  const std::string& name() const { return name_; }
  const std::vector<std::shared_ptr<DeviceMemory>>& memories() const { return memories_; }
  // Default memory of values: the first local one, else the first.
  const std::shared_ptr<DeviceMemory>& main_memory() const;
  // Called after DEVICE_RESET: frees the memory that its pools keep; memory of existing values is never used again.
  void Lose();

 private:
  const LoadedPlugin& plugin_;
  const EpDeviceApi& api_;
  uint32_t index_;
  std::string name_;
  std::vector<std::shared_ptr<DeviceMemory>> memories_;
};

class Devices {
 public:
  // The plugin's table; null when it has none. Throws EP_FAIL for a table that lacks a required function.
  static const EpDeviceApi* ApiOf(const LoadedPlugin& plugin);

  // `keep_alive`: kept by values in device memory so that their plugin stays initialized; may be empty.
  explicit Devices(std::weak_ptr<void> keep_alive = {}) : keep_alive_(std::move(keep_alive)) {}
  void SetKeepAlive(std::weak_ptr<void> keep_alive);
  // Returns null when the plugin has no memory of its own.
  PluginDevice* Find(const LoadedPlugin& plugin, uint32_t device);

 private:
  std::weak_ptr<void> keep_alive_;
  std::mutex mutex_;
  std::map<std::pair<const LoadedPlugin*, uint32_t>, std::unique_ptr<PluginDevice>> devices_;
};

}  // namespace epiphyte::core
