// Timeline: the submissions of one stream, numbered from 1, and how far the device has got. It uses a timeline
// semaphore, or one fence per submission if the device has no such semaphores (Capability::kTimeline). Internal to
// device/.
//
//     const uint64_t number = timeline.Submit(commands);
//     timeline.Wait(number, UINT64_MAX);     // sleeps
//
// All timelines of a device share its queue. Commands begin with a barrier, so everything submitted before them on any
// timeline is done first. When a number is reached, everything submitted before it is done, too.
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

  // Submits commands and returns the submission's number. [one thread at a time]
  uint64_t Submit(std::span<const VkCommandBuffer> commands);
  uint64_t submitted() const { return submitted_.load(); }

  // Asks the device for the last number that is reached. This and the functions below: [any thread, several at once].
  uint64_t Reached();
  // Sleeps until `number` is reached. Returns false after `timeout_ns`. Throws if the device has failed; then nothing
  // is under way.
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
  Owned<VkSemaphore> semaphore_;  // null: fences are used
  std::atomic<uint64_t> submitted_ = 0;
  std::atomic<uint64_t> reached_ = 0;

  std::mutex mutex_;                                     // guards the members below
  std::deque<Fenced> pending_;                           // submissions that are not known to be reached, in order
  std::vector<std::shared_ptr<Owned<VkFence>>> fences_;  // for reuse; a fence that another thread holds is awaited
};

}  // namespace epiphyte::vulkan
