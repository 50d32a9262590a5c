// How many processors this process may use.
#pragma once

#include <cstdint>

namespace epiphyte::core {

struct CpuCount {
  uint32_t logical = 1;   // hardware threads in the affinity mask
  uint32_t physical = 1;  // cores they belong to
};

// Both at least 1. Where the system doesn't say which hardware threads share a core, each counts as one.
CpuCount UsableCpus();

}  // namespace epiphyte::core
