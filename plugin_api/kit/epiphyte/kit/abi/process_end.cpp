#include "epiphyte/kit/abi/process_end.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace epiphyte::kit {
namespace {

// Longest time that exit() waits for calls in progress. It is longer than any step between two checks of HasBegun
// should take, and short enough for a user who waits for the program to end.
constexpr std::chrono::seconds kPatience{10};

// Threads count their calls in different cache lines to avoid false sharing.
struct alignas(64) Counter {
  std::atomic<int64_t> calls{0};
};
constinit std::array<Counter, 16> g_counters;
constinit std::atomic<uint32_t> g_next_counter{0};

// Number of calls in progress on this thread. Calls nest when one comes from a callback of another.
thread_local int64_t t_own_calls = 0;

Counter& CounterOfThread() {
  thread_local const uint32_t number = g_next_counter.fetch_add(1, std::memory_order_relaxed);
  return g_counters[number % g_counters.size()];
}

int64_t ProcessNumber() {
#if defined(__unix__) || defined(__APPLE__)
  return getpid();
#else
  return 0;
#endif
}

// Number of the process that made the counted calls. A forked child does not wait for them, because it has none of its
// parent's threads.
constinit std::atomic<int64_t> g_process{0};

}  // namespace

constinit std::atomic<bool> ProcessEnd::has_begun_{false};
constinit std::atomic<bool> ProcessEnd::is_over_{false};

ProcessEnd::Call::Call() {
  ++t_own_calls;
  // The operations are sequentially consistent, as in Begin: either this call sees the end, or the end sees this call.
  CounterOfThread().calls.fetch_add(1);
  may_go_on_ = !has_begun_.load();
}

ProcessEnd::Call::~Call() {
  CounterOfThread().calls.fetch_sub(1, std::memory_order_release);
  --t_own_calls;
}

void ProcessEnd::Throw() { throw Error(EP_STATUS_CANCELED, "the process is ending"); }

void ProcessEnd::Notice() {
  g_process = ProcessNumber();
  std::atexit(&ProcessEnd::Begin);
}

void ProcessEnd::Begin() {
  if (has_begun_.exchange(true)) return;
  const auto under_way = [] {
    int64_t calls = -t_own_calls;
    for (const Counter& counter : g_counters) calls += counter.calls.load();
    return calls > 0;
  };
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (g_process == ProcessNumber() && under_way() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  is_over_ = true;
}

}  // namespace epiphyte::kit
