// Lanes: the order of work on the devices of one run, and how long what it uses is kept.
//
// Work is submitted to a lane and done later, in order. A value is written by one submission and read by others; who
// wants to read it elsewhere waits for that, on the device where both streams are of one plugin, else here. What
// submitted work uses is kept until the host has seen it done; memory that only work of one lane uses can be had at
// once by what is submitted to that lane later.
//
// Belongs to the thread of its run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/run_state.h"
#include "core/runtime/lane_frame.h"
#include "core/runtime/lane_plan.h"

namespace epiphyte::core {

class Lanes {
 public:
  Lanes(const LanePlan& plan, LaneFrame& frame, RunState& run) : plan_(plan), frame_(frame), run_(run) {}

  LaneState& operator[](uint32_t lane) { return frame_.lanes[lane]; }
  size_t count() const { return frame_.lanes.size(); }

  // What is submitted to `lane` from now on finds `value` written.
  void Order(uint32_t lane, const LaneValue& value);
  // The host finds `value` written.
  void AwaitWritten(const LaneValue& value);
  // All that was submitted is done.
  void Synchronize(uint32_t lane);
  void SynchronizeAll();
  // Whether some lane but `lane` still uses the value.
  bool IsUsedElsewhere(const LaneValue& value, uint32_t lane) const;

  void NoteUse(uint32_t lane, LaneValue& value) { value.used_by |= uint64_t{1} << lane; }
  void NoteWritten(uint32_t lane, LaneValue& value);  // by the last submission
  // Submits copies that count as one submission. None: nothing is submitted.
  void Copy(uint32_t lane, std::span<const EpCopy> copies);

  // A tensor in a lane's memory.
  ValuePtr Make(uint32_t lane, Place place, DataType type, std::span<const int64_t> dims, std::string_view what);
  // Copies to host memory what isn't there, by one submission to each lane that it comes from. Null entries are absent.
  void BringToHost(std::span<LaneValue* const> values);
  // What BringToHost has brought there, or the value itself. It may have to be awaited.
  LaneValue& OnHost(LaneValue& value) {
    return value.value && value.value->IsOnDevice() ? *FindCopy(value, kHostLane, EP_MEMORIES_HOST) : value;
  }
  // Its copy that `set` allows; null when there is none.
  LaneValue* FindCopy(LaneValue& value, uint32_t lane, uint32_t set);

  // Lets go of a value and its copies, now or as soon as submitted work allows.
  void Drop(LaneValue& value);
  // After a failure, or before the run ends: nothing is under way any more, nothing is kept. Never throws.
  void Abandon() noexcept;

 private:
  uint64_t Signal(uint32_t lane);
  void DropOne(LaneValue& value);
  uint64_t UsersUnderWay(const LaneValue& value) const;
  void ReleaseHeld(LaneState& lane) noexcept;
  std::shared_ptr<DevicePiece> TakeMemory(uint32_t lane, DeviceMemory& memory, uint64_t bytes, std::string_view what);

  const LanePlan& plan_;
  LaneFrame& frame_;
  RunState& run_;
};

}  // namespace epiphyte::core
