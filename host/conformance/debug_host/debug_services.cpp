// Services of the host. The pool starts real threads for each loop, so that a plugin's code runs on threads of its own.
#include <algorithm>
#include <thread>
#include <vector>

#include "host/conformance/debug_host/debug_host.h"

struct EpThreadPool {
  uint32_t threads;
};

namespace epiphyte::conformance {
namespace {

thread_local bool t_inside_loop = false;

// A null pool counts as a pool of one thread.
uint32_t ThreadsOf(const EpThreadPool* pool, const char* function) {
  if (pool == nullptr) return 1;
  const EpThreadPool* known =
      Live<EpThreadPool, EpThreadPool>().Require(pool, function, Rule::kPoolEndsWithTheProvider, Rule::kDoesNotCrash);
  return known == nullptr ? 1 : known->threads;
}

// Runs `body(worker)` on `count` threads, including the caller's.
template <typename Body>
void OnThreads(uint32_t count, Body body) {
  std::vector<std::thread> threads;
  const auto inside = [&body](uint32_t worker) {
    const bool outer = t_inside_loop;
    t_inside_loop = true;
    body(worker);
    t_inside_loop = outer;
  };
  for (uint32_t worker = 1; worker < count; ++worker) threads.emplace_back(inside, worker);
  inside(0);
  for (std::thread& thread : threads) thread.join();
}

uint32_t EP_CALL IsLogged(EpLogLevel level) { return level >= EP_LOG_TRACE && level <= EP_LOG_ERROR ? 1 : 0; }
void EP_CALL Log(EpLogLevel, const char*, const char*) {}

void EP_CALL ParallelFor(EpThreadPool* pool, uint64_t count, uint64_t grain, EpParallelBody body, void* user) {
  if (count == 0) return;
  const uint64_t least = grain == 0 ? 1 : grain;
  const uint32_t threads = t_inside_loop ? 1 : ThreadsOf(pool, "ParallelFor");
  const uint64_t most = count <= least ? 1 : std::max<uint64_t>(2, count / least);
  const uint64_t shares = std::min<uint64_t>(threads, most), each = count / shares, more = count % shares;
  OnThreads(static_cast<uint32_t>(shares), [&](uint32_t worker) {
    const uint64_t begin = worker * each + std::min<uint64_t>(worker, more);
    body(user, begin, begin + each + (worker < more ? 1 : 0), worker);
  });
}

uint32_t EP_CALL GetThreadCount(EpThreadPool* pool) { return ThreadsOf(pool, "GetThreadCount"); }

void EP_CALL RunGang(EpThreadPool* pool, uint32_t size, EpGangBody body, void* user) {
  const uint32_t threads = ThreadsOf(pool, "RunGang");
  if (t_inside_loop && size > 1) {
    DebugHost::Current().Violate(Rule::kNoGangInALoop,
                                 "RunGang was asked for " + std::to_string(size) + " members inside a loop");
    return;
  }
  const uint32_t members = std::min(size, threads);
  if (members != 0) OnThreads(members, [&](uint32_t member) { body(user, member, members); });
}

}  // namespace

const EpServicesApi kDebugServicesApi = {sizeof(EpServicesApi), 0, IsLogged, Log, ParallelFor, GetThreadCount, RunGang};

EpThreadPool* DebugHost::OpenPool() {
  return Live<EpThreadPool, EpThreadPool>().Open(new EpThreadPool{kThreads});  // lives as long as the process
}

void DebugHost::ClosePool(EpThreadPool* pool) { Live<EpThreadPool, EpThreadPool>().Close(pool); }

}  // namespace epiphyte::conformance
