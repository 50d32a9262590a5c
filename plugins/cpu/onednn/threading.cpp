#include "plugins/cpu/onednn/threading.h"

#include <dlfcn.h>

#include <atomic>

#include "plugins/cpu/onednn/compat.h"

namespace epiphyte::cpu {
namespace {

// Set once when oneDNN is bound to a libgomp of the program's.
std::atomic<void (*)(int)> set_gomp_threads{nullptr};

}  // namespace

const char* BindOneDnnThreads() {
  // Making a descriptor asks for the number of threads.
  const uint64_t before = EpiphyteOmpProbe();
  const int64_t dims[] = {64, 64};
  const MemoryDesc any = AnyDesc(EP_TYPE_FLOAT, dims);
  InnerProductDesc(any, any, nullptr, any, UserScratchpad());
  if (EpiphyteOmpProbe() != before) return nullptr;
  set_gomp_threads = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  return "this program has an OpenMP runtime of its own, so oneDNN uses its threads beside the host's";
}

OneDnnThreads::OneDnnThreads(const kit::Threads& threads)
    : before_(EpiphyteOmpSetTeam({threads.services, threads.pool, threads.wanted <= 1 ? 1u : 0u, 0})) {
  if (auto* set = set_gomp_threads.load(std::memory_order_relaxed)) set(static_cast<int>(threads.Count()));
}

}  // namespace epiphyte::cpu
