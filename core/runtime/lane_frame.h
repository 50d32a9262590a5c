// Lane frame: the values of one run, who may still be using them, and the streams of the run. Kept and reused, as
// streams are dear.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/abi/provider.h"
#include "core/device/device_stream.h"
#include "core/graph/run_state.h"
#include "core/graph/value.h"

namespace epiphyte::core {

// A value and the lanes whose submitted work uses it.
struct LaneValue {
  static constexpr uint32_t kNoLane = UINT32_MAX;

  ValuePtr value;
  uint64_t used_by = 0;       // one bit a lane
  uint32_t writer = kNoLane;  // whose work fills it
  uint64_t written = 0;       // by its submission of this number
  // The same data elsewhere, made when it was first needed there. `lane`: kNoLane for host memory.
  struct Copy;
  std::vector<Copy> copies;
};

struct LaneValue::Copy {
  uint32_t lane = kNoLane;
  uint32_t memory = 0;
  LaneValue value;
};

// One lane in one run.
struct LaneState {
  std::unique_ptr<DeviceStream> stream;
  uint64_t submitted = 0;  // how many submissions there were
  uint64_t signalled = 0;  // so many of them are behind `point`
  uint64_t point = 0;
  uint64_t reached = 0;              // so many of them the host has seen done
  std::vector<uint64_t> waited_for;  // by lane: so many of its submissions come before what is submitted here now
  // What submitted work uses, until it is done.
  std::vector<ValuePtr> held;
  std::vector<std::shared_ptr<DevicePiece>> held_pieces;
  std::vector<std::pair<Kernel*, EpKernelState*>> held_states;
  // Memory that only submitted work of this lane uses: what is submitted later can have it.
  std::vector<std::shared_ptr<DevicePiece>> reusable;

  bool idle() const { return reached == submitted; }
};

struct LaneFrame {
  std::vector<LaneValue> slots;
  std::vector<LaneState> lanes;
  std::vector<Value*> arguments;  // of the running step
  std::vector<LaneValue*> used;   // by it: the arguments, or their copies; null: absent
  std::vector<ValuePtr> results;
};

}  // namespace epiphyte::core
