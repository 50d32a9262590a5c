// DeviceQueue frame: the values of one run, who may still be using them, and the streams of the run. Kept and reused,
// as streams are dear.
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

// A value and the queues whose submitted work uses it.
struct TrackedValue {
  static constexpr uint32_t kNoQueue = UINT32_MAX;

  ValuePtr value;
  uint64_t used_by = 0;        // one bit a queue
  uint32_t writer = kNoQueue;  // whose work fills it
  uint64_t written = 0;        // by its submission of this number
  // The same data elsewhere, made when it was first needed there. `queue`: kNoQueue for host memory.
  struct Copy;
  std::vector<Copy> copies;
};

struct TrackedValue::Copy {
  uint32_t queue = kNoQueue;
  uint32_t memory = 0;
  TrackedValue value;
};

// One queue in one run.
struct QueueState {
  std::unique_ptr<DeviceStream> stream;
  uint64_t submitted = 0;  // how many submissions there were
  uint64_t signalled = 0;  // so many of them are behind `point`
  uint64_t point = 0;
  uint64_t reached = 0;              // so many of them the host has seen done
  std::vector<uint64_t> waited_for;  // by queue: so many of its submissions come before what is submitted here now
  // What submitted work uses, until it is done.
  std::vector<ValuePtr> held;
  std::vector<std::shared_ptr<DeviceAllocation>> held_pieces;
  std::vector<std::pair<Kernel*, EpKernelState*>> held_states;
  // Memory that only submitted work of this queue uses: what is submitted later can have it.
  std::vector<std::shared_ptr<DeviceAllocation>> reusable;

  bool idle() const { return reached == submitted; }
};

struct QueueFrame {
  std::vector<TrackedValue> slots;
  std::vector<QueueState> queues;
  std::vector<Value*> arguments;    // of the running step
  std::vector<TrackedValue*> used;  // by it: the arguments, or their copies; null: absent
  std::vector<ValuePtr> results;
};

}  // namespace epiphyte::core
