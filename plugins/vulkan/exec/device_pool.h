// DevicePool: the devices that sessions have open, one for all sessions that use it, so that they share its pipelines.
//
//     DevicePool pool(instance);
//     std::shared_ptr<Device> device = pool.Get(0);   // open until its last user lets go of it
//
// [any thread]
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "plugins/vulkan/device/device.h"

namespace epiphyte::vulkan {

class DevicePool {
 public:
  explicit DevicePool(std::shared_ptr<Instance> instance) : instance_(std::move(instance)) {}

  // Device `index` of the instance. One that was lost is opened anew. `memory_limit`: see DeviceOptions.
  std::shared_ptr<Device> Get(uint32_t index, uint64_t memory_limit = 0);

 private:
  const std::shared_ptr<Instance> instance_;
  std::mutex mutex_;
  std::map<std::pair<uint32_t, uint64_t>, std::weak_ptr<Device>> open_;
};

}  // namespace epiphyte::vulkan
