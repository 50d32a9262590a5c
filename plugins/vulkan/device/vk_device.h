// The Vulkan objects that a Device holds. Internal to device/.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "epiphyte/kit/abi/process_end.hpp"
#include "plugins/vulkan/device/device.h"
#include "plugins/vulkan/device/vk_functions.h"

namespace epiphyte::vulkan {

class Memory;     // vk_memory.h
class Pipelines;  // vk_pipelines.h
class Stream;     // stream.h

struct DeviceHandles {
  DeviceHandles(std::shared_ptr<Instance> instance, const DeviceInfo& info, const KernelSet& kernels);
  DeviceHandles(const DeviceHandles&) = delete;
  DeviceHandles& operator=(const DeviceHandles&) = delete;
  ~DeviceHandles();

  // Throws as FailCall does if the result is an error, and marks the device as lost on VK_ERROR_DEVICE_LOST.
  void Check(VkResult result, std::string_view call, std::string_view detail = {}) {
    if (result < 0) [[unlikely]]
      Fail(result, call, detail);
  }
  [[noreturn]] void Fail(VkResult result, std::string_view call, std::string_view detail);
  // Throws DEVICE_RESET when the device was lost.
  void ThrowIfLost() const;

  void Submit(const VkSubmitInfo& info, VkFence fence);
  // Waits until the device has done everything that was submitted before. Throws nothing.
  void WaitIdle();

  const std::shared_ptr<Instance> instance;
  const DeviceInfo info;
  const KernelSet& kernels;
  std::atomic<bool> lost = false;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  uint32_t family = 0;
  float timestamp_period = 1;  // nanoseconds per tick
  uint32_t timestamp_bits = 0;
  DeviceFunctions vk;
  std::mutex queue_mutex;

  std::atomic<uint64_t> objects = 0;
  std::atomic<uint64_t> command_buffers = 0;
  std::atomic<uint64_t> submissions = 0;

  std::unique_ptr<Memory> memory;
  std::unique_ptr<Pipelines> pipelines;
  // All streams of the device, for Device::Trim.
  std::mutex streams_mutex;
  std::set<Stream*> streams;
  // The stream of Device::Upload and Download, and its mutex.
  std::mutex transfer_mutex;
  std::unique_ptr<Stream> transfer;  // null: none yet, or the last one has failed
};

// A Vulkan object of a device. The device outlives it.
template <typename Handle>
class Owned {
 public:
  using Destroy = void(VKAPI_PTR*)(VkDevice, Handle, const VkAllocationCallbacks*);

  Owned() = default;
  Owned(VkDevice device, Handle handle, Destroy destroy) : device_(device), handle_(handle), destroy_(destroy) {}
  Owned(Owned&& other) noexcept { *this = std::move(other); }
  Owned& operator=(Owned&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  ~Owned() {
    if (handle_ != VK_NULL_HANDLE && !kit::ProcessEnd::IsOver()) destroy_(device_, handle_, nullptr);
  }

  Handle get() const { return handle_; }

 private:
  VkDevice device_ = VK_NULL_HANDLE;
  Handle handle_ = VK_NULL_HANDLE;
  Destroy destroy_ = nullptr;
};

// Makes an object with `create` and counts it in DeviceHandles::objects.
template <typename Handle, typename Info>
Owned<Handle> Make(DeviceHandles& device,
                   VkResult(VKAPI_PTR* create)(VkDevice, const Info*, const VkAllocationCallbacks*, Handle*),
                   typename Owned<Handle>::Destroy destroy, const std::type_identity_t<Info>& info,
                   std::string_view call) {
  Handle handle = VK_NULL_HANDLE;
  device.Check(create(device.device, &info, nullptr, &handle), call);
  ++device.objects;
  return Owned<Handle>(device.device, handle, destroy);
}

Owned<VkFence> MakeFence(DeviceHandles& device);
Owned<VkCommandPool> MakeCommandPool(DeviceHandles& device);
std::vector<VkCommandBuffer> MakeCommandBuffers(DeviceHandles& device, VkCommandPool pool, size_t count);
void BeginCommands(DeviceHandles& device, VkCommandBuffer commands, VkCommandBufferUsageFlags usage);
void EndCommands(DeviceHandles& device, VkCommandBuffer commands);
// Records a barrier: everything before it in the stages `from` is done before anything after it in the stages `to`.
void RecordBarrier(DeviceHandles& device, VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags from_access,
                   VkPipelineStageFlags to, VkAccessFlags to_access);

}  // namespace epiphyte::vulkan
