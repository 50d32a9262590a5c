// One NPU's chip: scratchpad, accumulators, and what executes commands. Functional only; time is device/cycles.h.
//
//   Device device(config);                       // reusable; one run at a time, each on any thread
//   bool finished = device.Run(program, {.weights = ..., .scratch = ..., .inputs = ..., .outputs = ...}, nullptr);
//
// The program has passed Verify() for config and for memory of these sizes. On-chip memory begins as zeros, so a run's
// bits are a function of the program and of what lies in external memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "plugins/npu/simulator/device/convolution.h"
#include "plugins/npu/simulator/isa/command.h"
#include "plugins/npu/simulator/isa/config.h"

namespace epiphyte::npusim {

struct ExternalMemory {
  const std::byte* weights = nullptr;
  std::byte* scratch = nullptr;
  std::span<const std::byte* const> inputs;
  std::span<std::byte* const> outputs;
};

class Device {
 public:
  explicit Device(const Config& config);

  // go_on, unless empty, is asked before each command and every few milliseconds of a long one, with how many are done;
  // false ends the run, and Run returns false.
  bool Run(std::span<const Command> program, const ExternalMemory& memory, const std::function<bool(size_t)>& go_on);

 private:
  void Execute(const QuantizedOp& work, const ExternalMemory& memory, Steps& steps);

  std::vector<std::byte> scratchpad_;
  std::vector<int32_t> accumulators_;
  Convolution convolution_;
};

}  // namespace epiphyte::npusim
