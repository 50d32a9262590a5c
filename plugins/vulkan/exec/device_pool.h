// DevicePool: the open devices, one object per device for all users. Sessions share its pipelines, and can pass each
// other values in its memory.
//
//     DevicePool pool(instance);
//     std::shared_ptr<Device> device = pool.Get(0);   // open until its last user releases it
//
// [any thread]
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "plugins/vulkan/device/device.h"

namespace epiphyte::vulkan {

class DevicePool {
 public:
  explicit DevicePool(std::shared_ptr<Instance> instance) : instance_(std::move(instance)) {}

  // Returns device `index` of the instance, and opens it if it isn't open or was lost.
  std::shared_ptr<Device> Get(uint32_t index);
  // Device `index` if it is open and not lost, else null.
  std::shared_ptr<Device> Opened(uint32_t index);

 private:
  std::shared_ptr<Device> Known(uint32_t index);

  const std::shared_ptr<Instance> instance_;
  std::mutex mutex_;
  std::map<uint32_t, std::weak_ptr<Device>> open_;
};

}  // namespace epiphyte::vulkan
