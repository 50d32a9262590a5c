// Machine holds the plugin's two devices with their memories, streams and threads. Each Initialize makes one.
//
//   machine.CreateStream(0);
//   machine.Submit(*stream, std::move(work));
//
// Functions throw kit::Error with the status for the host. They are thread-safe. Mistakes of the host are passed to
// Complain; the call is refused or ignored, and the device goes on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "epiphyte/draft/ep_device.h"
#include "epiphyte/kit/abi/error.hpp"
#include "tests/device/plugin/stream.h"

namespace epiphyte::test::device {

inline constexpr uint32_t kDeviceCount = 2;
inline constexpr uint32_t kArena = 0;
inline constexpr uint32_t kShared = 1;
inline constexpr uint32_t kMemoryCount = 2;
inline constexpr uint64_t kAlignment = 256;

class Machine {
 public:
  // `number`: 0 or 1 for "test_device" or "test_device_b".
  Machine(const EpHostInfo& host, int number, const char* fault);
  // Complains about objects that the host has not released.
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const EpHostInfo& host() const { return host_; }
  int number() const { return number_; }
  // Returns the device with that index. Throws INVALID_ARGUMENT if there is none.
  Device& At(uint32_t device);

  bool HasFault(std::string_view fault) const;
  void SetFault(const char* fault) { fault_ = fault; }

  // --- memory
  EpMemoryUse MemoryUse(uint32_t device, uint32_t memory);
  std::shared_ptr<Buffer> Allocate(uint32_t device, uint32_t memory, uint64_t size);
  std::shared_ptr<Buffer> Import(uint32_t device, uint32_t memory, const EpExternalMemory& external);
  EpExternalMemory Export(EpBuffer* handle, EpHandleType type);
  void* Map(EpBuffer* handle);
  void Free(EpBuffer* handle);
  void Trim(uint32_t device);
  // Returns a buffer that the host may use. `what` describes its use in complaints. Throws INVALID_ARGUMENT for no
  // buffer, and DEVICE_RESET for one from before a loss.
  std::shared_ptr<Buffer> Find(EpBuffer* handle, std::string_view what);
  // Returns the newest buffer of the host; null if there is none.
  std::shared_ptr<Buffer> Newest();

  // --- streams
  // Returns the stream of a handle, for either plugin. Complains and returns null if there is none.
  static std::shared_ptr<Stream> FindStream(EpStream* handle, const char* function);
  // Returns the result of a call without a stream. No host is known that could make a status, so any non-null one is
  // returned.
  static EpStatus* NoSuchStream();
  // Throws the status of the stream if it has failed.
  void CheckStream(Stream& stream);
  std::shared_ptr<Stream> CreateStream(uint32_t device);
  std::shared_ptr<Stream> NewestStream(uint32_t device);
  void DestroyStream(Stream& stream);
  void Submit(Stream& stream, std::unique_ptr<Work> work);
  // Does the work on the device's thread, outside of its streams, and returns when it is done.
  void SubmitAndWait(uint32_t device, std::unique_ptr<Work> work);
  uint64_t Signal(Stream& stream);
  void Wait(Stream& stream, const std::shared_ptr<Stream>& other, uint64_t point);
  void Synchronize(Stream& stream, uint64_t point, uint64_t timeout_ns);
  void OnReached(Stream& stream, uint64_t point, EpPointListener listener, void* user);

 private:
  using Lock = std::unique_lock<std::mutex>;

  // Call the following functions with the mutex held.
  void ThrowIfLost(Device& device);
  [[noreturn]] void ThrowReset(Device& device);
  void ThrowIfFailed(Stream& stream);
  void CheckPoint(const Stream& stream, uint64_t point, const char* function) const;
  void HandOut(const std::shared_ptr<Buffer>& buffer, Device& device, uint32_t memory);
  std::shared_ptr<Stream> AddStream(Device& device);
  void RemoveStream(Stream& stream);
  void Push(Stream& stream, std::unique_ptr<Work> work);
  uint64_t PushPoint(Stream& stream);
  void LookForRaces(const Stream& stream, const Work& work) const;
  void EndWork(const Stream& stream, Item& item);

  // Functions of the device's thread. It holds the mutex except while work and listeners run.
  void Serve(Device& device);
  std::shared_ptr<Stream> NextStream(Device& device, bool* is_held);
  void DoItem(Lock& lock, Device& device, Stream& stream);
  void DoWork(Lock& lock, Device& device, Stream& stream, Item& item);
  void Lose(Device& device, const std::string& during);
  void Reach(Stream& stream, uint64_t point);
  void Fail(Stream& stream, const Failure& failure);
  void DropItems(Stream& stream);
  void CallListeners(Lock& lock, Stream& stream);
  EpStatus* ToStatus(const std::optional<Failure>& failure);

  const EpHostInfo& host_;
  const int number_;
  std::atomic<const char*> fault_;

  std::mutex mutex_;
  std::condition_variable changed_;  // signalled for every change
  bool is_stopping_ = false;
  Device devices_[kDeviceCount];
  std::map<uint64_t, std::shared_ptr<Buffer>> buffers_;  // buffers of the host; key: id
};

}  // namespace epiphyte::test::device
