#include "core/base/thread_pool.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/cpu_count.h"
#include "core/base/fork_mark.h"
#include "core/base/float_mode.h"
#include "core/base/log.h"
#include "core/base/watched_call.h"

// One job runs at a time. Its state is a single word, so that opening, joining and closing it are one atomic step each:
//
//   generation (40 bits) | limit (12 bits) | joined (12 bits)
//
// A worker may join while joined < limit; the number that it finds there is its ticket. ParallelFor closes the job
// (limit becomes 0) when no chunk is left. It waits only for workers that joined, so a worker that is still asleep
// costs nothing. RunGang leaves the job open until all have joined.
//
// The chunks of a loop are split into shards. For loops with equal parameters a thread always begins with the same
// shard, so that its data is still in the thread's cache. Then it helps with the other shards.
namespace epiphyte::core {
namespace {

constexpr uint32_t kMaxThreads = 1024;
constexpr uint64_t kFieldMask = (1u << 12) - 1;
constexpr uint64_t kLimitMask = kFieldMask << 12;

constexpr uint64_t MakeState(uint64_t generation, uint64_t limit) { return (generation << 24) | (limit << 12); }
constexpr uint64_t Generation(uint64_t state) { return state >> 24; }
constexpr uint32_t Limit(uint64_t state) { return static_cast<uint32_t>((state >> 12) & kFieldMask); }
constexpr uint32_t Joined(uint64_t state) { return static_cast<uint32_t>(state & kFieldMask); }

// Chunks per thread: enough to balance threads that are slowed down, few enough to keep the counter cheap.
constexpr uint64_t kChunksPerThread = 4;
// Low enough for each thread to check all shards at the end of a loop.
constexpr uint64_t kMostShards = 8;
constexpr std::chrono::microseconds kSpinTime{50};
// After this part of kSpinTime a spinning thread yields its processor, because the thread that it waits for may need
// it.
constexpr std::chrono::microseconds kGreedyTime{3};

// Set while this thread runs a body; loops that the body starts run on this thread alone. Initial-exec allocates the
// memory with the thread. Otherwise the C library ends the process when it has no memory for a thread-local variable at
// its first use.
[[gnu::tls_model("initial-exec")]] thread_local bool t_inside_body = false;

// The innermost Caller of this thread.
[[gnu::tls_model("initial-exec")]] thread_local ThreadPool::Caller* t_caller = nullptr;

// Address space that a thread needs besides its stack: the C library's heap, 64 MiB aligned to 64 MiB, for which twice
// as much is mapped for a moment. Threads that start together need it at the same time. Without enough room they take
// the space that other threads need for their work.
constexpr uint64_t kThreadHeap = uint64_t{128} << 20;
// Address space that stays free for everything else. If stacks took the last of it, no work could be done.
constexpr uint64_t kLeftForWork = uint64_t{64} << 20;

uint64_t StackSize() {
  size_t size = 0;
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &size);
    pthread_attr_destroy(&attributes);
  }
  return size;
}

bool HasAddressSpace(uint64_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  munmap(memory, bytes);
  return true;
}

// The number of additional threads, at most `wanted`, that this process has address space for.
uint32_t ThreadsWithRoom(uint32_t wanted) {
  const uint64_t each = StackSize() + kThreadHeap;
  while (wanted > 0 && !HasAddressSpace(wanted * each + kLeftForWork)) --wanted;
  return wanted;
}

class InsideBody {
 public:
  InsideBody() : before_(t_inside_body) { t_inside_body = true; }
  ~InsideBody() { t_inside_body = before_; }
  InsideBody(const InsideBody&) = delete;
  InsideBody& operator=(const InsideBody&) = delete;

 private:
  bool before_;
};

inline void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns whether `ready` became true in time.
template <typename Ready>
bool SpinUntil(Ready&& ready) {
  const auto begin = std::chrono::steady_clock::now();
  for (auto spent = begin - begin; spent < kSpinTime; spent = std::chrono::steady_clock::now() - begin) {
    for (int i = 0; i < 16; ++i) {
      if (ready()) return true;
      Pause();
    }
    if (spent > kGreedyTime) std::this_thread::yield();
  }
  return ready();
}

}  // namespace

