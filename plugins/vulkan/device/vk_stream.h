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

  // A copy that the host does once the submission `after` is done.
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
  // A submission of another stream of the same device that the work of this stream follows.
  struct Awaited {
    std::shared_ptr<Timeline> timeline;
    uint64_t number = 0;
  };
  // Command buffers (Commands) and staging buffers (Chunk) are in use until the submission `until` is done.
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

  // Takes the lock and calls body(parts, lock). Throws if the stream has failed. An error DEVICE_RESET fails the
  // stream.
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

  // The caller holds the lock for this function and those below. Fails the stream for good, unless it has failed
  // before. When it returns, nothing that was submitted is under way, and the host's pending copies and completions are
  // dropped.
  void Fail(const kit::Error& error);
  // Throws the stream's failure, or DEVICE_RESET if the device is lost.
  void ThrowIfFailed();
  // Does the host's copies and completions that the device's progress allows. Returns the submission number reached.
  uint64_t Advance();
  // Whether nothing is under way that work of this stream could depend on.
  bool IsIdle();
  // Releases the lock while it waits for submission `number`, then does what Advance does.
  void Await(Lock& lock, uint64_t number);
  // Waits for the host's copies out of mapped buffers. Must be called before a submission, which could write these
  // buffers.
  void FinishInPlaceCopies(Lock& lock);
  // Begins a command buffer with a barrier for everything before it.
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
