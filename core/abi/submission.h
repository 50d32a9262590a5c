// Submission: what an Execute has on top when not all of its values are the host's to make: kernels on devices, and runs
// whose outputs the application has bound.
#pragma once

#include <cstdint>
#include <span>

#include "core/graph/value.h"
#include "epiphyte/draft/ep_device.h"

namespace epiphyte::core {

// Where the outputs of one Execute go. Called on its thread; what it throws is the status that the plugin gets.
class OutputMaker {
 public:
  virtual ~OutputMaker() = default;
  // For EpRunApi::AllocateOutput: host memory.
  virtual ValuePtr MakeOnHost(uint32_t index, DataType type, std::span<const int64_t> dims) = 0;
  // For EpDeviceRunApi::AllocateOutput: wherever the run wants it, of what the kernel said.
  virtual ValuePtr Make(uint32_t index, DataType type, std::span<const int64_t> dims) = 0;
  // For EpDeviceRunApi::AdoptOutput. On success the buffer is the value's.
  virtual ValuePtr Adopt(uint32_t index, DataType type, std::span<const int64_t> dims, uint32_t memory,
                         EpBuffer* buffer, uint64_t size, uint64_t offset) = 0;
};

struct Submission {
  OutputMaker* outputs = nullptr;  // never null
  EpStream* stream = nullptr;      // null: the kernel is on no device
  uint64_t binding = 0;            // EpRunInfo::binding
  // Filled by Kernel::Execute for an ASYNC kernel with states: in use until the work is done, then Kernel::GiveState.
  // Also after an error: something may have been submitted.
  EpKernelState* held_state = nullptr;
};

}  // namespace epiphyte::core
