// ThreadPool: the only threads of the process. A session has one (or shares its environment's); plugins reach it
// through the C ABI.
//
// `thread_count` counts the calling thread: a pool of N starts N-1 workers. They start with the first loop that can be
// shared, or when thread_count() is called. Fewer start when memory is short or the process may have no more threads.
// Idle workers spin for some tens of microseconds, so that back-to-back loops are cheap, and then sleep.
//
//   ThreadPool pool(2);
//   pool.ParallelFor(rows, 16, [&](uint64_t begin, uint64_t end, uint32_t worker) { … });
//
// Concurrent callers count as threads of the pool: a loop is helped by the remaining threads only. With as many callers
// as threads each caller works alone, and callers never wait for each other.
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

  // The number of threads that were asked for. Starts none.
  uint32_t wanted_threads() const;
  // Upper bound of the number of threads: the number that was asked for until they are started. Starts none.
  uint32_t most_threads() const;
  // The number of threads, which can be lower than was asked for. Starts them, so that the answer stays true.
  uint32_t thread_count() const;

  // Marks its thread as a caller of the pool: from its first loop that could be shared until the Caller is destroyed,
  // other loops leave it a processor. Without a Caller a thread counts during its own loops only. Construct it on the
  // stack. A thread may have several, for one pool or different ones; the innermost applies.
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
  // Counts this thread's Caller from now on. Returns the number of callers, including this thread.
  uint32_t CountCaller();

  std::unique_ptr<Impl> impl_;
};

}  // namespace epiphyte::core
