#include "plugins/vulkan/exec/device_pool.h"

namespace epiphyte::vulkan {

std::shared_ptr<Device> DevicePool::Get(uint32_t index, uint64_t memory_limit) {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<Device>& known = open_[{index, memory_limit}];
  if (std::shared_ptr<Device> device = known.lock(); device != nullptr && !device->lost()) return device;
  DeviceOptions options;
  options.kernels = &BuiltInKernels();
  options.memory_limit = memory_limit;
  std::shared_ptr<Device> device = Device::Open(instance_, instance_->devices().at(index), options);
  known = device;
  return device;
}

}  // namespace epiphyte::vulkan
