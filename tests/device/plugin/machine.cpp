#include "tests/device/plugin/machine.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "tests/device/plugin/control.h"

namespace epiphyte::test::device {
namespace {

// Streams of the whole library by handle, because functions of streams get no plugin.
struct StreamTable {
  std::mutex mutex;
  std::map<uint64_t, std::weak_ptr<Stream>> streams;
  const EpHostInfo* host = nullptr;  // the newest host; hosts stay valid
};
StreamTable& Streams() {
  static StreamTable& table = *new StreamTable;
  return table;
}

uint64_t IdOf(const EpStream* handle) { return reinterpret_cast<uint64_t>(handle) >> 1; }

// Counts down and returns true for the call that the test selected.
bool CountDown(std::atomic<int64_t>& counter) {
  int64_t now = counter;
  while (now >= 0) {
    if (counter.compare_exchange_weak(now, now - 1)) return now == 0;
  }
  return false;
}

bool Overlap(const Use& use, const PendingUse& pending) {
  return use.offset < pending.offset + pending.size && pending.offset < use.offset + use.size;
}

}  // namespace

Stream::Stream(Machine& its_machine, Device& its_device)
    : id([] {
        static std::atomic<uint64_t> next{1};
        return next.fetch_add(1);
      }()),
      machine(its_machine),
      device(its_device) {}

bool Stream::HasWork() const {
  return is_running || std::any_of(items.begin(), items.end(), [](const Item& item) { return item.work != nullptr; });
}

StreamTurn::StreamTurn(Stream& stream, const char* function)
    : stream_(stream), before_(stream.user.exchange(std::this_thread::get_id())) {
  if (before_ == std::thread::id{} || before_ == std::this_thread::get_id()) return;
  Complain(std::string(function) + " of a stream that another thread is using");
}
StreamTurn::~StreamTurn() { stream_.user = before_ == std::this_thread::get_id() ? before_ : std::thread::id{}; }

Machine::Machine(const EpHostInfo& host, int number, const char* fault) : host_(host), number_(number), fault_(fault) {
  {
    const std::lock_guard lock(Streams().mutex);
    Streams().host = &host;
  }
  for (uint32_t i = 0; i < kDeviceCount; ++i) {
    devices_[i].index = i;
    devices_[i].slot = number * static_cast<int>(kDeviceCount) + static_cast<int>(i);
  }
}

Machine::~Machine() {
  {
    const Lock lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
  }
  for (Device& device : devices_) {
    if (device.thread.joinable()) device.thread.join();
  }
  for (Device& device : devices_) {
    if (device.streams.empty()) continue;
    Complain("Shutdown with " + std::to_string(device.streams.size()) + " streams of test " +
             std::to_string(device.index) + " that are not destroyed");
    Control().live_streams -= static_cast<int64_t>(device.streams.size());
    for (const auto& stream : device.streams) DropItems(*stream);
    const std::lock_guard lock(Streams().mutex);
    for (const auto& stream : device.streams) Streams().streams.erase(stream->id);
  }
  if (buffers_.empty()) return;
  Complain("Shutdown with " + std::to_string(buffers_.size()) + " buffers that are not freed");
  Control().live_buffers -= static_cast<int64_t>(buffers_.size());
  for (const auto& [id, buffer] : buffers_) {
    if (!buffer->imported()) Control().live_bytes -= static_cast<int64_t>(buffer->size());
  }
}

Device& Machine::At(uint32_t device) {
  if (device < kDeviceCount) return devices_[device];
  Complain("device " + std::to_string(device) + " of a plugin that has " + std::to_string(kDeviceCount));
  throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "there is no device " + std::to_string(device));
}

bool Machine::HasFault(std::string_view fault) const {
  const char* const asked = fault_;
  return asked != nullptr && fault == asked;
}

void Machine::ThrowReset(Device& device) {
  device.losses_told = device.losses;
  throw kit::Error(EP_STATUS_DEVICE_RESET, "device 'test " + std::to_string(device.index) + "' was lost");
}

void Machine::ThrowIfLost(Device& device) {
  if (device.is_lost) ThrowReset(device);
}

