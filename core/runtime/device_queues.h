// DeviceQueues: orders the work on the devices of one run, and decides how long its memory is kept.
//
// Work is submitted to a queue and done later, in order. One submission writes a value, and others read it. A reader on
// another queue waits for the writer: on the device if both streams belong to one plugin, otherwise on the host. Values
// and memory that submitted work uses are kept until the host has seen it done. Memory that only one queue's work uses
// can be reused at once by later submissions to that queue.
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

  // Orders work that is submitted to `queue` from now on after the writer of `value`.
  void WaitOnQueue(uint32_t queue, const TrackedValue& value);
  // Blocks until `value` is written, so that the host can read it.
  void WaitForWriter(const TrackedValue& value);
  // Block until all submitted work is done.
  void Synchronize(uint32_t queue);
  void SynchronizeAll();
  // Whether the value is still used by a queue other than `queue`.
  bool IsUsedElsewhere(const TrackedValue& value, uint32_t queue) const;

  void NoteUse(uint32_t queue, TrackedValue& value) { value.used_by |= uint64_t{1} << queue; }
  void NoteWritten(uint32_t queue, TrackedValue& value);  // written by the last submission to `queue`
  // Submits the copies as one submission. Submits nothing for an empty list.
  void Copy(uint32_t queue, std::span<const EpCopy> copies);

  // Makes a tensor in a memory of the queue's device.
  ValuePtr Make(uint32_t queue, Place place, DataType type, std::span<const int64_t> dims, std::string_view what);
  // Copies values that aren't in host memory to it, by one submission to each queue that they come from. Null entries
  // stand for absent values.
  void CopyToHost(std::span<TrackedValue* const> values);
  // Returns the host copy that CopyToHost made, or the value itself. Its writer may still have to be waited for.
  TrackedValue& OnHost(TrackedValue& value) {
    return value.value && value.value->IsOnDevice() ? *FindCopy(value, kHostQueue, EP_MEMORIES_HOST) : value;
  }
  // Returns the value's copy in a memory of `set`; null when there is none.
  TrackedValue* FindCopy(TrackedValue& value, uint32_t queue, uint32_t set);

  // Releases a value and its copies, now or as soon as submitted work allows.
  void Drop(TrackedValue& value);
  // Called after a failure, or before the run ends. Afterwards no work is under way, and nothing is kept. Never throws.
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
