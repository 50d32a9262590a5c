// MemoryPlan: the place of each value of a plan in a frame's arena, learned from one profiled run with given input
// shapes.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/cpu/kernel/tensor.h"

namespace epiphyte::cpu {

// Element types and dimensions of all inputs, flattened; equal signatures share a memory plan.
using ShapeSignature = std::vector<int64_t>;

// How a value got its memory in the profiled run. A later run gets the planned memory only for equal requests.
enum class ValueOrigin : uint8_t {
  kNone,     // not from the frame's memory: host memory, a sequence, or a value that was never made
  kFresh,    // its own memory
  kInPlace,  // the memory of value `source` after its last use
  kAlias,    // the memory of value `source` under another shape
};

struct MemoryPlan {
  struct Value {
    ValueOrigin origin = ValueOrigin::kNone;
    bool of_plain_copy = false;  // kInPlace, kAlias: `source` is represented by its row-major copy
    int32_t source = -1;
    uint64_t offset = 0;  // kFresh
    uint64_t bytes = 0;
    uint64_t plain_offset = 0;  // place of the row-major copy, for a value in another layout
    uint64_t plain_bytes = 0;   // 0: no copy was made
  };
  ShapeSignature signature;
  std::vector<Value> values;
  uint64_t arena_bytes = 0;
  uint64_t scratch_bytes = 0;  // maximum over the nodes
};

}  // namespace epiphyte::cpu
