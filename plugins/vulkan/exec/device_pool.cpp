#include "plugins/vulkan/exec/device_pool.h"

namespace epiphyte::vulkan {

// The caller holds the mutex.
std::shared_ptr<Device> DevicePool::Known(uint32_t index) {
  std::shared_ptr<Device> device = open_[index].lock();
  return device == nullptr || device->lost() ? nullptr : device;
}

std::shared_ptr<Device> DevicePool::Get(uint32_t index) {
  const std::lock_guard lock(mutex_);
  if (std::shared_ptr<Device> known = Known(index)) return known;
  std::shared_ptr<Device> device =
      Device::Open(instance_, instance_->devices().at(index), {.kernels = &BuiltInKernels()});
  open_[index] = device;
  return device;
}

std::shared_ptr<Device> DevicePool::Opened(uint32_t index) {
  const std::lock_guard lock(mutex_);
  return Known(index);
}

}  // namespace epiphyte::vulkan
