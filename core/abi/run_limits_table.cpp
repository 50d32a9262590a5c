// The table of ep_run_limits.h.
#include <algorithm>

#include "core/abi/handles.h"

namespace epiphyte::core {
namespace {

EpStatus* EP_CALL TakeMemory(EpRun* run, uint64_t bytes) {
  if (run == nullptr) return MakeStatus(StatusCode::kInvalidArgument, "TakeMemory: the run is null");
  if (run->state == nullptr) return nullptr;
  return Guard([&] {
    run->state->Take(bytes);
    run->taken += bytes;
  });
}

void EP_CALL ReturnMemory(EpRun* run, uint64_t bytes) {
  if (run == nullptr || run->state == nullptr) return;
  const uint64_t returned = std::min(bytes, run->taken);
  run->state->Give(returned);
  run->taken -= returned;
}

}  // namespace

const EpRunLimitsApi kRunLimitsApi = {sizeof(EpRunLimitsApi), 0, TakeMemory, ReturnMemory};

}  // namespace epiphyte::core
