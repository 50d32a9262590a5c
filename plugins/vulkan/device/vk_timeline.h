// Timeline: what one stream submits, numbered from 1, and how far the device is with it: by a timeline semaphore, or by
// a fence for each submission where the device hasn't got any (Capability::kTimeline). Of device/ only.
//
//     const uint64_t number = timeline.Submit(commands);
//     timeline.Wait(number, UINT64_MAX);     // sleeps
//
// All timelines of a device share its queue. What was submitted before, on any of them, is done first where commands
// begin with a barrier for it, as ours do; and a number that is reached has everything before it reached.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "plugins/vulkan/device/vk_device.h"

namespace epiphyte::vulkan {

class Timeline {
 public:
  explicit Timeline(DeviceHandles& device);
  ~Timeline() { Finish(submitted()); }
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  // Gives the submission's number. [one thread at a time]
  uint64_t Submit(std::span<const VkCommandBuffer> commands);
  uint64_t submitted() const { return submitted_.load(); }

  // The following: [any thread, on several at once]. The last number that is known to be reached; asks the device.
  uint64_t Reached();
  // Sleeps; false when the time was too short. Throws when the device has failed: then nothing is under way.
  bool Wait(uint64_t number, uint64_t timeout_ns);
  // Returns once no submission up to that number is under way, possibly because the device has failed.
  void Finish(uint64_t number) noexcept;

 private:
  struct Fenced {
    uint64_t number;
    std::shared_ptr<Owned<VkFence>> fence;
  };

  void NoteReached(uint64_t number);
  std::shared_ptr<Owned<VkFence>> TakeFence();
  VkResult WaitForSemaphore(uint64_t number, uint64_t timeout_ns);
  VkResult WaitForFence(uint64_t number, uint64_t timeout_ns);

  DeviceHandles& device_;
  Owned<VkSemaphore> semaphore_;  // null: fences
  std::atomic<uint64_t> submitted_ = 0;
  std::atomic<uint64_t> reached_ = 0;

  std::mutex mutex_;                                     // guards the members below
  std::deque<Fenced> pending_;                           // not known to be reached, in order
  std::vector<std::shared_ptr<Owned<VkFence>>> fences_;  // for reuse; a fence that another thread holds is awaited
};

}  // namespace epiphyte::vulkan