void Machine::ThrowIfFailed(Stream& stream) {
  if (!stream.failure) return;
  if (stream.failure->lost != nullptr) stream.failure->lost->losses_told = stream.failure->lost->losses;
  throw kit::Error(stream.failure->code, stream.failure->message);
}

void Machine::CheckPoint(const Stream& stream, uint64_t point, const char* function) const {
  if (stream.IsPoint(point)) return;
  Complain(std::string(function) + ": point " + std::to_string(point) + ", which Signal never gave");
  throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "there is no point " + std::to_string(point));
}

// --- streams

std::shared_ptr<Stream> Machine::FindStream(EpStream* handle, const char* function) {
  {
    StreamTable& table = Streams();
    const std::lock_guard lock(table.mutex);
    const auto found = table.streams.find(IdOf(handle));
    if (found != table.streams.end()) {
      if (std::shared_ptr<Stream> stream = found->second.lock()) return stream;
    }
  }
  Complain(std::string(function) + " of a stream that is destroyed already, or none at all");
  return nullptr;
}

EpStatus* Machine::NoSuchStream() {
  const std::lock_guard lock(Streams().mutex);
  return Streams().host->status->Create(EP_STATUS_INVALID_ARGUMENT, "there is no such stream");
}

void Machine::CheckStream(Stream& stream) {
  const Lock lock(mutex_);
  ThrowIfFailed(stream);
}

std::shared_ptr<Stream> Machine::AddStream(Device& device) {
  auto stream = std::make_shared<Stream>(*this, device);
  if (!device.thread.joinable()) device.thread = std::thread([this, &device] { Serve(device); });
  device.streams.push_back(stream);
  return stream;
}

void Machine::RemoveStream(Stream& stream) {
  stream.is_destroyed = true;
  DropItems(stream);
  stream.listeners.clear();
  std::erase_if(stream.device.streams, [&](const auto& other) { return other.get() == &stream; });
  changed_.notify_all();
}

std::shared_ptr<Stream> Machine::CreateStream(uint32_t device) {
  const Lock lock(mutex_);
  Device& mine = At(device);
  if (Control().return_on_new_stream != 0) mine.is_lost = false;
  ThrowIfLost(mine);
  std::shared_ptr<Stream> stream = AddStream(mine);
  stream->is_hosts = true;
  ++Control().live_streams;
  const std::lock_guard table_lock(Streams().mutex);
  Streams().streams[stream->id] = stream;
  return stream;
}

std::shared_ptr<Stream> Machine::NewestStream(uint32_t device) {
  const Lock lock(mutex_);
  const auto& streams = At(device).streams;
  const auto found = std::find_if(streams.rbegin(), streams.rend(), [](const auto& each) { return each->is_hosts; });
  return found == streams.rend() ? nullptr : *found;
}

void Machine::DestroyStream(Stream& stream) {
  {
    const std::lock_guard lock(Streams().mutex);
    Streams().streams.erase(stream.id);
  }
  Lock lock(mutex_);
  if (stream.HasWork()) Complain("DestroyStream with work under way");
  RemoveStream(stream);
  const bool from_listener = std::this_thread::get_id() == stream.device.thread.get_id();
  changed_.wait(lock, [&] { return !stream.is_running && (from_listener || stream.calling == 0); });
  --Control().live_streams;
}

// --- submitted work

void Machine::LookForRaces(const Stream& stream, const Work& work) const {
  for (const Use& use : work.uses) {
    for (const PendingUse& pending : use.buffer->pending) {
      if (pending.stream == stream.id || !(pending.write || use.write) || !Overlap(use, pending)) continue;
      const auto known = stream.clock.find(pending.stream);
      if (known != stream.clock.end() && known->second >= pending.sequence) continue;
      Complain("'" + work.what + "' " + (use.write ? "writes" : "reads") + " memory that work of another stream " +
               (pending.write ? "writes" : "reads") + ", and nothing makes it wait for that");
      return;
    }
  }
}

