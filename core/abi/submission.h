// Submission: additional state of an Execute that doesn't make all its values in the host's memory itself: a kernel on
// a device, or a run with outputs that the application has bound.
#pragma once

#include <cstdint>
#include <span>

#include "core/graph/value.h"
#include "epiphyte/draft/ep_device.h"

namespace epiphyte::core {

// Makes the outputs of one Execute. Called on its thread; the plugin gets exceptions from here as a status.
class OutputMaker {
 public:
  virtual ~OutputMaker() = default;
  // For EpRunApi::AllocateOutput: makes the output in host memory.
  virtual ValuePtr MakeOnHost(uint32_t index, DataType type, std::span<const int64_t> dims) = 0;
  // For EpDeviceRunApi::AllocateOutput: makes the output where the run wants it, among the memories that the kernel
  // named.
  virtual ValuePtr Make(uint32_t index, DataType type, std::span<const int64_t> dims) = 0;
  // For EpDeviceRunApi::AdoptOutput. On success the value owns the buffer.
  virtual ValuePtr Adopt(uint32_t index, DataType type, std::span<const int64_t> dims, uint32_t memory,
                         EpBuffer* buffer, uint64_t size, uint64_t offset) = 0;
};

struct Submission {
  OutputMaker* outputs = nullptr;  // never null
  EpStream* stream = nullptr;      // null: the kernel is on no device
  uint64_t binding = 0;            // EpRunInfo::binding
  // State of an ASYNC kernel; Kernel::Execute fills it in. It is in use until the work is done; call Kernel::GiveState
  // then. After an error, too: some work may have been submitted.
  EpKernelState* held_state = nullptr;
};

}  // namespace epiphyte::core
