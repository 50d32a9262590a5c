// The thread of a device, which executes the work submitted to its streams.
#include <chrono>
#include <utility>

#include "tests/device/plugin/control.h"
#include "tests/device/plugin/machine.h"

namespace epiphyte::test::device {
namespace {

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::optional<Failure> Run(const Work& work) {
  try {
    work.run();
    return std::nullopt;
  } catch (const kit::Error& error) {
    return Failure{error.code(), error.what()};
  } catch (const std::exception& error) {
    return Failure{EP_STATUS_EP_FAIL, error.what()};
  }
}

}  // namespace

void Machine::Serve(Device& device) {
  Lock lock(mutex_);
  while (!is_stopping_) {
    bool is_held = false;
    if (const std::shared_ptr<Stream> stream = NextStream(device, &is_held)) {
      DoItem(lock, device, *stream);
    } else if (is_held) {
      // The wait polls, because a test releases held work without a notification.
      changed_.wait_for(lock, std::chrono::microseconds(500));
    } else {
      changed_.wait(lock);
    }
  }
}

std::shared_ptr<Stream> Machine::NextStream(Device& device, bool* is_held) {
  const size_t count = device.streams.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t at = (device.turn + i) % count;
    const std::shared_ptr<Stream>& stream = device.streams[at];
    if (stream->items.empty()) continue;
    const Item& item = stream->items.front();
    if (item.work != nullptr && Control().hold[device.slot] != 0) {
      *is_held = true;
      continue;
    }
    if (item.other != nullptr && item.other->reached < item.point && !item.other->failure &&
        !item.other->is_destroyed) {
      continue;
    }
    device.turn = at + 1;
    return stream;
  }
  return nullptr;
}

void Machine::DoItem(Lock& lock, Device& device, Stream& stream) {
  Item item = std::move(stream.items.front());
  stream.items.pop_front();
  if (item.work != nullptr) {
    DoWork(lock, device, stream, item);
  } else if (item.other == nullptr) {
    Reach(stream, item.point);
  } else if (item.other->reached < item.point) {
    Fail(stream,
         item.other->failure.value_or(Failure{EP_STATUS_EP_FAIL, "the stream that this one waits for was destroyed"}));
  }
  changed_.notify_all();
  const std::vector<std::shared_ptr<Stream>> streams = device.streams;
  for (const std::shared_ptr<Stream>& each : streams) CallListeners(lock, *each);
}

void Machine::DoWork(Lock& lock, Device& device, Stream& stream, Item& item) {
  stream.is_running = true;
  lock.unlock();
  TestDeviceControl& control = Control();
  TestDeviceSpan span = {number_, static_cast<int>(device.index), item.work->what, Now(), 0};
  std::optional<Failure> failure;
  if (item.work->is_kernel) std::this_thread::sleep_for(std::chrono::microseconds(control.delay_us[device.slot]));
  if (item.fails) {
    failure = Failure{EP_STATUS_EP_FAIL, "'" + span.what + "' failed on device 'test " + std::to_string(device.index) +
                                             "', as it was asked to"};
  } else if (!item.loses) {
    failure = Run(*item.work);
  }
  span.end_ns = Now();
  if (!failure && !item.loses) {
    const std::lock_guard control_lock(control.mutex);
    control.spans.push_back(span);
  }
  lock.lock();
  EndWork(stream, item);
  stream.is_running = false;
  if (item.loses) Lose(device, span.what);
  if (failure) Fail(stream, *failure);
}

void Machine::EndWork(const Stream& stream, Item& item) {
  for (const Use& use : item.work->uses) {
    std::erase_if(use.buffer->pending, [&](const PendingUse& pending) {
      return pending.stream == stream.id && pending.sequence == item.sequence;
    });
  }
  item.work.reset();
}

void Machine::Lose(Device& device, const std::string& during) {
  device.is_lost = true;
  ++device.losses;
  for (const std::shared_ptr<Stream>& stream : device.streams) {
    Fail(*stream, {EP_STATUS_DEVICE_RESET,
                   "device 'test " + std::to_string(device.index) + "' was lost during '" + during + "'", &device});
  }
}

void Machine::Reach(Stream& stream, uint64_t point) {
  stream.reached = point;
  stream.unreached.erase(stream.unreached.begin(), stream.unreached.upper_bound(point));
}

void Machine::Fail(Stream& stream, const Failure& failure) {
  if (stream.failure) return;
  stream.failure = failure;
  DropItems(stream);
}

void Machine::DropItems(Stream& stream) {
  for (Item& item : stream.items) {
    if (item.work != nullptr) EndWork(stream, item);
  }
  stream.items.clear();
  stream.unreached.clear();
}

void Machine::CallListeners(Lock& lock, Stream& stream) {
  for (size_t i = 0; i < stream.listeners.size();) {
    const Listener listener = stream.listeners[i];
    if (!stream.failure && stream.reached < listener.point) {
      ++i;
      continue;
    }
    stream.listeners.erase(stream.listeners.begin() + static_cast<std::ptrdiff_t>(i));
    EpStatus* const status = ToStatus(stream.failure);
    ++stream.calling;
    lock.unlock();
    listener.call(listener.user, status);
    lock.lock();
    --stream.calling;
    changed_.notify_all();
    i = 0;  // the list may have changed while the lock was released
  }
}

EpStatus* Machine::ToStatus(const std::optional<Failure>& failure) {
  if (!failure) return nullptr;
  if (failure->lost != nullptr) failure->lost->losses_told = failure->lost->losses;
  return host_.status->Create(failure->code, failure->message.c_str());
}

}  // namespace epiphyte::test::device
