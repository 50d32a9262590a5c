#include "core/base/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <future>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "core/base/cpu_count.h"
#include "tests/framework/process_threads.h"

namespace epiphyte::core {
namespace {

TEST(CpuCount, AtLeastOneAndNoMoreCoresThanThreads) {
  const CpuCount cpus = UsableCpus();
  EXPECT_GE(cpus.physical, 1u);
  EXPECT_GE(cpus.logical, cpus.physical);
}

TEST(ThreadPool, ZeroMeansOneThreadForEachCore) {
  EXPECT_EQ(ThreadPool(0).thread_count(), UsableCpus().physical);
  EXPECT_EQ(ThreadPool(3).thread_count(), 3u);
}

TEST(ThreadPool, StartsItsThreadsWithTheFirstLoopThatIsShared) {
  const auto nothing = [](uint64_t, uint64_t, uint32_t) {};
  const size_t before = test::ThreadsOfThisProcess();
  ThreadPool pool(4);
  EXPECT_EQ(pool.wanted_threads(), 4u);
  EXPECT_EQ(pool.most_threads(), 4u);
  pool.ParallelFor(8, 8, nothing);
  pool.RunGang(
      1, [](void*, uint32_t, uint32_t) {}, nullptr);
  EXPECT_LE(test::ThreadsOfThisProcess(), before) << "threads of an earlier pool may just be ending";
  pool.ParallelFor(8, 1, nothing);
  EXPECT_GE(test::ThreadsOfThisProcess(), 4u);
  EXPECT_EQ(pool.most_threads(), 4u);
}

TEST(ParallelFor, CallsTheBodyOnceForEachIndex) {
  for (const uint32_t threads : {1u, 2u, 4u}) {
    ThreadPool pool(threads);
    for (const uint64_t count : {0, 1, 2, 7, 64, 1000, 100'003}) {
      for (const uint64_t grain : {0, 1, 3, 64, 1'000'000}) {
        std::vector<std::atomic<int>> calls(count);
        pool.ParallelFor(count, grain, [&](uint64_t begin, uint64_t end, uint32_t worker) {
          EXPECT_LT(begin, end);
          EXPECT_LT(worker, threads);
          for (uint64_t i = begin; i < end; ++i) calls[i].fetch_add(1);
        });
        for (uint64_t i = 0; i < count; ++i) ASSERT_EQ(calls[i].load(), 1) << i;
      }
    }
  }
}

// Returns the size of each share, in no particular order.
std::vector<uint64_t> ShareSizes(ThreadPool& pool, uint64_t count, uint64_t grain) {
  std::mutex mutex;
  std::vector<uint64_t> sizes;
  pool.ParallelFor(count, grain, [&](uint64_t begin, uint64_t end, uint32_t) {
    const std::lock_guard lock(mutex);
    sizes.push_back(end - begin);
  });
  return sizes;
}

TEST(ParallelFor, SharesHaveAtLeastTheGrain) {
  ThreadPool pool(4);
  for (const uint64_t count : {61, 97, 100, 130, 479, 1000}) {
    for (const uint64_t size : ShareSizes(pool, count, 30)) EXPECT_GE(size, 30u) << count;
  }
}

TEST(ParallelFor, LessThanTwoGrainsIsHalved) {
  ThreadPool pool(4);
  EXPECT_THAT(ShareSizes(pool, 30, 30), ::testing::ElementsAre(30));
  EXPECT_THAT(ShareSizes(pool, 31, 30), ::testing::UnorderedElementsAre(15, 16));
  EXPECT_THAT(ShareSizes(pool, 59, 30), ::testing::UnorderedElementsAre(29, 30));
}

TEST(ParallelFor, ThreadsHaveAsMuchToDo) {
  ThreadPool two(2), three(3);
  // 44 panels of a matrix in eight shares. With shares of six, one thread would get 24 panels.
  EXPECT_THAT(ShareSizes(two, 44, 1), ::testing::UnorderedElementsAre(5, 5, 5, 5, 6, 6, 6, 6));
  EXPECT_THAT(ShareSizes(two, 30, 10), ::testing::UnorderedElementsAre(15, 15));
  EXPECT_THAT(ShareSizes(three, 80, 10), ::testing::UnorderedElementsAre(13, 13, 13, 13, 14, 14));
}

TEST(ParallelFor, NoTwoSharesRunOnOneWorkerNumberAtOnce) {
  ThreadPool pool(4);
  std::atomic<int> inside[4] = {};
  for (int round = 0; round < 200; ++round) {
    pool.ParallelFor(64, 1, [&](uint64_t, uint64_t, uint32_t worker) {
      EXPECT_EQ(inside[worker].fetch_add(1), 0);
      std::this_thread::yield();
      inside[worker].fetch_sub(1);
    });
  }
}

TEST(ParallelFor, SurvivesTheLargestCount) {
  ThreadPool pool(3);
  std::atomic<uint64_t> sum{0};
  constexpr uint64_t kCount = std::numeric_limits<uint64_t>::max();
  pool.ParallelFor(kCount, 1, [&](uint64_t begin, uint64_t end, uint32_t) { sum += end - begin; });
  EXPECT_EQ(sum.load(), kCount);
}

TEST(ParallelFor, UsesSeveralThreads) {
  ThreadPool pool(2);
  std::atomic<int> arrived{0};
  // Each share waits for the other, so the loop ends only if both run at the same time.
  pool.ParallelFor(2, 1, [&](uint64_t, uint64_t, uint32_t) {
    ++arrived;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (arrived.load() < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  });
  EXPECT_EQ(arrived.load(), 2);
}

TEST(ParallelFor, AThreadBeginsWithTheSamePartOfEachLoop) {
  ThreadPool pool(2);
  constexpr uint64_t kCount = 1000;
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> arrived{0};
    std::vector<uint64_t> first(2, kCount);
    pool.ParallelFor(kCount, 1, [&](uint64_t begin, uint64_t, uint32_t worker) {
      if (first[worker] != kCount) return;
      first[worker] = begin;
      ++arrived;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (arrived.load() < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    });
    EXPECT_EQ(first[0], 0u);
    EXPECT_EQ(first[1], kCount / 2);
  }
}

TEST(ParallelFor, HasManyThreadsShareTheirParts) {
  ThreadPool pool(20);
  std::vector<std::atomic<int>> calls(10'007);
  for (int round = 0; round < 50; ++round)
    pool.ParallelFor(calls.size(), 1, [&](uint64_t begin, uint64_t end, uint32_t) {
      for (uint64_t i = begin; i < end; ++i) calls[i].fetch_add(1);
    });
  for (const std::atomic<int>& count : calls) ASSERT_EQ(count.load(), 50);
}

TEST(ParallelFor, NestedCallsRunOnTheCallingThreadAlone) {
  ThreadPool pool(4);
  std::atomic<uint64_t> inner_indices{0};
  pool.ParallelFor(8, 1, [&](uint64_t begin, uint64_t end, uint32_t) {
    for (uint64_t i = begin; i < end; ++i) {
      const auto outer = std::this_thread::get_id();
      pool.ParallelFor(1000, 1, [&](uint64_t inner_begin, uint64_t inner_end, uint32_t worker) {
        EXPECT_EQ(std::this_thread::get_id(), outer);
        EXPECT_EQ(worker, 0u);
        inner_indices += inner_end - inner_begin;
      });
    }
  });
  EXPECT_EQ(inner_indices.load(), 8000u);
}

TEST(ParallelFor, ManyThreadsMayCallAtOnce) {
  ThreadPool pool(3);
  std::atomic<uint64_t> total{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        uint64_t per_worker[3] = {};
        pool.ParallelFor(100, 1,
                         [&](uint64_t begin, uint64_t end, uint32_t worker) { per_worker[worker] += end - begin; });
        total += std::accumulate(std::begin(per_worker), std::end(per_worker), uint64_t{0});
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 8u * 500 * 100);
}

// Returns the number of shares into which a long loop of this thread is cut: one if it works alone.
size_t SharesOfALoop(ThreadPool& pool) {
  std::atomic<size_t> shares{0};
  pool.ParallelFor(64, 1, [&](uint64_t, uint64_t, uint32_t) { ++shares; });
  return shares;
}

// Another thread that has begun to work as a caller of the pool, until the destructor ends it.
class OtherCaller {
 public:
  explicit OtherCaller(ThreadPool& pool)
      : thread_([this, &pool] {
          const ThreadPool::Caller caller(pool);
          SharesOfALoop(pool);
          works_.set_value();
          over_.get_future().wait();
        }) {
    works_.get_future().wait();
  }
  ~OtherCaller() {
    over_.set_value();
    thread_.join();
  }

 private:
  std::promise<void> works_, over_;
  std::thread thread_;
};

TEST(ParallelFor, AsManyCallersAsThreadsWorkAloneEach) {
  ThreadPool pool(2);
  const ThreadPool::Caller caller(pool);
  EXPECT_GT(SharesOfALoop(pool), 1u);
  {
    const OtherCaller other(pool);
    EXPECT_EQ(SharesOfALoop(pool), 1u);
  }
  EXPECT_GT(SharesOfALoop(pool), 1u) << "the other one has gone";
}

TEST(ParallelFor, HasTheHelpOfThreadsThatAreNoCallers) {
  ThreadPool pool(3);
  const ThreadPool::Caller caller(pool);
  const OtherCaller other(pool);
  EXPECT_GT(SharesOfALoop(pool), 1u) << "one of three threads is left";
  const OtherCaller another(pool);
  EXPECT_EQ(SharesOfALoop(pool), 1u);
}

TEST(ParallelFor, ACallerCountsOnceItHasALoopToShare) {
  ThreadPool pool(2);
  const ThreadPool::Caller caller(pool);
  std::thread([&] {
    const ThreadPool::Caller idle(pool);
    pool.ParallelFor(8, 8, [](uint64_t, uint64_t, uint32_t) {});
    std::thread([&] { EXPECT_GT(SharesOfALoop(pool), 1u); }).join();
  }).join();
}

TEST(ParallelFor, CallersOfAnotherPoolDoNotCount) {
  ThreadPool pool(2), another(2);
  const OtherCaller other(another);
  const ThreadPool::Caller caller(another), inner(pool);
  EXPECT_GT(SharesOfALoop(pool), 1u);
}

// A barrier that opens only when all members wait at the same time, as OpenMP code needs it.
class Barrier {
 public:
  void Wait(uint32_t size) {
    const uint32_t turn = turn_.load();
    if (arrived_.fetch_add(1) + 1 == size) {
      arrived_.store(0);
      turn_.fetch_add(1);
    } else {
      while (turn_.load() == turn) std::this_thread::yield();
    }
  }

 private:
  std::atomic<uint32_t> arrived_{0};
  std::atomic<uint32_t> turn_{0};
};

struct Gang {
  Barrier barrier;
  std::atomic<uint32_t> members{0};
  std::atomic<uint64_t> seen{0};  // one bit for each member number
  std::atomic<uint32_t> size{0};

  static void Body(void* user, uint32_t member, uint32_t size) {
    auto* gang = static_cast<Gang*>(user);
    gang->size = size;
    gang->members.fetch_add(1);
    gang->seen.fetch_or(uint64_t{1} << member);
    for (int i = 0; i < 3; ++i) gang->barrier.Wait(size);
  }
};

TEST(RunGang, RunsExactlySoManyMembersAtTheSameTime) {
  ThreadPool pool(4);
  for (int round = 0; round < 300; ++round) {
    for (uint32_t size = 1; size <= 4; ++size) {
      Gang gang;
      pool.RunGang(size, Gang::Body, &gang);
      EXPECT_EQ(gang.members.load(), size);
      EXPECT_EQ(gang.size.load(), size);
      EXPECT_EQ(gang.seen.load(), (uint64_t{1} << size) - 1);
    }
  }
}

TEST(RunGang, HasAllItsMembersBesideOtherCallers) {
  ThreadPool pool(2);
  const OtherCaller other(pool);
  Gang gang;
  pool.RunGang(2, Gang::Body, &gang);
  EXPECT_EQ(gang.members.load(), 2u);
}

TEST(RunGang, TheSizeIsClampedToThePool) {
  ThreadPool pool(2);
  Gang large;
  pool.RunGang(100, Gang::Body, &large);
  EXPECT_EQ(large.members.load(), 2u);
  Gang none;
  pool.RunGang(0, Gang::Body, &none);
  EXPECT_EQ(none.members.load(), 1u);
}

TEST(RunGang, InsideABodyTheSizeIsOne) {
  ThreadPool pool(3);
  pool.ParallelFor(8, 1, [&](uint64_t, uint64_t, uint32_t) {
    Gang gang;
    pool.RunGang(3, Gang::Body, &gang);
    EXPECT_EQ(gang.size.load(), 1u);
  });
  pool.ParallelFor(1, 1, [&](uint64_t, uint64_t, uint32_t) {
    Gang gang;
    pool.RunGang(3, Gang::Body, &gang);
    EXPECT_EQ(gang.size.load(), 1u) << "a loop that is too short to be shared is a body too";
  });
}

TEST(RunGang, WaitsForItsTurnWhenManyThreadsCall) {
  ThreadPool pool(3);
  std::atomic<uint32_t> members{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        Gang gang;
        pool.RunGang(3, Gang::Body, &gang);
        members += gang.members.load();
        pool.ParallelFor(10, 1, [](uint64_t, uint64_t, uint32_t) {});
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(members.load(), 6u * 100 * 3);
}

// The workers fall asleep at different moments between the rounds. No worker may miss its wake-up.
TEST(ThreadPool, WakesSleepingWorkers) {
  ThreadPool pool(3);
  for (int round = 0; round < 150; ++round) {
    std::this_thread::sleep_for(std::chrono::microseconds(round * 2));
    Gang gang;
    pool.RunGang(2 + round % 2, Gang::Body, &gang);
    EXPECT_EQ(gang.members.load(), 2u + static_cast<uint32_t>(round % 2));
  }
}

TEST(ThreadPool, ResultsOfABodyAreVisibleAfterwards) {
  ThreadPool pool(4);
  std::vector<uint64_t> values(10'000);
  for (uint64_t round = 1; round <= 50; ++round) {
    pool.ParallelFor(values.size(), 16, [&](uint64_t begin, uint64_t end, uint32_t) {
      for (uint64_t i = begin; i < end; ++i) values[i] += i * round;
    });
    for (uint64_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], i * round * (round + 1) / 2);
  }
}

// The test runs in a child process that may start no more threads.
TEST(ThreadPool, WhereNoThreadCanBeStartedTheCallerWorksAlone) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // RLIMIT_NPROC does not apply to root, so a root process becomes another user. If setuid fails, this is a
    // namespace's root, and the limit applies to it.
    if (geteuid() == 0 && setuid(65534) != 0) errno = 0;
    const rlimit none = {0, 0};
    if (setrlimit(RLIMIT_NPROC, &none) != 0) _exit(2);
    ThreadPool pool(8);
    if (pool.most_threads() != 8) _exit(6);
    std::atomic<uint64_t> sum{0};
    pool.ParallelFor(1000, 1, [&](uint64_t begin, uint64_t end, uint32_t) { sum += end - begin; });
    if (sum.load() != 1000) _exit(3);
    if (pool.most_threads() != 1 || pool.thread_count() != 1) _exit(4);
    if (pool.wanted_threads() != 8) _exit(7);
    Gang gang;
    pool.RunGang(pool.thread_count(), Gang::Body, &gang);
    _exit(gang.members.load() == 1 ? 0 : 5);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ThreadPool, MayBeDestroyedInEveryState) {
  // If the pool's destructor never returns, this hangs until the test times out.
  for (int round = 0; round < 100; ++round) {
    std::atomic<uint64_t> done = 0;
    {
      ThreadPool pool(4);
      const auto count = [&done](uint64_t begin, uint64_t end, uint32_t) { done += end - begin; };
      if (round % 3 != 0) pool.ParallelFor(8, 1, count);
      if (round % 3 == 2) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    ASSERT_EQ(done, round % 3 == 0 ? 0u : 8u);
  }
}

}  // namespace
}  // namespace epiphyte::core
