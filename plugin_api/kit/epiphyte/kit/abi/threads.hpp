// Threads: the host's thread pool for one provider.
//
//   const kit::Threads threads = config.threads();
//   threads.ParallelFor(rows, /*grain=*/64, [&](int64_t begin, int64_t end) {
//     for (int64_t row = begin; row < end; ++row) Sum(row);
//   });
//
// ParallelFor rethrows an exception of the body; the first one if there are several.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit {

// The host starts the threads for the first loop. [any thread]
struct Threads {
  const EpServicesApi* services = nullptr;
  EpThreadPool* pool = nullptr;
  uint32_t wanted = 1;  // number of threads wanted; the pool may have fewer

  // Number of threads, at most `wanted`. Starts the threads, so call it only where the number is needed.
  uint32_t Count() const { return wanted <= 1 ? 1 : std::clamp(services->GetThreadCount(pool), uint32_t{1}, wanted); }

  // Runs body(begin, end) over [0, count) in chunks of at least `grain`. Nested calls run on the calling thread alone.
  // A body with a third argument gets a worker index below the pool's thread count. No two chunks with the same worker
  // index run at the same time.
  template <typename Body>
  void ParallelFor(int64_t count, int64_t grain, Body&& body) const {
    using Called = std::remove_reference_t<Body>;
    Run(
        count, grain,
        [](void* user, int64_t begin, int64_t end, uint32_t worker) {
          auto& called = *static_cast<Called*>(user);
          if constexpr (std::is_invocable_v<Called&, int64_t, int64_t, uint32_t>) {
            called(begin, end, worker);
          } else {
            static_cast<void>(worker);
            called(begin, end);
          }
        },
        const_cast<void*>(static_cast<const void*>(std::addressof(body))));
  }

 private:
  using Share = void (*)(void* user, int64_t begin, int64_t end, uint32_t worker);
  void Run(int64_t count, int64_t grain, Share share, void* user) const;
};

}  // namespace epiphyte::kit
