// The implementation of Device and DeviceHandles.
#include <utility>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/abi/process_end.hpp"
#include "plugins/vulkan/device/stream.h"
#include "plugins/vulkan/device/vk_device.h"
#include "plugins/vulkan/device/vk_instance.h"
#include "plugins/vulkan/device/vk_memory.h"
#include "plugins/vulkan/device/vk_pipelines.h"

namespace epiphyte::vulkan {

DeviceHandles::DeviceHandles(std::shared_ptr<Instance> instance_, const DeviceInfo& info_, const KernelSet& kernels_)
    : instance(std::move(instance_)), info(info_), kernels(kernels_) {}

DeviceHandles::~DeviceHandles() {
  transfer.reset();
  pipelines.reset();
  memory.reset();
  if (device != VK_NULL_HANDLE && !kit::ProcessEnd::IsOver()) vk.vkDestroyDevice(device, nullptr);
}

void DeviceHandles::Fail(VkResult result, std::string_view call, std::string_view detail) {
  if (result == VK_ERROR_DEVICE_LOST) lost = true;
  FailCall(call, result, detail.empty() ? info.name : kit::TextOf(info.name, ", ", detail));
}

void DeviceHandles::ThrowIfLost() const {
  if (lost.load())
    kit::FailWith(EP_STATUS_DEVICE_RESET, "the Vulkan device ", info.name, " was lost; make a new session");
}

void DeviceHandles::Submit(const VkSubmitInfo& submit, VkFence fence) {
  ThrowIfLost();
  const std::lock_guard lock(queue_mutex);
  Check(vk.vkQueueSubmit(queue, 1, &submit, fence), "vkQueueSubmit");
  ++submissions;
}

void DeviceHandles::WaitIdle() {
  if (kit::ProcessEnd::IsOver()) return;
  const std::lock_guard lock(queue_mutex);
  vk.vkDeviceWaitIdle(device);
}

Owned<VkFence> MakeFence(DeviceHandles& device) {
  const VkFenceCreateInfo info = {VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  return Make<VkFence>(device, device.vk.vkCreateFence, device.vk.vkDestroyFence, info, "vkCreateFence");
}

Owned<VkCommandPool> MakeCommandPool(DeviceHandles& device) {
  VkCommandPoolCreateInfo info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  info.queueFamilyIndex = device.family;
  return Make<VkCommandPool>(device, device.vk.vkCreateCommandPool, device.vk.vkDestroyCommandPool, info,
                             "vkCreateCommandPool");
}

std::vector<VkCommandBuffer> MakeCommandBuffers(DeviceHandles& device, VkCommandPool pool, size_t count) {
  VkCommandBufferAllocateInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  info.commandPool = pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = static_cast<uint32_t>(count);
  std::vector<VkCommandBuffer> buffers(count);
  device.Check(device.vk.vkAllocateCommandBuffers(device.device, &info, buffers.data()), "vkAllocateCommandBuffers");
  device.objects += count;
  return buffers;
}

void BeginCommands(DeviceHandles& device, VkCommandBuffer commands, VkCommandBufferUsageFlags usage) {
  VkCommandBufferBeginInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  info.flags = usage;
  device.Check(device.vk.vkBeginCommandBuffer(commands, &info), "vkBeginCommandBuffer");
  ++device.command_buffers;
}

void EndCommands(DeviceHandles& device, VkCommandBuffer commands) {
  device.Check(device.vk.vkEndCommandBuffer(commands), "vkEndCommandBuffer");
}

void RecordBarrier(DeviceHandles& device, VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags from_access,
                   VkPipelineStageFlags to, VkAccessFlags to_access) {
  const VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, from_access, to_access};
  device.vk.vkCmdPipelineBarrier(commands, from, to, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

Device::Device(std::shared_ptr<Instance> instance, const DeviceInfo& info, const DeviceOptions& options)
    : handles_(std::make_unique<DeviceHandles>(std::move(instance), info, *options.kernels)) {
  const InstanceHandles& from = handles_->instance->handles();
  DeviceHandles& to = *handles_;
  to.physical = from.physical.at(info.index);

  uint32_t count = 0;
  from.vk.vkGetPhysicalDeviceQueueFamilyProperties(to.physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  from.vk.vkGetPhysicalDeviceQueueFamilyProperties(to.physical, &count, families.data());
  to.family = static_cast<uint32_t>(ComputeFamily(from.vk, to.physical));
  to.timestamp_bits = families.at(to.family).timestampValidBits;
  VkPhysicalDeviceProperties properties;
  from.vk.vkGetPhysicalDeviceProperties(to.physical, &properties);
  to.timestamp_period = properties.limits.timestampPeriod;

  DeviceFeatures features(from.vk, to.physical);
  if (to.instance->validation().gpu_assisted) features.features.features.robustBufferAccess = VK_FALSE;
  const float priority = 1;
  VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = to.family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo create = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  create.pNext = &features.features;
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queue;
  create.enabledExtensionCount = static_cast<uint32_t>(features.extensions.size());
  create.ppEnabledExtensionNames = features.extensions.data();
  VkDevice device = VK_NULL_HANDLE;
  to.Check(from.vk.vkCreateDevice(to.physical, &create, nullptr, &device), "vkCreateDevice");
  to.device = device;
  // All functions are loaded before a missing one is reported, so that the device can be destroyed in that case.
  bool complete = true;
#define EPIPHYTE_VK_LOAD(name)                                                                          \
  to.vk.name = reinterpret_cast<PFN_##name>(from.vk.vkGetDeviceProcAddr(device, #name));                \
  complete = complete && to.vk.name != nullptr;
  EPIPHYTE_VK_DEVICE_FUNCTIONS(EPIPHYTE_VK_LOAD)
#undef EPIPHYTE_VK_LOAD
#define EPIPHYTE_VK_LOAD(name) \
  to.vk.name = reinterpret_cast<PFN_##name>(from.vk.vkGetDeviceProcAddr(device, #name));
  EPIPHYTE_VK_OPTIONAL_FUNCTIONS(EPIPHYTE_VK_LOAD)
#undef EPIPHYTE_VK_LOAD
  // Before Vulkan 1.2 these functions belong to an extension.
  const auto or_extension = [&](auto& function, const char* name) {
    if (function == nullptr)
      function = reinterpret_cast<std::decay_t<decltype(function)>>(from.vk.vkGetDeviceProcAddr(device, name));
  };
  or_extension(to.vk.vkWaitSemaphores, "vkWaitSemaphoresKHR");
  or_extension(to.vk.vkGetSemaphoreCounterValue, "vkGetSemaphoreCounterValueKHR");
  if (!complete) {
    if (to.vk.vkDestroyDevice == nullptr) to.device = VK_NULL_HANDLE;
    kit::FailWith(EP_STATUS_ENGINE_ERROR, "the driver of ", info.name, " lacks functions of Vulkan 1.1");
  }
  to.objects = 1;
  to.vk.vkGetDeviceQueue(device, to.family, 0, &to.queue);
  to.memory = std::make_unique<Memory>(to);
  to.pipelines = std::make_unique<Pipelines>(to);
}

Device::~Device() = default;

std::shared_ptr<Device> Device::Open(std::shared_ptr<Instance> instance, const DeviceInfo& info,
                                     const DeviceOptions& options) {
  return std::shared_ptr<Device>(new Device(std::move(instance), info, options));
}

DeviceCounters Device::counters() const {
  DeviceCounters counters;
  counters.vulkan_objects = handles_->objects.load();
  counters.pipelines = handles_->pipelines->count();
  counters.command_buffers = handles_->command_buffers.load();
  counters.submissions = handles_->submissions.load();
  handles_->memory->Count(counters);
  return counters;
}

std::shared_ptr<Buffer> Device::Allocate(uint64_t bytes, std::string_view what, MemoryUse use,
                                         std::shared_ptr<MemoryLimit> limit) {
  return handles_->memory->Allocate(shared_from_this(), bytes, what, use, std::move(limit));
}

std::shared_ptr<Buffer> Device::AllocateExportable(uint64_t bytes, ExternalHandle type) {
  return handles_->memory->AllocateExportable(shared_from_this(), bytes, type);
}
std::shared_ptr<Buffer> Device::Import(const ExternalMemory& external) {
  return handles_->memory->Import(shared_from_this(), external);
}
void Device::Trim() {
  const std::lock_guard lock(handles_->streams_mutex);
  for (Stream* stream : handles_->streams) stream->Trim();
}

const DeviceInfo& Device::info() const { return handles_->info; }
Instance& Device::instance() const { return *handles_->instance; }
const KernelSet& Device::kernels() const { return handles_->kernels; }
bool Device::lost() const { return handles_->lost.load(); }

namespace {

void CopyAndWait(DeviceHandles& device, std::span<const StreamCopy> copies) {
  const std::lock_guard lock(device.transfer_mutex);
  if (device.transfer == nullptr) device.transfer = std::make_unique<Stream>(device);
  try {
    device.transfer->Copy(copies);
    device.transfer->Synchronize(device.transfer->Signal());
  } catch (...) {
    device.transfer.reset();  // the stream has failed for good, but not the device
    throw;
  }
}

}  // namespace

void Device::Upload(std::span<const HostToDevice> copies) {
  std::vector<StreamCopy> all;
  for (const HostToDevice& copy : copies)
    all.push_back({{nullptr, 0, const_cast<void*>(copy.data)}, {copy.to.buffer.get(), copy.to.offset}, copy.to.size});
  CopyAndWait(*handles_, all);
}

void Device::Download(std::span<const DeviceToHost> copies) {
  std::vector<StreamCopy> all;
  for (const DeviceToHost& copy : copies)
    all.push_back({{copy.from.buffer.get(), copy.from.offset}, {nullptr, 0, copy.data}, copy.from.size});
  CopyAndWait(*handles_, all);
}

std::vector<std::byte> Device::PipelineCacheData() { return handles_->pipelines->CacheData(); }
std::string Device::UsePipelineCacheData(std::span<const std::byte> data) {
  return handles_->pipelines->UseCacheData(data);
}

}  // namespace epiphyte::vulkan
