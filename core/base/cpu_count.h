// How many processors this process may use.
#pragma once

#include <cstdint>

namespace epiphyte::core {

struct CpuCount {
  uint32_t logical = 1;   // hardware threads in the affinity mask
  uint32_t physical = 1;  // cores with at least one of these hardware threads
};

// Both counts are at least 1. Each hardware thread counts as a core when the system doesn't say which threads share
// one.
CpuCount UsableCpus();

}  // namespace epiphyte::core
