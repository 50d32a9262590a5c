// Run bindings: the places of a run's outputs that the application has chosen.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/device/device_memory.h"
#include "core/graph/value.h"

namespace epiphyte::core {

// At most one of the two is set. If none is, the run decides.
struct OutputBinding {
  // A tensor of numbers that the output is written into. The run returns this very value. If the kernel can't write
  // there, or would overwrite data that is still read, the output is copied when all is done.
  ValuePtr value;
  std::shared_ptr<DeviceMemory> memory;  // memory for a new value
};

// Numbers for the addresses and shapes that kernels saw in the runs of one binding (EpRunInfo::binding). Thread-safe.
class BindingNumbers {
 public:
  // Number for the values of step `step`: the same as in its last run when nothing changed. Never 0.
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
  std::vector<OutputBinding> outputs;  // indexed by output
  BindingNumbers* numbers = nullptr;   // null: the bound values are used for one run only
};

}  // namespace epiphyte::core
