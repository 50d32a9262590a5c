// ScopedSingleThread: runs oneDNN on the calling thread alone, for work shorter than the wake-up of another thread.
//
//   const ScopedSingleThread scope(IsSmallProduct(rows * n, k));
//   call.Reset(dnnl::matmul(MakeDesc()), …);  // runs on one thread, each time
#pragma once

#include <cstdint>

#include "plugins/cpu/onednn/omp_on_host/omp_on_host.h"

namespace epiphyte::cpu {

// True for a GEMM of `results` sums of `terms` terms that takes less than waking and joining threads, about ten
// microseconds: 2^20 operations at a hundred per nanosecond.
inline bool IsSmallProduct(int64_t results, int64_t terms) {
  constexpr double kWorthSharing = 1 << 20;
  return 2.0 * static_cast<double>(results) * static_cast<double>(terms) < kWorthSharing;
}
// True for a copy that takes less than that.
inline bool IsSmallCopy(uint64_t bytes) { return bytes < (uint64_t{1} << 16); }

// While it exists, oneDNN calls of this thread use only this thread. So do primitives created meanwhile, in all runs.
class ScopedSingleThread {
 public:
  // Has no effect when `alone` is false.
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
  // Initial-exec memory comes with the thread. Lazily allocated thread-local memory would end the process when there is
  // none at the first use.
  [[gnu::tls_model("initial-exec")]] static inline thread_local bool on_ = false;
  const bool alone_;
  const bool on_before_;
  EpiphyteOmpTeam team_before_ = {};
};

}  // namespace epiphyte::cpu
