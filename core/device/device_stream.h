// DeviceStream: a plugin's stream with every answer checked, and its timeline.
//
//   DeviceStream stream(device);
//   stream.Copy(copies);
//   stream.Synchronize(stream.Signal());
//
// Belongs to one thread at a time, but for Synchronize. What fails throws and fails the stream for good: later calls
// throw at once, with the same code. DEVICE_RESET tells the device, whose pools then forget what they keep. Destroying
// one waits for nothing: whoever submitted has synchronized or drained it before.
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
  // A submission, by Copy or by a kernel, that no Signal has followed.
  bool has_unsignalled() const { return unsignalled_; }
  void NoteSubmission() { unsignalled_ = true; }
  // Of no more use, but to be drained.
  bool failed() const { return failure_.load(std::memory_order_acquire) != StatusCode::kOk; }

  // Leaves out copies of no bytes. None: nothing is submitted.
  void Copy(std::span<const EpCopy> copies);
  // The point behind all that was submitted: a new one if there was something since the last, 0 when there never was.
  // Throws EP_FAIL when the plugin's points don't grow.
  uint64_t Signal();
  void WaitFor(const DeviceStream& other, uint64_t point);  // of the same plugin
  void Synchronize(uint64_t point);
  // Waits until nothing that was submitted is under way. A failed stream, too: one call that the plugin refused says
  // nothing of what it took before. What goes wrong is logged.
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
  bool has_true_points_ = true;                       // as far as was seen
  std::atomic<StatusCode> failure_{StatusCode::kOk};  // the first one
};

}  // namespace epiphyte::core
