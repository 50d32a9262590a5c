#include "core/runtime/device_queues.h"

#include <algorithm>
#include <bit>

#include "core/base/error.h"
#include "core/device/transfer.h"
#include "core/runtime/value_places.h"

namespace epiphyte::core {
namespace {

constexpr uint32_t kNoQueue = TrackedValue::kNoQueue;

uint64_t Bit(uint32_t queue) { return uint64_t{1} << queue; }

}  // namespace

uint64_t DeviceQueues::Signal(uint32_t queue) {
  QueueState& state = frame_.queues[queue];
  if (state.signalled != state.submitted) {
    state.point = state.stream->Signal();
    state.signalled = state.submitted;
  }
  return state.point;
}

void DeviceQueues::WaitOnQueue(uint32_t queue, const TrackedValue& value) {
  const uint32_t writer = value.writer;
  if (writer == kNoQueue || writer == queue || frame_.queues[writer].reached >= value.written) return;
  QueueState& state = frame_.queues[queue];
  if (state.waited_for[writer] >= value.written) return;
  if (&plan_.device(writer).plugin() != &plan_.device(queue).plugin()) return Synchronize(writer);
  state.stream->WaitFor(*frame_.queues[writer].stream, Signal(writer));
  state.waited_for[writer] = frame_.queues[writer].signalled;
}

void DeviceQueues::WaitForWriter(const TrackedValue& value) {
  if (value.writer != kNoQueue && frame_.queues[value.writer].reached < value.written) Synchronize(value.writer);
}

void DeviceQueues::Synchronize(uint32_t queue) {
  QueueState& state = frame_.queues[queue];
  if (state.idle()) return;
  const Profiler::Span span(plan_.tools().profiler, "device", "wait", run_.tag());
  state.stream->Synchronize(Signal(queue));
  state.reached = state.signalled;
  ReleaseHeld(state);
}

void DeviceQueues::SynchronizeAll() {
  for (uint32_t queue = 0; queue < frame_.queues.size(); ++queue) Synchronize(queue);
}

uint64_t DeviceQueues::UsersUnderWay(const TrackedValue& value) const {
  uint64_t users = 0;
  for (uint64_t left = value.used_by; left != 0; left &= left - 1) {
    const auto queue = static_cast<uint32_t>(std::countr_zero(left));
    if (!frame_.queues[queue].idle()) users |= Bit(queue);
  }
  if (value.writer != kNoQueue && frame_.queues[value.writer].reached < value.written) users |= Bit(value.writer);
  return users;
}

bool DeviceQueues::IsUsedElsewhere(const TrackedValue& value, uint32_t queue) const {
  return (UsersUnderWay(value) & ~(queue == kHostQueue ? 0 : Bit(queue))) != 0;
}

void DeviceQueues::NoteWritten(uint32_t queue, TrackedValue& value) {
  value.writer = queue;
  value.written = frame_.queues[queue].submitted;
}

void DeviceQueues::Copy(uint32_t queue, std::span<const EpCopy> copies) {
  if (copies.empty()) return;
  const Profiler::Span span(plan_.tools().profiler, "device", "copy", run_.tag());
  QueueState& state = frame_.queues[queue];
  // Counted before the call: even after an error some of it may be under way.
  ++state.submitted;
  state.stream->Copy(copies);
}

std::shared_ptr<DeviceAllocation> DeviceQueues::TakeMemory(uint32_t queue, DeviceMemory& memory, uint64_t bytes,
                                                           std::string_view what) {
  std::vector<std::shared_ptr<DeviceAllocation>>& reusable = frame_.queues[queue].reusable;
  const auto fits = std::find_if(reusable.begin(), reusable.end(), [&](const auto& piece) {
    return piece->pool().get() == &memory && piece->size() >= bytes &&
           piece->size() / 2 <= std::max<uint64_t>(bytes, 4096);
  });
  if (fits != reusable.end()) {
    std::shared_ptr<DeviceAllocation> piece = std::move(*fits);
    *fits = std::move(reusable.back());
    reusable.pop_back();
    return piece;
  }
  try {
    return memory.Take(bytes, plan_.tools().account, what);
  } catch (const Error& error) {
    if (error.code() != StatusCode::kOutOfMemory) throw;
  }
  // Waiting frees the memory that submitted work still uses.
  SynchronizeAll();
  for (QueueState& state : frame_.queues) state.reusable.clear();
  return memory.Take(bytes, plan_.tools().account, what);
}

ValuePtr DeviceQueues::Make(uint32_t queue, Place place, DataType type, std::span<const int64_t> dims,
                            std::string_view what) {
  if (place.on_host()) return Value::Tensor(type, dims, &run_);
  DeviceMemory& memory = *plan_.device(queue).memories()[place.memory];
  const uint64_t bytes = DataTypeBytes(type, ElementCount(dims.data(), dims.size()));
  return Value::OnDevice(type, dims, TakeMemory(queue, memory, bytes, what));
}

TrackedValue* DeviceQueues::FindCopy(TrackedValue& value, uint32_t queue, uint32_t set) {
  for (TrackedValue::Copy& copy : value.copies) {
    const Place place{copy.queue == kNoQueue ? Place::kHost : copy.memory};
    if ((copy.queue == kNoQueue || copy.queue == queue) && place.In(set)) return &copy.value;
  }
  return nullptr;
}

void DeviceQueues::CopyToHost(std::span<TrackedValue* const> values) {
  const auto is_elsewhere = [](const TrackedValue* value) {
    return value != nullptr && value->value && value->value->IsOnDevice();
  };
  if (std::none_of(values.begin(), values.end(), is_elsewhere)) return;
  std::vector<std::vector<EpCopy>> batches(frame_.queues.size());
  std::vector<std::pair<TrackedValue*, uint32_t>> copied;  // each value with the queue that fills its last copy
  for (TrackedValue* const value : values) {
    if (!is_elsewhere(value)) continue;
    if (FindCopy(*value, kNoQueue, EP_MEMORIES_HOST) != nullptr) continue;
    const Value& source = *value->value;
    const DeviceAllocation& piece = *PieceOf(source);
    const uint32_t queue = plan_.QueueOf(piece.pool()->plugin(), piece.device());
    TrackedValue copy;
    if (queue == kHostQueue) {
      copy.value = ToHost(value->value, *plan_.tools().devices, &run_);
    } else {
      copy.value = Value::Tensor(source.type(), source.dims(), &run_);
      if (source.byte_size() != 0) {
        WaitOnQueue(queue, *value);
        batches[queue].push_back({CopyEndOf(source), CopyEndOf(*copy.value), source.byte_size()});
        copied.emplace_back(value, queue);
      }
    }
    value->copies.push_back({kNoQueue, 0, std::move(copy)});
  }
  for (uint32_t queue = 0; queue < batches.size(); ++queue) Copy(queue, batches[queue]);
  for (const auto& [value, queue] : copied) {
    NoteUse(queue, *value);
    TrackedValue& copy = *FindCopy(*value, kNoQueue, EP_MEMORIES_HOST);
    NoteUse(queue, copy);
    NoteWritten(queue, copy);
  }
}

void DeviceQueues::Drop(TrackedValue& value) {
  for (TrackedValue::Copy& copy : value.copies) DropOne(copy.value);
  value.copies.clear();
  DropOne(value);
}

void DeviceQueues::DropOne(TrackedValue& value) {
  if (!value.value) return;
  const uint64_t users = UsersUnderWay(value);
  if (std::popcount(users) == 1 && value.value->IsOnDevice() && value.value->IsUnique()) {
    QueueState& user = frame_.queues[static_cast<uint32_t>(std::countr_zero(users))];
    auto piece = std::static_pointer_cast<DeviceAllocation>(value.value->storage());
    const bool is_of_queue =
        &piece->pool()->plugin() == &user.stream->device().plugin() && piece->device() == user.stream->device().index();
    value.value = nullptr;
    if (is_of_queue && piece.use_count() == 1) {
      user.reusable.push_back(std::move(piece));
    } else {
      // Other values share its memory, or it is on another device.
      user.held_pieces.push_back(std::move(piece));
    }
  } else {
    for (uint64_t left = users; left != 0; left &= left - 1) {
      frame_.queues[static_cast<uint32_t>(std::countr_zero(left))].held.push_back(value.value);
    }
    if (users == 0) {
      run_.Drop(value.value);
    } else {
      value.value = nullptr;
    }
  }
  value.used_by = 0;
  value.writer = kNoQueue;
  value.written = 0;
}

void DeviceQueues::ReleaseHeld(QueueState& queue) noexcept {
  for (ValuePtr& value : queue.held) run_.Drop(value);
  queue.held.clear();
  queue.held_pieces.clear();
  for (const auto& [kernel, state] : queue.held_states) kernel->GiveState(state);
  queue.held_states.clear();
}

void DeviceQueues::Abandon() noexcept {
  for (QueueState& queue : frame_.queues) {
    if (!queue.idle()) queue.stream->Drain();
    queue.reached = queue.signalled = queue.submitted;
  }
  for (QueueState& queue : frame_.queues) {
    ReleaseHeld(queue);
    queue.reusable.clear();
  }
}

}  // namespace epiphyte::core
