// ScopedSingleThread: runs oneDNN on the calling thread alone, for work that is shorter than waking another thread.
//
//   const ScopedSingleThread scope(IsSmallProduct(rows * n, k));
//   call.Reset(dnnl::matmul(MakeDesc()), …);  // runs on one thread, each time
#pragma once

#include <cstdint>

#include "plugins/cpu/onednn/omp_on_host/omp_on_host.h"

namespace epiphyte::cpu {

// A product of `results` sums of `terms` each takes less than the about ten microseconds that waking threads and
// waiting for them costs: 2^20 operations at a hundred in a nanosecond.
inline bool IsSmallProduct(int64_t results, int64_t terms) {
  constexpr double kWorthSharing = 1 << 20;
  return 2.0 * static_cast<double>(results) * static_cast<double>(terms) < kWorthSharing;
}
// The same of a copy.
inline bool IsSmallCopy(uint64_t bytes) { return bytes < (uint64_t{1} << 16); }

// During its lifetime, oneDNN calls of this thread use this thread alone. Primitives that are created in it do so, too.
class ScopedSingleThread {
 public:
  // Does nothing when `alone` is false.
  explicit ScopedSingleThread(bool alone) : alone_(alone), on_before_(on_) {
    if (!alone_) return;
    team_before_ = EpiphyteOmpSetTeam({});
    on_ = true;
  }
  ~ScopedSingleThread() {
    if (!alone_) return;
    EpiphyteOmpSetTeam(team_before_);
    on_ = on_before_;
  }
  ScopedSingleThread(const ScopedSingleThread&) = delete;
  ScopedSingleThread& operator=(const ScopedSingleThread&) = delete;

  static bool IsActive() { return on_; }

 private:
  // Its memory comes with the thread: the C library ends the process when it has none at the first use.
  [[gnu::tls_model("initial-exec")]] static inline thread_local bool on_ = false;
  const bool alone_;
  const bool on_before_;
  EpiphyteOmpTeam team_before_ = {};
};

}  // namespace epiphyte::cpu