void Machine::Push(Stream& stream, std::unique_ptr<Work> work) {
  LookForRaces(stream, *work);
  Item item;
  item.sequence = ++stream.sequence;
  item.fails = CountDown(Control().fail_in[stream.device.slot]);
  item.loses = CountDown(Control().lose_in[stream.device.slot]);
  for (const Use& use : work->uses) {
    use.buffer->pending.push_back({stream.id, item.sequence, use.offset, use.size, use.write});
  }
  item.work = std::move(work);
  stream.items.push_back(std::move(item));
  changed_.notify_all();
}

uint64_t Machine::PushPoint(Stream& stream) {
  stream.last_point = stream.last_point == 0 ? kFirstPoint : stream.last_point + kPointStep;
  Clock& clock = stream.unreached[stream.last_point];
  clock = stream.clock;
  clock[stream.id] = stream.sequence;
  Item item;
  item.point = stream.last_point;
  stream.items.push_back(std::move(item));
  changed_.notify_all();
  return stream.last_point;
}

void Machine::Submit(Stream& stream, std::unique_ptr<Work> work) {
  const Lock lock(mutex_);
  ThrowIfFailed(stream);
  Push(stream, std::move(work));
}

void Machine::SubmitAndWait(uint32_t device, std::unique_ptr<Work> work) {
  Lock lock(mutex_);
  Device& mine = At(device);
  ThrowIfLost(mine);
  const std::shared_ptr<Stream> stream = AddStream(mine);
  Push(*stream, std::move(work));
  const uint64_t point = PushPoint(*stream);
  changed_.wait(lock, [&] { return stream->failure || stream->reached >= point; });
  RemoveStream(*stream);
  ThrowIfFailed(*stream);
}

uint64_t Machine::Signal(Stream& stream) {
  Lock lock(mutex_);
  ThrowIfFailed(stream);
  const uint64_t before = stream.last_point;
  const uint64_t point = PushPoint(stream);
  ++Control().signals;
  const bool goes_back = HasFault("points_go_back");
  if (!goes_back && !HasFault("point_zero") && !HasFault("status_of_other")) return point;
  // The host can't wait for work with a wrong point, so the work is finished first.
  changed_.wait(lock, [&] { return stream.failure || stream.reached >= point; });
  if (HasFault("status_of_other")) return point;
  return goes_back && before != 0 ? before - 1 : goes_back ? point : 0;
}

void Machine::Wait(Stream& stream, const std::shared_ptr<Stream>& other, uint64_t point) {
  const Lock lock(mutex_);
  ThrowIfFailed(stream);
  CheckPoint(*other, point, "Wait");
  ++Control().waits;
  if (const auto clock = other->unreached.find(point); clock != other->unreached.end()) {
    for (const auto& [id, sequence] : clock->second) {
      stream.clock[id] = std::max(stream.clock[id], sequence);
    }
  }
  Item item;
  item.point = point;
  item.other = other;
  stream.items.push_back(std::move(item));
  changed_.notify_all();
}

void Machine::Synchronize(Stream& stream, uint64_t point, uint64_t timeout_ns) {
  constexpr uint64_t kLongest = uint64_t{1} << 60;
  Lock lock(mutex_);
  ++Control().synchronizes;
  ThrowIfFailed(stream);
  CheckPoint(stream, point, "Synchronize");
  const auto is_over = [&] { return stream.failure || stream.is_destroyed || stream.reached >= point; };
  if (timeout_ns > kLongest) {
    changed_.wait(lock, is_over);
  } else {
    changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), is_over);
  }
  ThrowIfFailed(stream);
  if (stream.reached >= point) return;
  if (stream.is_destroyed) {
    Complain("DestroyStream while Synchronize waits for the stream");
    throw kit::Error(EP_STATUS_EP_FAIL, "the stream was destroyed meanwhile");
  }
  throw kit::Error(EP_STATUS_TIMEOUT, "point " + std::to_string(point) + " is not reached");
}

void Machine::OnReached(Stream& stream, uint64_t point, EpPointListener listener, void* user) {
  EpStatus* status = nullptr;
  {
    const Lock lock(mutex_);
    if (!stream.failure) CheckPoint(stream, point, "OnReached");
    if (!stream.failure && stream.reached < point) {
      stream.listeners.push_back({point, listener, user});
      return;
    }
    status = ToStatus(stream.failure);
  }
  listener(user, status);
}

}  // namespace epiphyte::test::device
