// WarmUpScope: oneDNN's primitives are made, but don't run.
//
//   {
//     const WarmUpScope rehearsal;
//     call.Run(context);  // what it would have written is what was there
//     const WarmUpScope none(false);
//     Reorder(…);         // runs all the same: what it makes is kept for the performance
//   }
#pragma once

#include <cstdint>

namespace epiphyte::cpu {

// Of the thread that made it, while it lives. On the stack.
class WarmUpScope {
 public:
  explicit WarmUpScope(bool on = true) : before_(on_) { on_ = on; }
  ~WarmUpScope() { on_ = before_; }
  WarmUpScope(const WarmUpScope&) = delete;
  WarmUpScope& operator=(const WarmUpScope&) = delete;

  static bool IsActive() { return on_; }
  // In a rehearsal, what gives so many floats that they say nothing of any shape isn't computed, either: memory that
  // only the runs write to is better not read before, as its pages then cost a message to every other CPU.
  static bool LeavesOut(int64_t floats) { return on_ && floats > kMostComputed; }

 private:
  static constexpr int64_t kMostComputed = 4096;
  // Its memory comes with the thread: the C library ends the process when it has none at the first use.
  [[gnu::tls_model("initial-exec")]] static inline thread_local bool on_ = false;
  const bool before_;
};

}  // namespace epiphyte::cpu