struct ThreadPool::Impl {
  explicit Impl(uint32_t wanted);
  ~Impl();

  // Starts as many workers as possible, on the first call only.
  void Start() {
    std::call_once(started, [this] { StartWorkers(); });
  }
  void StartWorkers();
  // `index` is the worker's index in `workers`.
  void WorkerLoop(uint32_t index);
  // Waits for a job that this worker has not seen, and joins it. False when the pool is being destroyed.
  bool Join(uint64_t* last_generation, uint32_t* ticket);
  void RunTicket(uint32_t ticket, uint32_t index);
  // Chunk sizes differ by at most one index, so that threads with equally many chunks have equal work.
  uint64_t ChunkBegin(uint64_t index) const {
    return index * (count / chunk_count) + index * (count % chunk_count) / chunk_count;
  }
  // `place` selects the shard that the thread begins with.
  void RunChunks(uint32_t worker, uint32_t place);
  // Publishes the job in the fields below to at most `helpers` workers.
  void Open(uint32_t helpers);
  void WakeUp(uint32_t helpers);
  void WaitForFinished(uint32_t helpers);
  void Sleep(uint64_t last_generation);

  const ForkMark made;
  // A new thread inherits the float mode of the thread that starts it, which may run inside a plugin that changed it.
  const FloatMode float_mode = FloatMode::Current();
  uint32_t wanted_threads = 1;
  std::atomic<uint32_t> most_threads{1};
  bool spin = true;

  std::once_flag started;
  std::vector<std::thread> workers;  // constant once `started` is set

  alignas(64) std::atomic<uint32_t> callers{0};  // number of counted callers

  alignas(64) std::mutex busy;  // held by the thread whose job runs; guards the job's fields

  // The job. Written before it is opened, read by the workers that joined.
  RangeFunction range = nullptr;
  GangFunction gang = nullptr;
  void* user = nullptr;
  uint64_t count = 0;
  uint64_t chunk_count = 0;
  uint64_t shard_count = 1;
  uint32_t gang_size = 0;
  std::string_view log_tag;           // tag of the thread that the job runs for
  const WatchedCall* call = nullptr;  // plugin call that the job is part of

  alignas(64) std::atomic<uint64_t> state{0};
  struct alignas(64) Shard {
    std::atomic<uint64_t> next_chunk{0};
    uint64_t end = 0;
  };
  Shard shards[kMostShards];
  alignas(64) std::atomic<uint32_t> finished{0};
  std::atomic<bool> caller_sleeps{false};
  alignas(64) std::atomic<uint32_t> sleepers{0};
  std::atomic<uint32_t> wake_count{0};
  std::atomic<bool> stop{false};
};

ThreadPool::Impl::Impl(uint32_t wanted) {
  const CpuCount cpus = UsableCpus();
  wanted_threads = std::min(wanted == 0 ? cpus.physical : wanted, kMaxThreads);
  most_threads = wanted_threads;
  // With more threads than processors, a spinning thread keeps another one from working.
  spin = wanted_threads <= cpus.logical;
}

ThreadPool::Impl::~Impl() {
  if (made.IsInherited()) {
    // The workers are threads of the parent. Their handles are leaked: in this process they may name other threads.
    new std::vector<std::thread>(std::move(workers));
    return;
  }
  stop.store(true);
  wake_count.fetch_add(1);
  wake_count.notify_all();
  for (std::thread& worker : workers) worker.join();
}

