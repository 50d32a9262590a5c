// MemoryPlan: where each value of a plan lives in a frame's arena, learned from one run with given input shapes.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/cpu/kernel/tensor.h"

namespace epiphyte::cpu {

// Element types and dimensions of all inputs, flattened; equal signatures share a memory plan.
using ShapeSignature = std::vector<int64_t>;

// How a value got its memory in the run that was watched. Later runs get the same only if they do the same.
enum class ValueOrigin : uint8_t {
  kNone,     // not through the frame's memory: host memory, a sequence, never made
  kFresh,    // memory of its own
  kInPlace,  // in the memory of value `source`, which died there
  kAlias,    // the memory of value `source` under another shape
};

struct MemoryPlan {
  struct Value {
    ValueOrigin origin = ValueOrigin::kNone;
    bool of_plain_copy = false;  // kInPlace, kAlias: of the source's row-major copy
    int32_t source = -1;
    uint64_t offset = 0;  // kFresh
    uint64_t bytes = 0;
    uint64_t plain_offset = 0;  // of the row-major copy of a value in another layout
    uint64_t plain_bytes = 0;   // 0: there was none
  };
  ShapeSignature signature;
  std::vector<Value> values;
  uint64_t arena_bytes = 0;
  uint64_t scratch_bytes = 0;  // the most that one node asked for
};

}  // namespace epiphyte::cpu
