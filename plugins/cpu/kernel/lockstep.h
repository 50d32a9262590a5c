// Lockstep: runs phases on several threads; a phase begins when all parts of the previous one have ended. One parallel
// loop serves all phases, instead of one loop per phase, which suits many short phases:
//
//   RunInStep(context, phases, parts, [&](int64_t phase, int64_t part) { … });
//
// A part stays with one thread, so its data stays in that thread's cache. Until that thread arrives (it may never do
// so), any other thread takes the part over. No thread therefore waits for one that is not running.
#pragma once

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

class Lockstep {
 public:
  static constexpr int64_t kMostParts = 64;

  // `parts`: in [1, kMostParts].
  Lockstep(int64_t phases, int64_t parts) : phases_(phases), parts_(parts) {}
  Lockstep(const Lockstep&) = delete;
  Lockstep& operator=(const Lockstep&) = delete;

  // Takes part until all phases have ended. `own`: the calling thread's part. body(phase, part) must not throw, because
  // the other threads would wait forever.
  template <typename Body>
  void Join(int64_t own, const Body& body) noexcept {
    bool owner = false;
    // Starts one phase before the first one that this part lacks: other parts may not have ended that phase.
    for (int64_t phase = std::max<int64_t>(Of(own).ended.load(std::memory_order_acquire) - 1, 0); phase < phases_;
         ++phase) {
      owner = owner || Take(own, phase, kOwned);
      if (owner) Do(phase, own, body);
      for (int64_t i = 1; i < parts_; ++i) {
        const int64_t part = (own + i) % parts_;
        if (Take(part, phase, phase + 1)) Do(phase, part, body);
      }
      for (int64_t part = 0; part < parts_; ++part) WaitForEnd(phase, part);
    }
  }

 private:
  // The members have their own cache lines: threads that poll `ended` do not disturb `free_from`, which stays constant
  // once the part is owned.
  struct Part {
    alignas(64) std::atomic<int64_t> free_from{0};  // the next phase in which any thread may take it
    alignas(64) std::atomic<int64_t> ended{0};      // number of ended phases
  };
  static constexpr int64_t kOwned = INT64_MAX;

  Part& Of(int64_t part) { return all_[static_cast<size_t>(part)]; }

  bool Take(int64_t part, int64_t phase, int64_t free_from) {
    std::atomic<int64_t>& free = Of(part).free_from;
    int64_t expected = phase;
    return free.load(std::memory_order_relaxed) == phase &&
           free.compare_exchange_strong(expected, free_from, std::memory_order_relaxed);
  }

  template <typename Body>
  void Do(int64_t phase, int64_t part, const Body& body) {
    body(phase, part);
    Of(part).ended.store(phase + 1, std::memory_order_release);
  }

  // Waits for a part that a thread is working on. The wait is short unless there are more threads than processors; then
  // it yields the processor to them.
  void WaitForEnd(int64_t phase, int64_t part) {
    constexpr int kGreedySpins = 128, kSpinsBetween = 16;
    for (int spins = 0; Of(part).ended.load(std::memory_order_acquire) <= phase; ++spins) {
      if (spins >= kGreedySpins && spins % kSpinsBetween == 0) sched_yield();
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      asm volatile("yield");
#endif
    }
  }

  const int64_t phases_, parts_;
  std::array<Part, kMostParts> all_;
};

template <typename Body>
void RunInStep(OpContext& context, int64_t phases, int64_t parts, const Body& body) {
  parts = std::min(parts, Lockstep::kMostParts);
  if (parts <= 1) {
    for (int64_t phase = 0; phase < phases; ++phase) body(phase, int64_t{0});
    return;
  }
  Lockstep steps(phases, parts);
  context.ParallelFor(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t own = begin; own < end; ++own) steps.Join(own, body);
  });
}

}  // namespace epiphyte::cpu
