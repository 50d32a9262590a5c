// Stream: copies and recorded programs on a device. They are done asynchronously, in the order in which they were
// submitted.
//
//     Stream stream(device);
//     stream.Copy(copies);                          // from and to the host, and between buffers
//     program.Submit(stream, ranges);               // compiled_program.h
//     stream.Synchronize(stream.Signal());          // sleeps until all of it is done
//
// The submitter keeps the buffers and host memory of a submission alive until a later point is reached. A point is the
// number of the last submission combined with the count of points since then, so no object is kept for it.
//
// Streams of one device share its queue, and each submission waits for those before it. Waiting between streams is
// needed only for the copies that the host does for a stream: copies out of mapped memory or out of staging buffers.
// The first call that finds the device far enough does them, at the latest Synchronize.
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

// A copy between two ends that do not overlap. At most one end is host memory. Buffers belong to devices of this
// plugin, at least one of them to the stream's device.
struct StreamCopy {
  struct End {
    Buffer* buffer = nullptr;
    uint64_t offset = 0;
    void* data = nullptr;  // host memory, if there is no buffer; the source's bytes are only read
  };
  End from;
  End to;
  uint64_t size = 0;
};

class Stream {
 public:
  explicit Stream(std::shared_ptr<Device> device);
  // A stream that belongs to the device itself and doesn't keep it open.
  explicit Stream(DeviceHandles& device);
  // Waits until everything submitted is done.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Null for the stream that the device itself owns.
  const std::shared_ptr<Device>& device() const { return device_; }

  // Submits all copies, or none if an argument is invalid. A copy between two devices goes through the host, and the
  // call waits for it.
  void Copy(std::span<const StreamCopy> copies);
  uint64_t Signal();
  // Work submitted from now on begins after `other` has reached the point. The call blocks only for what the device
  // can't wait for: another device, and copies that the host does.
  void WaitFor(Stream& other, uint64_t point);
  // Sleeps until the point is reached. Throws TIMEOUT. [any thread, several at once]
  void Synchronize(uint64_t point, uint64_t timeout_ns = UINT64_MAX);
  // Frees staging memory that nothing uses. [any thread]
  void Trim();

  // Submits commands, which must begin with a barrier for everything before them. Returns the submission's number, for
  // Await.
  uint64_t Submit(VkCommandBuffer_T* commands);
  // Sleeps until that submission is done.
  void Await(uint64_t submission);
  // Calls `done` when everything submitted so far is done, before Synchronize with a later point returns. The thread
  // that notices this calls it. It is not called if the stream fails. `done` must not throw and must not call the
  // stream.
  void Then(std::function<void()> done);

  StreamParts& parts() const { return *parts_; }

 private:
  void Enlist();
  void CopyBetweenDevices(std::span<const StreamCopy> copies);

  const std::shared_ptr<Device> device_;
  const std::unique_ptr<StreamParts> parts_;
};

}  // namespace epiphyte::vulkan
