#include "plugins/cpu/onednn/omp_on_host/omp_on_host.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

namespace {

// Barrier for all members of a parallel region. Members run at the same time, so spinning is short.
class Barrier {
 public:
  void Wait(uint32_t size) {
    const uint32_t round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    for (uint32_t spins = 0; round_.load(std::memory_order_acquire) == round; ++spins)
      if (spins > 4096) sched_yield();
  }

 private:
  std::atomic<uint32_t> arrived_{0};
  std::atomic<uint32_t> round_{0};
};

struct ThreadState {
  EpiphyteOmpTeam team;
  Barrier* barrier;
  uint32_t member;
  uint32_t size;  // 0: not in a parallel region
  uint64_t probes;
};
// Initial-exec memory comes with the thread. Lazily allocated thread-local memory would end the process when there is
// none at the first use.
[[gnu::tls_model("initial-exec")]] thread_local ThreadState state{};

// oneDNN divides its work by this number. The host's thread groups have no more members than there are threads.
uint32_t TeamSize() {
  EpiphyteOmpTeam& team = state.team;
  if (team.services == nullptr) return 1;
  if (team.threads == 0) team.threads = std::max(team.services->GetThreadCount(team.pool), 1u);
  return team.threads;
}

struct Region {
  void (*body)(void*);
  void* data;
  uint32_t size;
  bool independent;
  Barrier barrier;
};

void RunMember(void* user, uint32_t member, uint32_t size) {
  auto* region = static_cast<Region*>(user);
  const ThreadState saved = state;
  state.barrier = region->independent ? nullptr : &region->barrier;
  state.member = member;
  state.size = size;
  region->body(region->data);
  const uint64_t probes = state.probes;
  state = saved;
  state.probes = probes;
}

// Runs members [begin, end) one after the other.
void RunMembers(void* user, uint64_t begin, uint64_t end, uint32_t /*worker*/) {
  auto* region = static_cast<Region*>(user);
  for (uint64_t member = begin; member < end; ++member) RunMember(user, static_cast<uint32_t>(member), region->size);
}

}  // namespace

extern "C" {

EPIPHYTE_OMP_EXPORT EpiphyteOmpTeam EpiphyteOmpSetTeam(EpiphyteOmpTeam team) {
  const EpiphyteOmpTeam before = state.team;
  state.team = team;
  return before;
}

EPIPHYTE_OMP_EXPORT uint32_t EpiphyteOmpSetIndependent(uint32_t independent) {
  const uint32_t before = state.team.independent;
  state.team.independent = independent;
  return before;
}

EPIPHYTE_OMP_EXPORT uint64_t EpiphyteOmpProbe(void) { return state.probes; }

EPIPHYTE_OMP_EXPORT int omp_get_max_threads(void) {
  ++state.probes;
  return static_cast<int>(TeamSize());
}
EPIPHYTE_OMP_EXPORT int omp_get_num_threads(void) { return static_cast<int>(std::max(state.size, 1u)); }
EPIPHYTE_OMP_EXPORT int omp_get_thread_num(void) { return static_cast<int>(state.member); }
EPIPHYTE_OMP_EXPORT int omp_in_parallel(void) { return state.size > 1 ? 1 : 0; }

EPIPHYTE_OMP_EXPORT void GOMP_barrier(void) {
  if (state.size <= 1) return;
  // Without a barrier the members may run in turn on this thread, and the others would never arrive.
  if (state.barrier == nullptr) std::abort();
  state.barrier->Wait(state.size);
}

EPIPHYTE_OMP_EXPORT void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned /*flags*/) {
  uint32_t size = 1;
  // A nested region runs on one thread, as in OpenMP by default.
  if (threads != 1 && state.size <= 1) size = threads == 0 ? TeamSize() : std::min<uint32_t>(threads, TeamSize());
  const bool independent = state.team.independent != 0;
  Region region{body, data, size, independent, {}};
  if (size == 1) {
    RunMember(&region, 0, 1);
  } else if (independent) {
    state.team.services->ParallelFor(state.team.pool, size, 1, &RunMembers, &region);
  } else {
    state.team.services->RunGang(state.team.pool, size, &RunMember, &region);
  }
}

}  // extern "C"
