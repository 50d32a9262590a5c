// Run bindings: where the outputs of a run go, when the application has said so.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/device/device_memory.h"
#include "core/graph/value.h"

namespace epiphyte::core {

// At most one of the two. None: wherever the run makes it.
struct OutputBinding {
  // A tensor of numbers that the output is written into. The run's result is this very value. Where the kernel can't
  // write there, or would overwrite what it or another one still reads, it is copied when all is done.
  ValuePtr value;
  std::shared_ptr<DeviceMemory> memory;  // where a new value is made
};

// The addresses and shapes that kernels saw in the runs of one binding, and the number for each (EpRunInfo::binding).
// Thread-safe.
class BindingNumbers {
 public:
  // The number for the values of step `step`: the same as in its last run when nothing changed. Never 0.
  uint64_t Of(size_t step, const std::vector<uint64_t>& addresses_and_shapes);

 private:
  struct Seen {
    std::vector<uint64_t> values;
    uint64_t number = 0;
  };
  std::mutex mutex_;
  std::vector<Seen> steps_;
};

struct RunBindings {
  std::vector<OutputBinding> outputs;  // by index
  BindingNumbers* numbers = nullptr;   // null: the same values never come again
};

}  // namespace epiphyte::core
