#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/abi/process_end.hpp"
#include "plugins/vulkan/device/vk_timeline.h"

namespace epiphyte::vulkan {

Timeline::Timeline(DeviceHandles& device) : device_(device) {
  if (!device.info.capabilities.Has(Capability::kTimeline)) return;
  VkSemaphoreTypeCreateInfo type = {VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info = {VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
  info.pNext = &type;
  semaphore_ =
      Make<VkSemaphore>(device, device.vk.vkCreateSemaphore, device.vk.vkDestroySemaphore, info, "vkCreateSemaphore");
}

void Timeline::Finish(uint64_t number) noexcept {
  try {
    Wait(number, UINT64_MAX);
  } catch (const std::exception&) {
    // Wait leaves nothing under way, whatever it throws.
  }
}

uint64_t Timeline::Submit(std::span<const VkCommandBuffer> commands) {
  const uint64_t number = submitted_.load() + 1;
  VkSubmitInfo info = {VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = static_cast<uint32_t>(commands.size());
  info.pCommandBuffers = commands.data();
  if (const VkSemaphore semaphore = semaphore_.get(); semaphore != VK_NULL_HANDLE) {
    VkTimelineSemaphoreSubmitInfo values = {VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
    values.signalSemaphoreValueCount = 1;
    values.pSignalSemaphoreValues = &number;
    info.pNext = &values;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &semaphore;
    device_.Submit(info, VK_NULL_HANDLE);
    submitted_ = number;
    return number;
  }
  const std::lock_guard lock(mutex_);
  Fenced next = {number, TakeFence()};
  pending_.push_back(next);
  try {
    device_.Submit(info, next.fence->get());
  } catch (...) {
    pending_.pop_back();
    fences_.push_back(std::move(next.fence));
    throw;
  }
  submitted_ = number;
  return number;
}

// Returns a fence that is not signalled.
std::shared_ptr<Owned<VkFence>> Timeline::TakeFence() {
  const auto unused = std::ranges::find_if(fences_, [](const auto& fence) { return fence.use_count() == 1; });
  if (unused == fences_.end()) return std::make_shared<Owned<VkFence>>(MakeFence(device_));
  const VkFence fence = (*unused)->get();
  device_.Check(device_.vk.vkResetFences(device_.device, 1, &fence), "vkResetFences");
  std::shared_ptr<Owned<VkFence>> taken = std::move(*unused);
  fences_.erase(unused);
  return taken;
}

// The caller holds the mutex if the timeline uses fences.
void Timeline::NoteReached(uint64_t number) {
  uint64_t before = reached_.load();
  while (before < number && !reached_.compare_exchange_weak(before, number)) {
  }
  for (; !pending_.empty() && pending_.front().number <= number; pending_.pop_front())
    fences_.push_back(std::move(pending_.front().fence));
}

uint64_t Timeline::Reached() {
  if (reached_.load() == submitted()) return reached_.load();
  if (semaphore_.get() != VK_NULL_HANDLE) {
    uint64_t value = 0;
    device_.Check(device_.vk.vkGetSemaphoreCounterValue(device_.device, semaphore_.get(), &value),
                  "vkGetSemaphoreCounterValue");
    NoteReached(value);
    return reached_.load();
  }
  const std::lock_guard lock(mutex_);
  while (!pending_.empty()) {
    const VkResult result = device_.vk.vkGetFenceStatus(device_.device, pending_.front().fence->get());
    if (result == VK_NOT_READY) break;
    device_.Check(result, "vkGetFenceStatus");
    NoteReached(pending_.front().number);
  }
  return reached_.load();
}

VkResult Timeline::WaitForSemaphore(uint64_t number, uint64_t timeout_ns) {
  const VkSemaphore semaphore = semaphore_.get();
  VkSemaphoreWaitInfo info = {VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  info.semaphoreCount = 1;
  info.pSemaphores = &semaphore;
  info.pValues = &number;
  const VkResult result = device_.vk.vkWaitSemaphores(device_.device, &info, timeout_ns);
  if (result == VK_SUCCESS) NoteReached(number);
  return result;
}

VkResult Timeline::WaitForFence(uint64_t number, uint64_t timeout_ns) {
  std::unique_lock lock(mutex_);
  const auto found = std::ranges::find(pending_, number, &Fenced::number);
  if (found == pending_.end()) return VK_SUCCESS;
  std::shared_ptr<Owned<VkFence>> held = found->fence;  // held so that it isn't reset for another submission
  lock.unlock();
  const VkFence fence = held->get();
  const VkResult result = device_.vk.vkWaitForFences(device_.device, 1, &fence, VK_TRUE, timeout_ns);
  lock.lock();
  if (result == VK_SUCCESS) NoteReached(number);
  held.reset();
  return result;
}

bool Timeline::Wait(uint64_t number, uint64_t timeout_ns) {
  if (reached_.load() >= number || kit::ProcessEnd::IsOver()) return true;
  const bool has_semaphore = semaphore_.get() != VK_NULL_HANDLE;
  const VkResult result = has_semaphore ? WaitForSemaphore(number, timeout_ns) : WaitForFence(number, timeout_ns);
  if (result == VK_SUCCESS) return true;
  if (result == VK_TIMEOUT) return false;
  // The device may still be working on the submission, and the caller is about to free what it uses.
  device_.WaitIdle();
  device_.Check(result, has_semaphore ? "vkWaitSemaphores" : "vkWaitForFences");
  kit::FailWith(EP_STATUS_ENGINE_ERROR, "waiting for ", device_.info.name, " gave ", NameOf(result));
}

}  // namespace epiphyte::vulkan
