#include "core/device/devices.h"

#include <algorithm>

#include "core/abi/device_tables.h"
#include "core/base/error.h"

namespace epiphyte::core {

PluginDevice::PluginDevice(const LoadedPlugin& plugin, const EpDeviceApi& api, uint32_t index,
                           std::weak_ptr<void> keep_alive)
    : plugin_(plugin), api_(api), index_(index), name_(DeviceName(plugin, index)) {
  const DeviceMemory::Owner owner{&plugin, &api, std::move(keep_alive)};
  for (const EpMemoryInfo& info : MemoriesOf(plugin, api, index)) {
    memories_.push_back(std::make_shared<DeviceMemory>(owner, index, static_cast<uint32_t>(memories_.size()), info));
  }
  const std::vector<std::weak_ptr<DeviceMemory>> siblings(memories_.begin(), memories_.end());
  for (const auto& memory : memories_) memory->SetSiblings(siblings);
}

const std::shared_ptr<DeviceMemory>& PluginDevice::main_memory() const {
  const auto local =
      std::find_if(memories_.begin(), memories_.end(), [](const auto& memory) { return memory->local(); });
  return local == memories_.end() ? memories_.front() : *local;
}

void PluginDevice::Lose() {
  for (const auto& memory : memories_) memory->Lose();
}

const EpDeviceApi* Devices::ApiOf(const LoadedPlugin& plugin) { return DeviceApiOf(plugin); }

void Devices::SetKeepAlive(std::weak_ptr<void> keep_alive) {
  const std::lock_guard lock(mutex_);
  keep_alive_ = std::move(keep_alive);
}

PluginDevice* Devices::Find(const LoadedPlugin& plugin, uint32_t device) {
  const std::lock_guard lock(mutex_);
  const auto found = devices_.find({&plugin, device});
  if (found != devices_.end()) return found->second.get();
  const EpDeviceApi* const api = ApiOf(plugin);
  // A compile-only device isn't present.
  if (api == nullptr || !IsPresent(plugin, device)) return nullptr;
  if (device >= std::max<size_t>(1, plugin.devices.size())) {
    Fail(StatusCode::kInvalidArgument, "provider '{}' has no device {}, counting begins at 0", plugin.name, device);
  }
  auto made = std::make_unique<PluginDevice>(plugin, *api, device, keep_alive_);
  return devices_.emplace(std::make_pair(&plugin, device), std::move(made)).first->second.get();
}

}  // namespace epiphyte::core