void ThreadPool::Impl::StartWorkers() {
  const uint32_t wanted = wanted_threads - 1;
  std::string reason = "there is no memory for more";
  try {
    const uint32_t most = ThreadsWithRoom(wanted);
    workers.reserve(most);
    while (workers.size() < most)
      workers.emplace_back([this, index = static_cast<uint32_t>(workers.size())] { WorkerLoop(index); });
  } catch (const std::exception& error) {
    reason = error.what();
  }
  most_threads = static_cast<uint32_t>(workers.size()) + 1;
  if (workers.size() == wanted) return;
  try {
    Log(LogLevel::kWarning, "thread_pool", "{} of {} worker threads could be started: {}; going on with these",
        workers.size(), wanted, reason);
  } catch (const std::exception&) {
    // There is no memory for the message either.
  }
}

void ThreadPool::Impl::WorkerLoop(uint32_t index) {
  t_inside_body = true;
  float_mode.Restore();
  uint64_t last_generation = 0;
  uint32_t ticket = 0;
  while (Join(&last_generation, &ticket)) {
    RunTicket(ticket, index);
    finished.fetch_add(1);
    if (caller_sleeps.load()) finished.notify_one();
  }
}

bool ThreadPool::Impl::Join(uint64_t* last_generation, uint32_t* ticket) {
  for (;;) {
    uint64_t now = state.load(std::memory_order_acquire);
    const auto joinable = [&] {
      now = state.load(std::memory_order_acquire);
      return (Generation(now) != *last_generation && Joined(now) < Limit(now)) || stop.load(std::memory_order_relaxed);
    };
    while (!joinable()) {
      if (!spin || !SpinUntil(joinable)) Sleep(*last_generation);
    }
    if (stop.load()) return false;
    if (state.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel, std::memory_order_relaxed)) {
      *last_generation = Generation(now);
      *ticket = Joined(now);
      return true;
    }
  }
}

void ThreadPool::Impl::Sleep(uint64_t last_generation) {
  const uint32_t seen = wake_count.load();
  sleepers.fetch_add(1);
  // Checked after `sleepers` was incremented: either this worker sees the job, or the caller that opens the job sees
  // the sleeper.
  const uint64_t now = state.load();
  const bool joinable = Generation(now) != last_generation && Joined(now) < Limit(now);
  if (!joinable && !stop.load()) wake_count.wait(seen);
  sleepers.fetch_sub(1);
}

void ThreadPool::Impl::RunTicket(uint32_t ticket, uint32_t index) {
  const LogTag tag(log_tag);
  const WatchedCall::Helper helper(call);
  if (gang != nullptr) {
    gang(user, ticket + 1, gang_size);
  } else {
    RunChunks(ticket + 1, index + 1);
  }
}

void ThreadPool::Impl::RunChunks(uint32_t worker, uint32_t place) {
  for (uint64_t i = 0; i < shard_count; ++i) {
    Shard& shard = shards[(place + i) % shard_count];
    while (shard.next_chunk.load(std::memory_order_relaxed) < shard.end) {
      const uint64_t index = shard.next_chunk.fetch_add(1, std::memory_order_relaxed);
      if (index >= shard.end) break;
      range(user, ChunkBegin(index), ChunkBegin(index + 1), worker);
    }
  }
}

void ThreadPool::Impl::Open(uint32_t helpers) {
  log_tag = LogTag::Current();
  call = WatchedCall::Current();
  finished.store(0, std::memory_order_relaxed);
  state.store(MakeState(Generation(state.load(std::memory_order_relaxed)) + 1, helpers));
  WakeUp(helpers);
}

void ThreadPool::Impl::WakeUp(uint32_t helpers) {
  const uint32_t asleep = sleepers.load();
  const auto all = static_cast<uint32_t>(workers.size());
  // A worker that isn't counted as asleep checks the state before it goes to sleep.
  const uint32_t awake = all - std::min(all, asleep);
  if (helpers <= awake) return;
  wake_count.fetch_add(1);
  if (helpers == all) {
    wake_count.notify_all();
  } else {
    for (uint32_t i = awake; i < helpers; ++i) wake_count.notify_one();
  }
}

void ThreadPool::Impl::WaitForFinished(uint32_t helpers) {
  const auto done = [&] { return finished.load(std::memory_order_acquire) == helpers; };
  if (done() || (spin && SpinUntil(done))) return;
  caller_sleeps.store(true);
  for (uint32_t now = finished.load(); now != helpers; now = finished.load()) finished.wait(now);
  caller_sleeps.store(false);
}

