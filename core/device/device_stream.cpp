#include "core/device/device_stream.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <vector>

#include "core/abi/owned_handles.h"
#include "core/abi/plugin_calls.h"

namespace epiphyte::core {
namespace {

// Runs `body` and returns whether it succeeded; an error is logged.
template <typename Body>
bool Succeeds(LogLevel level, const std::string& device, Body&& body) noexcept {
  try {
    try {
      body();
      return true;
    } catch (const std::exception& error) {
      Log(level, "device", "device '{}': waiting for submitted work failed: {}", device, ReasonOf(error));
    }
  } catch (...) {
    // There is no memory for the log line.
  }
  return false;
}

}  // namespace

DeviceStream::DeviceStream(PluginDevice& device) : device_(device) {
  const LoadedPlugin& plugin = device.plugin();
  Checked("CreateStream", [&] { return device.api().CreateStream(plugin.plugin, device.index(), &stream_); });
  if (stream_ == nullptr) {
    Fail(StatusCode::kEpFail, "provider '{}': CreateStream for device '{}' succeeded but gave no stream", plugin.name,
         device.name());
  }
  bool is_new = false;
  try {
    is_new = OwnedHandles::Streams().Add(plugin.descriptor, stream_);
  } catch (...) {
    CallRelease(plugin, "DestroyStream", [&] { device.api().DestroyStream(stream_); });
    throw;
  }
  if (!is_new) {
    Fail(StatusCode::kEpFail,
         "provider '{}': CreateStream for device '{}' gave a stream that is in use; each needs a timeline of its own",
         plugin.name, device.name());
  }
}

DeviceStream::~DeviceStream() {
  OwnedHandles::Streams().Remove(device_.plugin().descriptor, stream_);
  CallRelease(device_.plugin(), "DestroyStream", [&] { device_.api().DestroyStream(stream_); });
}

// `call` returns a status.
template <typename Call>
void DeviceStream::Checked(const char* function, Call&& call) {
  if (failed()) {
    Fail(failure_.load(std::memory_order_acquire),
         "provider '{}': {} on a stream of device '{}' that has failed before", device_.plugin().name, function,
         device_.name());
  }
  try {
    CallPlugin(device_.plugin(), function, call, WatchedCall::kMode);
  } catch (const Error& error) {
    Fails(error.code());
    if (error.code() == StatusCode::kDeviceReset) device_.Lose();
    throw;
  } catch (...) {
    Fails(StatusCode::kEpFail);
    throw;
  }
}

void DeviceStream::Fails(StatusCode code) noexcept {
  StatusCode none = StatusCode::kOk;
  failure_.compare_exchange_strong(none, code, std::memory_order_acq_rel);
}

void DeviceStream::Copy(std::span<const EpCopy> copies) {
  const auto is_empty = [](const EpCopy& copy) { return copy.size == 0; };
  std::vector<EpCopy> not_empty;
  if (std::any_of(copies.begin(), copies.end(), is_empty)) {
    std::remove_copy_if(copies.begin(), copies.end(), std::back_inserter(not_empty), is_empty);
    copies = not_empty;
  }
  if (copies.empty()) return;
  unsignalled_ = true;  // set after a failure too: the plugin may have begun work, which must be waited for
  Checked("Copy", [&] { return device_.api().Copy(stream_, copies.data(), copies.size()); });
}

uint64_t DeviceStream::Signal() {
  if (!unsignalled_ && !failed()) return last_point_;
  uint64_t point = 0;
  Checked("Signal", [&] { return device_.api().Signal(stream_, &point); });
  if (point <= last_point_) {
    Fails(StatusCode::kEpFail);
    has_true_points_ = false;
    Fail(StatusCode::kEpFail,
         "provider '{}': Signal on device '{}' gave points that go back: {} after {}; each must be greater than those "
         "before, and at least 1",
         device_.plugin().name, device_.name(), point, last_point_);
  }
  unsignalled_ = false;
  return last_point_ = point;
}

void DeviceStream::WaitFor(const DeviceStream& other, uint64_t point) {
  if (&other == this || point <= other.reached_.load(std::memory_order_acquire)) return;
  Checked("Wait", [&] { return device_.api().Wait(stream_, other.stream_, point); });
}

void DeviceStream::Synchronize(uint64_t point) {
  if (point <= reached_.load(std::memory_order_acquire)) return;
  try {
    Checked("Synchronize", [&] { return device_.api().Synchronize(stream_, point, UINT64_MAX); });
  } catch (const Error& error) {
    if (error.code() != StatusCode::kTimeout) throw;
    Fail(StatusCode::kEpFail, "provider '{}': Synchronize on device '{}' timed out although no timeout was set: {}",
         device_.plugin().name, device_.name(), error.message());
  }
  uint64_t before = reached_.load(std::memory_order_relaxed);
  while (before < point && !reached_.compare_exchange_weak(before, point, std::memory_order_acq_rel)) {
  }
}

// A stream with failed work returns that failure from Signal and Synchronize, and then nothing is under way. If only
// the host found a fault, the submitted work goes on and can be waited for.
void DeviceStream::Drain() noexcept {
  const LoadedPlugin& plugin = device_.plugin();
  if (!plugin.IsUsableHere()) return;  // submitted work is the parent's
  if (!failed() && Succeeds(LogLevel::kWarning, device_.name(), [&] { Synchronize(Signal()); })) return;
  // The submitter knows of the failure already, and a stream without a defect reports nothing else now. So these errors
  // are logged at debug level only.
  uint64_t point = 0;
  if (has_true_points_) {
    Succeeds(LogLevel::kDebug, device_.name(), [&] {
      CallPlugin(
          plugin, "Signal", [&] { return device_.api().Signal(stream_, &point); }, WatchedCall::kMode);
    });
  }
  point = std::max(point, last_point_);
  unsignalled_ = false;
  if (point == 0) return;
  Succeeds(LogLevel::kDebug, device_.name(), [&] {
    CallPlugin(
        plugin, "Synchronize", [&] { return device_.api().Synchronize(stream_, point, UINT64_MAX); },
        WatchedCall::kMode);
  });
}

}  // namespace epiphyte::core
