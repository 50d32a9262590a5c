// DeviceQueues: the order of work on the devices of one run, and how long what it uses is kept.
//
// Work is submitted to a queue and done later, in order. A value is written by one submission and read by others; who
// wants to read it elsewhere waits for that, on the device where both streams are of one plugin, else here. What
// submitted work uses is kept until the host has seen it done; memory that only work of one queue uses can be had at
// once by what is submitted to that queue later.
//
// Belongs to the thread of its run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/run_state.h"
#include "core/runtime/queue_frame.h"
#include "core/runtime/queue_plan.h"

namespace epiphyte::core {

class DeviceQueues {
 public:
  DeviceQueues(const QueuePlan& plan, QueueFrame& frame, RunState& run) : plan_(plan), frame_(frame), run_(run) {}

  QueueState& operator[](uint32_t queue) { return frame_.queues[queue]; }
  size_t count() const { return frame_.queues.size(); }

  // What is submitted to `queue` from now on finds `value` written.
  void WaitOnQueue(uint32_t queue, const TrackedValue& value);
  // The host finds `value` written.
  void WaitForWriter(const TrackedValue& value);
  // All that was submitted is done.
  void Synchronize(uint32_t queue);
  void SynchronizeAll();
  // Whether some queue but `queue` still uses the value.
  bool IsUsedElsewhere(const TrackedValue& value, uint32_t queue) const;

  void NoteUse(uint32_t queue, TrackedValue& value) { value.used_by |= uint64_t{1} << queue; }
  void NoteWritten(uint32_t queue, TrackedValue& value);  // by the last submission
  // Submits copies that count as one submission. None: nothing is submitted.
  void Copy(uint32_t queue, std::span<const EpCopy> copies);

  // A tensor in a queue's memory.
  ValuePtr Make(uint32_t queue, Place place, DataType type, std::span<const int64_t> dims, std::string_view what);
  // Copies to host memory what isn't there, by one submission to each queue that it comes from. Null entries are
  // absent.
  void CopyToHost(std::span<TrackedValue* const> values);
  // What CopyToHost has brought there, or the value itself. It may have to be awaited.
  TrackedValue& OnHost(TrackedValue& value) {
    return value.value && value.value->IsOnDevice() ? *FindCopy(value, kHostQueue, EP_MEMORIES_HOST) : value;
  }
  // Its copy that `set` allows; null when there is none.
  TrackedValue* FindCopy(TrackedValue& value, uint32_t queue, uint32_t set);

  // Lets go of a value and its copies, now or as soon as submitted work allows.
  void Drop(TrackedValue& value);
  // After a failure, or before the run ends: nothing is under way any more, nothing is kept. Never throws.
  void Abandon() noexcept;

 private:
  uint64_t Signal(uint32_t queue);
  void DropOne(TrackedValue& value);
  uint64_t UsersUnderWay(const TrackedValue& value) const;
  void ReleaseHeld(QueueState& queue) noexcept;
  std::shared_ptr<DeviceAllocation> TakeMemory(uint32_t queue, DeviceMemory& memory, uint64_t bytes,
                                               std::string_view what);

  const QueuePlan& plan_;
  QueueFrame& frame_;
  RunState& run_;
};

}  // namespace epiphyte::core
