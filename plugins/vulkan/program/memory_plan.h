// Memory plan: the places of a program's tensors in its arena, a single range of device memory. Tensors that are needed
// at different times share memory.
//
//     const MemoryPlan plan = PlanMemory(program);
//     plan.offsets[tensor];   // in an arena of plan.arena_bytes
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/vulkan/program/program.h"

namespace epiphyte::vulkan {

struct MemoryPlan {
  std::vector<uint64_t> offsets;  // by tensor, in bytes; 0 for tensors outside the arena
  uint64_t arena_bytes = 0;
};

// Alignment of tensors and literals, in bytes. No device requires more for a binding.
inline constexpr uint64_t kTensorAlignment = 256;

// The tensor that owns the memory of `tensor`: itself, or the end of its same_as chain.
int32_t RootOf(const Program& program, int32_t tensor);
// Gives an arena tensor that is an output of the partition the place kOutput: it is written where the run wants it.
// Other outputs are to be copied: an input that is passed through, or the second of two outputs that are one tensor.
void BindOutputs(Program& program);
// Plans the arena. Outputs keep their places until the end of the program.
MemoryPlan PlanMemory(const Program& program);

}  // namespace epiphyte::vulkan
