// Stream: work on a device in the order in which it was submitted, done later: copies, and recorded programs.
//
//     Stream stream(device);
//     stream.Copy(copies);                          // from and to the host, and between buffers
//     program.Submit(stream, ranges);               // compiled_program.h
//     stream.Synchronize(stream.Signal());          // sleeps until all of it is done
//
// The submitter keeps the buffers and host memory of a submission alive until a later point is reached. A point is the
// number of the last submission plus the count of points since then, so no object is kept for it.
//
// Streams of one device share its queue, and each submission waits for those before it. Only the copies that the host
// does for a stream need waiting between streams: copies out of mapped memory or out of staging buffers. The first
// thread that finds that the device has got that far does them, at the latest Synchronize.
//
// A stream that has failed stays failed; after DEVICE_RESET the device is lost. A stream belongs to one thread at a
// time, except for the functions that are marked [any thread].
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "plugins/vulkan/device/device.h"

struct VkCommandBuffer_T;

namespace epiphyte::vulkan {

struct DeviceHandles;
struct StreamParts;  // vk_stream.h

// The ends do not overlap. Both buffers are of devices of this plugin, at least one of the stream's; not both are null.
struct StreamCopy {
  struct End {
    Buffer* buffer = nullptr;
    uint64_t offset = 0;
    void* data = nullptr;  // host memory, when there is no buffer; the source's bytes are only read
  };
  End from;
  End to;
  uint64_t size = 0;
};

class Stream {
 public:
  explicit Stream(std::shared_ptr<Device> device);
  // The device's own, which doesn't keep it open.
  explicit Stream(DeviceHandles& device);
  // Waits for what was submitted.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Null for the stream that the device itself owns.
  const std::shared_ptr<Device>& device() const { return device_; }

  // All of them or none. A copy between two devices goes through the host, and is waited for.
  void Copy(std::span<const StreamCopy> copies);
  uint64_t Signal();
  // Work submitted from now on begins after `other` has reached the point. The call blocks only where the device can't
  // wait: for another device, and for copies that the host does.
  void WaitFor(Stream& other, uint64_t point);
  // Throws TIMEOUT. [any thread, on several at once]
  void Synchronize(uint64_t point, uint64_t timeout_ns = UINT64_MAX);
  // Gives back staging memory that nothing uses. [any thread]
  void Trim();

  // Commands that begin with a barrier for everything before them. Gives the submission's number, for Await.
  uint64_t Submit(VkCommandBuffer_T* commands);
  // Sleeps until that submission is done.
  void Await(uint64_t submission);
  // `done` is called when what was submitted so far is done, before Synchronize with a later point returns, by who
  // finds it so; not when the stream fails. It throws nothing, and doesn't call the stream.
  void Then(std::function<void()> done);

  StreamParts& parts() const { return *parts_; }

 private:
  void Enlist();
  void CopyBetweenDevices(std::span<const StreamCopy> copies);

  const std::shared_ptr<Device> device_;
  const std::unique_ptr<StreamParts> parts_;
};

}  // namespace epiphyte::vulkan
