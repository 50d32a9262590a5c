#include "core/runtime/session_config.h"

namespace epiphyte::core {

MemoryLimits SessionValues::LimitsOfRuns(uint64_t memory) const {
  return {.value_bytes = max_value_bytes != 0 ? max_value_bytes : memory / 2,
          .run_bytes = max_run_bytes != 0 ? max_run_bytes : memory / 4 * 3};
}

}  // namespace epiphyte::core
