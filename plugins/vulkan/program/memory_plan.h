// Memory plan: where the tensors of a program lie in its one piece of device memory. Those that are needed at different
// times share it.
//
//     const MemoryPlan plan = PlanMemory(program);
//     plan.offsets[tensor];   // in an arena of plan.arena_bytes
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/vulkan/program/program.h"

namespace epiphyte::vulkan {

struct MemoryPlan {
  std::vector<uint64_t> offsets;  // by tensor; those that aren't in the arena have 0
  uint64_t arena_bytes = 0;
};

// At what multiples tensors and literals begin: no device asks for more of a binding.
inline constexpr uint64_t kTensorAlignment = 256;

// The tensor that owns the memory of `tensor`: itself, or the end of its same_as chain.
int32_t RootOf(const Program& program, int32_t tensor);
// Tensors of the arena that outputs of the partition are, and nothing else, get the place kOutput: they are made where
// the run wants them. Other outputs (an input as it is, the second of two that are one tensor) are to be copied.
void BindOutputs(Program& program);
// Outputs stay until the end.
MemoryPlan PlanMemory(const Program& program);

}  // namespace epiphyte::vulkan
