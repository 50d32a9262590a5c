// Stream is a queue of work on one device. The device's thread does the work in the order of submission.
//
// Several streams of a device take turns. While a stream waits for a point of another stream, on either device of the
// plugin, the other streams go on. Buffers record the work that uses them until it is done. So the plugin detects a
// buffer that the host frees too early, and concurrent uses on two streams without a wait between them.
//
// The plugin's mutex guards all fields, unless their comment says otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "epiphyte/draft/ep_device.h"
#include "tests/device/plugin/buffer.h"

namespace epiphyte::test::device {

class Machine;
struct Stream;

struct Device;

struct Failure {
  EpStatusCode code = EP_STATUS_OK;
  std::string message;
  Device* lost = nullptr;  // for DEVICE_RESET: the lost device
};

struct Use {
  std::shared_ptr<Buffer> buffer;
  uint64_t offset = 0;
  uint64_t size = 0;
  bool write = false;
};

struct Work {
  std::string what;  // value for TestDeviceSpan::what
  bool is_kernel = false;
  // Runs on the device's thread, without the mutex. An exception fails the stream. The function is destroyed before a
  // later point is reached or the stream fails, even if it never ran. Objects that it holds are in use until then.
  std::function<void()> run;
  std::vector<Use> uses;
};

// For each stream, by id: the sequence number up to which its work is known to be done before the clock's owner begins.
using Clock = std::map<uint64_t, uint64_t>;

struct Item {
  std::unique_ptr<Work> work;  // null for a point or a wait
  uint64_t sequence = 0;       // sequence number of the work
  bool fails = false;
  bool loses = false;
  uint64_t point = 0;             // the point to signal, or the point of `other` to wait for
  std::shared_ptr<Stream> other;  // stream to wait for; null for other items
};

struct Listener {
  uint64_t point = 0;
  EpPointListener call = nullptr;
  void* user = nullptr;
};

// Points begin at 2 and grow by 5, so that a host can't guess one.
inline constexpr uint64_t kFirstPoint = 2;
inline constexpr uint64_t kPointStep = 5;

struct Device {
  uint32_t index = 0;  // index in the plugin
  int slot = 0;        // index in the arrays of TestDeviceControl
  std::vector<std::shared_ptr<Stream>> streams;
  size_t turn = 0;
  std::thread thread;
  bool is_lost = false;
  uint64_t losses = 0;
  uint64_t losses_told = 0;  // number of losses that have been reported to the host
  uint64_t used_bytes[2] = {};
};

struct Stream {
  Stream(Machine& its_machine, Device& its_device);
  EpStream* handle() const { return reinterpret_cast<EpStream*>((id << 1) | 1); }
  bool IsPoint(uint64_t point) const {
    return point >= kFirstPoint && point <= last_point && (point - kFirstPoint) % kPointStep == 0;
  }
  // True if submitted work isn't done.
  bool HasWork() const;

  const uint64_t id;
  Machine& machine;
  Device& device;
  std::deque<Item> items;
  bool is_hosts = false;  // true for a stream of the host, false for one of a kernel that waits for its own work
  bool is_running = false;
  bool is_destroyed = false;
  uint64_t sequence = 0;
  uint64_t last_point = 0;
  uint64_t reached = 0;
  Clock clock;
  std::map<uint64_t, Clock> unreached;  // for each point, the clock that a waiting stream takes over
  std::optional<Failure> failure;
  std::vector<Listener> listeners;
  int calling = 0;  // number of listeners that are being called

  std::atomic<std::thread::id> user{};  // thread that is in a call of this stream; set by any thread
};

// Marks the stream as used by this thread. A call on another thread meanwhile is a mistake of the host and is reported.
class StreamTurn {
 public:
  StreamTurn(Stream& stream, const char* function);
  ~StreamTurn();
  StreamTurn(const StreamTurn&) = delete;
  StreamTurn& operator=(const StreamTurn&) = delete;

 private:
  Stream& stream_;
  std::thread::id before_;
};

}  // namespace epiphyte::test::device
