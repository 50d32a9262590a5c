// Stream: work on one device in the order in which it was submitted, and the device's thread that does it.
//
// Several streams of one device take turns. A stream that waits for another's point, on whichever device of the plugin,
// lets the others go on. What work uses is noted in its buffers until it is done, so that the plugin sees what the host
// frees too early, and what two streams use at once though neither waits for the other.
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
  Device* lost = nullptr;  // DEVICE_RESET: which one was
};

struct Use {
  std::shared_ptr<Buffer> buffer;
  uint64_t offset = 0;
  uint64_t size = 0;
  bool write = false;
};

struct Work {
  std::string what;  // as TestDeviceSpan has it
  bool is_kernel = false;
  // Runs on the device's thread, without the mutex. An exception fails the stream. The function is destroyed before a
  // later point is reached or the stream fails, even if it never ran. Objects that it holds are in use until then.
  std::function<void()> run;
  std::vector<Use> uses;
};

// By a stream's id, how far its work is known to be done before one's own begins.
using Clock = std::map<uint64_t, uint64_t>;

struct Item {
  std::unique_ptr<Work> work;  // null: a point, or a wait
  uint64_t sequence = 0;       // number of the work
  bool fails = false;
  bool loses = false;
  uint64_t point = 0;             // point that is reached here, or that `other` must have reached
  std::shared_ptr<Stream> other;  // null: not a wait
};

struct Listener {
  uint64_t point = 0;
  EpPointListener call = nullptr;
  void* user = nullptr;
};

// Points begin at 2 and grow by 5, so that no host can guess one.
inline constexpr uint64_t kFirstPoint = 2;
inline constexpr uint64_t kPointStep = 5;

struct Device {
  uint32_t index = 0;  // index in the plugin
  int slot = 0;        // in TestDeviceControl
  std::vector<std::shared_ptr<Stream>> streams;
  size_t turn = 0;
  std::thread thread;
  bool is_lost = false;
  uint64_t losses = 0;
  uint64_t losses_told = 0;  // losses that the host was told
  uint64_t used_bytes[2] = {};
};

struct Stream {
  Stream(Machine& its_machine, Device& its_device);
  EpStream* handle() const { return reinterpret_cast<EpStream*>((id << 1) | 1); }
  bool IsPoint(uint64_t point) const {
    return point >= kFirstPoint && point <= last_point && (point - kFirstPoint) % kPointStep == 0;
  }
  // That is not done.
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
  std::map<uint64_t, Clock> unreached;  // what each point says to who waits for it
  std::optional<Failure> failure;
  std::vector<Listener> listeners;
  int calling = 0;  // listeners that run

  std::atomic<std::thread::id> user{};  // the thread that is in a call of this stream; set by any thread
};

// While it exists the stream is this thread's: what another does with it meanwhile is the host's mistake.
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
