#include "epiphyte/kit/abi/threads.hpp"

#include <atomic>

namespace epiphyte::kit {

void Threads::Run(int64_t count, int64_t grain, Share share, void* user) const {
  if (count <= 0) return;
  if (wanted <= 1 || count <= grain) return share(user, 0, count, 0);
  // No exception may pass through the host.
  struct Job {
    Share share;
    void* user;
    std::atomic<bool> failed{false};
    std::exception_ptr error{};
  } job{share, user};
  services->ParallelFor(
      pool, static_cast<uint64_t>(count), static_cast<uint64_t>(std::max<int64_t>(grain, 1)),
      [](void* shared, uint64_t begin, uint64_t end, uint32_t worker) {
        auto& mine = *static_cast<Job*>(shared);
        try {
          if (!mine.failed.load(std::memory_order_relaxed))
            mine.share(mine.user, static_cast<int64_t>(begin), static_cast<int64_t>(end), worker);
        } catch (...) {
          if (!mine.failed.exchange(true)) mine.error = std::current_exception();
        }
      },
      &job);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace epiphyte::kit