ThreadPool::ThreadPool(uint32_t thread_count) : impl_(std::make_unique<Impl>(thread_count)) {}

ThreadPool::~ThreadPool() = default;

uint32_t ThreadPool::wanted_threads() const { return impl_->wanted_threads; }

uint32_t ThreadPool::most_threads() const { return impl_->most_threads.load(std::memory_order_relaxed); }

uint32_t ThreadPool::thread_count() const {
  impl_->Start();
  return most_threads();
}

ThreadPool::Caller::Caller(ThreadPool& pool) : pool_(pool), before_(t_caller) { t_caller = this; }

ThreadPool::Caller::~Caller() {
  t_caller = before_;
  if (counted_) pool_.impl_->callers.fetch_sub(1, std::memory_order_relaxed);
}

uint32_t ThreadPool::CountCaller() {
  Caller* const caller = t_caller;
  if (caller == nullptr || &caller->pool_ != this) return impl_->callers.load(std::memory_order_relaxed) + 1;
  if (caller->counted_) return impl_->callers.load(std::memory_order_relaxed);
  caller->counted_ = true;
  return impl_->callers.fetch_add(1, std::memory_order_relaxed) + 1;
}

void ThreadPool::ParallelFor(uint64_t count, uint64_t grain, RangeFunction body, void* user) {
  if (count == 0) return;
  Impl& pool = *impl_;
  grain = std::max<uint64_t>(grain, 1);
  std::unique_lock<std::mutex> lock(pool.busy, std::defer_lock);
  bool alone = t_inside_body || pool.wanted_threads == 1 || count <= grain;
  const uint32_t callers = alone ? 1 : CountCaller();
  alone = alone || callers >= pool.wanted_threads || !lock.try_lock();
  const InsideBody inside;
  if (alone) {
    body(user, 0, count, 0);
    return;
  }
  pool.Start();
  const auto helpers = static_cast<uint32_t>(std::min<uint64_t>(pool.wanted_threads - callers, pool.workers.size()));
  const uint64_t most_threads = uint64_t{helpers} + 1;
  pool.range = body;
  pool.gang = nullptr;
  pool.user = user;
  pool.count = count;
  // Two halves are better than one chunk of `grain` and a rest.
  pool.chunk_count = std::clamp<uint64_t>(count / grain, 2, most_threads * kChunksPerThread);
  if (pool.chunk_count > most_threads) pool.chunk_count -= pool.chunk_count % most_threads;
  const uint64_t threads = std::min(most_threads, pool.chunk_count);
  pool.shard_count = std::min(threads, kMostShards);
  for (uint64_t i = 0; i < pool.shard_count; ++i) {
    pool.shards[i].next_chunk.store(i * pool.chunk_count / pool.shard_count, std::memory_order_relaxed);
    pool.shards[i].end = (i + 1) * pool.chunk_count / pool.shard_count;
  }
  pool.Open(static_cast<uint32_t>(threads - 1));
  pool.RunChunks(0, 0);
  pool.WaitForFinished(Joined(pool.state.fetch_and(~kLimitMask)));
}

void ThreadPool::RunGang(uint32_t size, GangFunction body, void* user) {
  Impl& pool = *impl_;
  if (t_inside_body) size = 1;
  if (size > 1) size = std::min(size, thread_count());
  if (size <= 1) {
    const InsideBody inside;
    body(user, 0, 1);
    return;
  }
  CountCaller();  // this caller gets the threads that it asks for, but others leave it a processor
  const std::lock_guard<std::mutex> lock(pool.busy);
  const InsideBody inside;
  pool.range = nullptr;
  pool.gang = body;
  pool.user = user;
  pool.gang_size = size;
  pool.Open(size - 1);
  body(user, 0, size);
  pool.WaitForFinished(size - 1);
}

}  // namespace epiphyte::core
