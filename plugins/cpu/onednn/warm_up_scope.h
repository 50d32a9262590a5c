// WarmUpScope: oneDNN primitives are made but not executed.
//
//   {
//     const WarmUpScope warm_up;
//     call.Run(context);  // leaves its output memory as it was
//     const WarmUpScope none(false);
//     Reorder(…);         // runs even so: its result is kept for real runs
//   }
#pragma once

#include <cstdint>

namespace epiphyte::cpu {

// Applies to the thread that made it, while it exists. Create it on the stack.
class WarmUpScope {
 public:
  explicit WarmUpScope(bool on = true) : before_(on_) { on_ = on; }
  ~WarmUpScope() { on_ = before_; }
  WarmUpScope(const WarmUpScope&) = delete;
  WarmUpScope& operator=(const WarmUpScope&) = delete;

  static bool IsActive() { return on_; }
  // True for a warm-up loop over so many floats that they can't describe a shape: it is skipped. Memory that only real
  // runs write should not be read before, because its pages then cost an inter-processor message to every CPU.
  static bool LeavesOut(int64_t floats) { return on_ && floats > kMostComputed; }

 private:
  static constexpr int64_t kMostComputed = 4096;
  // Initial-exec memory comes with the thread. Lazily allocated thread-local memory would end the process when there is
  // none at the first use.
  [[gnu::tls_model("initial-exec")]] static inline thread_local bool on_ = false;
  const bool before_;
};

}  // namespace epiphyte::cpu
