// QueueFrame: the values of one run, the queues that may still use them, and the streams of the run. Frames are kept
// and reused, because streams are expensive.
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

// A value and the queues with submitted work that uses it.
struct TrackedValue {
  static constexpr uint32_t kNoQueue = UINT32_MAX;

  ValuePtr value;
  uint64_t used_by = 0;        // bit set, one bit for each queue
  uint32_t writer = kNoQueue;  // queue that writes the value
  uint64_t written = 0;        // number of the submission to `writer` that writes it
  // Copies in other memories, made when they were first needed there. `queue`: kNoQueue for host memory.
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
  uint64_t submitted = 0;  // number of submissions so far
  uint64_t signalled = 0;  // number of submissions that `point` covers
  uint64_t point = 0;
  uint64_t reached = 0;  // number of submissions that the host has seen done
  // For each other queue the number of its submissions that work submitted here waits for.
  std::vector<uint64_t> waited_for;
  // Values, memory and kernel states in use until submitted work is done.
  std::vector<ValuePtr> held;
  std::vector<std::shared_ptr<DeviceAllocation>> held_pieces;
  std::vector<std::pair<Kernel*, EpKernelState*>> held_states;
  // Memory that only submitted work of this queue uses: later submissions may have it.
  std::vector<std::shared_ptr<DeviceAllocation>> reusable;

  bool idle() const { return reached == submitted; }
};

struct QueueFrame {
  std::vector<TrackedValue> slots;
  std::vector<QueueState> queues;
  std::vector<Value*> arguments;    // arguments of the running step
  std::vector<TrackedValue*> used;  // values that the running step uses: the arguments, or their copies; null: absent
  std::vector<ValuePtr> results;
};

}  // namespace epiphyte::core
