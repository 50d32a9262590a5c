// ThreadPool: the only threads of the process. A session has one (or shares its environment's); plugins reach it
// through the C ABI.
//
// `thread_count` counts the caller: a pool of N starts N-1 workers, with the first loop that is shared or when somebody
// asks how many there are, or fewer where there is no memory for them or the process may have no more. Idle workers
// spin for some tens of microseconds, so that back-to-back loops are cheap, and then sleep.
//
//   ThreadPool pool(2);
//   pool.ParallelFor(rows, 16, [&](uint64_t begin, uint64_t end, uint32_t worker) { … });
//
// Callers that work beside each other count as threads of the pool: a loop gets the help of those that are left. With
// as many callers as threads each works alone, and nobody waits for anybody.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace epiphyte::core {

class ThreadPool {
 public:
  explicit ThreadPool(uint32_t thread_count);  // 0: one for each physical core this process may use
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // How many were asked for. Starts none.
  uint32_t wanted_threads() const;
  // At most so many there are: as many as were asked for until they are started. Starts none.
  uint32_t most_threads() const;
  // How many there are, which can be fewer than were asked for. Starts them, so that the answer stays true.
  uint32_t thread_count() const;

  // While it lives, its thread is one that works with the pool: from its first loop that could be shared until the
  // Caller goes, others leave it a processor. Without one a caller counts during its own loops only. On the stack of
  // the thread, which may have several, of one pool or of different ones; the last one holds.
  class Caller {
   public:
    explicit Caller(ThreadPool& pool);
    ~Caller();
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;

   private:
    friend class ThreadPool;
    ThreadPool& pool_;
    Caller* const before_;
    bool counted_ = false;
  };

  using RangeFunction = void (*)(void* user, uint64_t begin, uint64_t end, uint32_t worker);
  using GangFunction = void (*)(void* user, uint32_t member, uint32_t size);

  // See EpServicesApi::ParallelFor. A body that throws terminates the process: bodies are noexcept.
  void ParallelFor(uint64_t count, uint64_t grain, RangeFunction body, void* user);
  // See EpServicesApi::RunGang. `size` is clamped to [1, thread_count()].
  void RunGang(uint32_t size, GangFunction body, void* user);

  template <typename Body>
  void ParallelFor(uint64_t count, uint64_t grain, Body&& body) {
    ParallelFor(
        count, grain,
        [](void* user, uint64_t begin, uint64_t end, uint32_t worker) {
          (*static_cast<std::remove_reference_t<Body>*>(user))(begin, end, worker);
        },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  struct Impl;
  // How many callers there are, this thread included, whose Caller counts from now on.
  uint32_t CountCaller();

  std::unique_ptr<Impl> impl_;
};

}  // namespace epiphyte::core
