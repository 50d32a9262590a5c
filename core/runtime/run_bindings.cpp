#include "core/runtime/run_bindings.h"

#include "core/graph/run_state.h"

namespace epiphyte::core {

uint64_t BindingNumbers::Of(size_t step, const std::vector<uint64_t>& addresses_and_shapes) {
  const std::lock_guard lock(mutex_);
  if (steps_.size() <= step) steps_.resize(step + 1);
  Seen& seen = steps_[step];
  if (seen.number == 0 || seen.values != addresses_and_shapes) {
    seen.values = addresses_and_shapes;
    seen.number = RunState::NextId();  // any unique number will do
  }
  return seen.number;
}

}  // namespace epiphyte::core
