// DeviceStream: a plugin's stream with every answer checked, and its timeline.
//
//   DeviceStream stream(device);
//   stream.Copy(copies);
//   stream.Synchronize(stream.Signal());
//
// Belongs to one thread at a time, except for Synchronize. An error throws and fails the stream for good: later calls
// throw at once, with the same code. After DEVICE_RESET the device is told, and its pools forget the memory they keep.
// The destructor waits for nothing: the submitter must have synchronized or drained the stream before.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "core/base/error.h"
#include "core/device/devices.h"

namespace epiphyte::core {

class DeviceStream {
 public:
  explicit DeviceStream(PluginDevice& device);
  ~DeviceStream();
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  PluginDevice& device() const { return device_; }
  EpStream* handle() const { return stream_; }
  // Whether a submission, by Copy or by a kernel, has had no Signal since.
  bool has_unsignalled() const { return unsignalled_; }
  void NoteSubmission() { unsignalled_ = true; }
  // Whether the stream has failed: it can only be drained.
  bool failed() const { return failure_.load(std::memory_order_acquire) != StatusCode::kOk; }

  // Submits the copies, without those of 0 bytes. Submits nothing when none is left.
  void Copy(std::span<const EpCopy> copies);
  // Returns the point after everything submitted: a new one if there was a submission since the last, 0 if there never
  // was one. Throws EP_FAIL when the plugin's points don't grow.
  uint64_t Signal();
  void WaitFor(const DeviceStream& other, uint64_t point);  // `other` is a stream of the same plugin
  void Synchronize(uint64_t point);
  // Waits until no submitted work is under way. Also needed for a failed stream: one call that the plugin refused says
  // nothing about the calls it accepted before. Errors are logged.
  void Drain() noexcept;

 private:
  template <typename Call>
  void Checked(const char* function, Call&& call);
  void Fails(StatusCode code) noexcept;

  PluginDevice& device_;
  EpStream* stream_ = nullptr;
  uint64_t last_point_ = 0;
  std::atomic<uint64_t> reached_{0};
  bool unsignalled_ = false;
  bool has_true_points_ = true;                       // false after the plugin gave a point that goes back
  std::atomic<StatusCode> failure_{StatusCode::kOk};  // the first failure
};

}  // namespace epiphyte::core
