#include "plugins/vulkan/program/memory_plan.h"

#include <algorithm>

#include "epiphyte/kit/memory/intervals.hpp"

namespace epiphyte::vulkan {

int32_t RootOf(const Program& program, int32_t tensor) {
  while (program.tensors[static_cast<size_t>(tensor)].same_as >= 0)
    tensor = program.tensors[static_cast<size_t>(tensor)].same_as;
  return tensor;
}

void BindOutputs(Program& program) {
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    if (program.outputs[i].tensor < 0) continue;
    DeviceTensor& root = program.tensors[static_cast<size_t>(RootOf(program, program.outputs[i].tensor))];
    if (root.place != Place::kArena) continue;
    root.place = Place::kOutput;
    root.index = i;
  }
}

MemoryPlan PlanMemory(const Program& program) {
  constexpr int32_t kUnused = -1;
  std::vector<kit::MemoryInterval> by_tensor(program.tensors.size(), {0, kUnused, kUnused, 0});
  const auto use = [&](int32_t tensor, int32_t step) {
    kit::MemoryInterval& interval = by_tensor[static_cast<size_t>(RootOf(program, tensor))];
    if (interval.first == kUnused) interval.first = step;
    interval.last = std::max(interval.last, step);
  };
  const auto steps = static_cast<int32_t>(program.dispatches.size());
  for (int32_t step = 0; step < steps; ++step)
    for (const Binding& binding : program.dispatches[static_cast<size_t>(step)].bindings) use(binding.tensor, step);
  for (const Program::Output& output : program.outputs)
    if (output.tensor >= 0) use(output.tensor, steps);

  std::vector<kit::MemoryInterval> intervals;
  std::vector<size_t> tensors;
  for (size_t i = 0; i < program.tensors.size(); ++i) {
    const DeviceTensor& tensor = program.tensors[i];
    if (tensor.place != Place::kArena || tensor.same_as >= 0 || by_tensor[i].first == kUnused) continue;
    by_tensor[i].bytes = tensor.bytes;
    intervals.push_back(by_tensor[i]);
    tensors.push_back(i);
  }
  MemoryPlan plan;
  plan.arena_bytes = kit::PlaceIntervals(intervals, kTensorAlignment);
  plan.offsets.resize(program.tensors.size());
  for (size_t i = 0; i < intervals.size(); ++i) plan.offsets[tensors[i]] = intervals[i].offset;
  for (size_t i = 0; i < program.tensors.size(); ++i)
    plan.offsets[i] = plan.offsets[static_cast<size_t>(RootOf(program, static_cast<int32_t>(i)))];
  return plan;
}

}  // namespace epiphyte::vulkan
