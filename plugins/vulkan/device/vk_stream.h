// The Vulkan objects that a Stream holds. Internal to device/.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "epiphyte/kit/abi/error.hpp"
#include "plugins/vulkan/device/vk_timeline.h"

namespace epiphyte::vulkan {

struct StreamParts {
  using Lock = std::unique_lock<std::mutex>;

  // A copy by the host, once the submission `after` is done.
  struct HostCopy {
    uint64_t after = 0;
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    uint64_t size = 0;
    bool in_place = false;  // from a buffer that a later submission could write
  };
  struct Completion {
    uint64_t after = 0;
    std::function<void()> done;
  };
  // Another stream's work, on the same device, behind which this stream's is.
  struct Awaited {
    std::shared_ptr<Timeline> timeline;
    uint64_t number = 0;
  };
  // In use until the submission `until` is done.
  struct Commands {
    Owned<VkCommandPool> pool;
    VkCommandBuffer buffer = VK_NULL_HANDLE;
    uint64_t until = 0;
  };
  struct Chunk {
    std::shared_ptr<Buffer> buffer;
    uint64_t until = 0;
  };

  explicit StreamParts(DeviceHandles& device_) : device(device_), timeline(std::make_shared<Timeline>(device_)) {}

  // Calls body(parts, lock) with the lock, when the stream has not failed. What loses the device fails it.
  template <typename Body>
  auto Guarded(Body&& body) {
    Lock lock(mutex);
    ThrowIfFailed();
    try {
      return body(*this, lock);
    } catch (const kit::Error& error) {
      if (error.code() == EP_STATUS_DEVICE_RESET) Fail(error);
      throw;
    }
  }

  // All with the lock. Fails the stream for good, unless it has failed before: nothing that was submitted is under way
  // any more when it returns, and what was left to the host is not done.
  void Fail(const kit::Error& error);
  // Throws the failure, and DEVICE_RESET.
  void ThrowIfFailed();
  // Does the host's copies and completions that the device's progress allows. Returns the submission number reached.
  uint64_t Advance();
  // Nothing is under way that work here could depend on.
  bool IsIdle();
  // Waits, without the lock, and advances.
  void Await(Lock& lock, uint64_t number);
  // Before something is submitted: copies out of buffers are done.
  void FinishInPlaceCopies(Lock& lock);
  // Recording, with a barrier for everything before.
  Commands& BeginCommands();

  DeviceHandles& device;
  const std::shared_ptr<Timeline> timeline;

  mutable std::mutex mutex;  // guards all members below
  std::optional<kit::Error> failure;
  uint64_t last_point = 0;
  std::deque<HostCopy> host_copies;
  std::deque<Completion> completions;
  std::vector<Awaited> awaited;
  std::vector<std::unique_ptr<Commands>> commands;
  std::vector<std::unique_ptr<Chunk>> chunks;
};

}  // namespace epiphyte::vulkan
