// One NPU chip: scratchpad, accumulators, and the execution of commands. It is functional only; device/cycles.h
// computes time.
//
//   Device device(config);                       // reusable; one run at a time, each on any thread
//   bool finished = device.Run(program, {.weights = ..., .scratch = ..., .inputs = ..., .outputs = ...}, nullptr);
//
// The program must have passed Verify() for the config and for memory of these sizes. On-chip memory begins as zeros,
// so that a run's bits are a function of the program and of external memory.
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

  // `go_on` is called before each command and every few milliseconds of a long one, with the number of finished
  // commands. Run ends and returns false when `go_on` does. `go_on` may be empty.
  bool Run(std::span<const Command> program, const ExternalMemory& memory, const std::function<bool(size_t)>& go_on);

 private:
  void Execute(const QuantizedOp& work, const ExternalMemory& memory, Steps& steps);

  std::vector<std::byte> scratchpad_;
  std::vector<int32_t> accumulators_;
  Convolution convolution_;
};

}  // namespace epiphyte::npusim
