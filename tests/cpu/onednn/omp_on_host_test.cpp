// oneDNN's parallel regions on the host's threads: regions with members that may wait for each other, and regions with
// independent members.
#include "plugins/cpu/onednn/omp_on_host/omp_on_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <thread>

#include "core/base/thread_pool.h"

extern "C" {
int omp_get_num_threads(void);
int omp_get_thread_num(void);
void GOMP_barrier(void);
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
}

namespace epiphyte::cpu {
namespace {

using core::ThreadPool;
using ::testing::Each;

ThreadPool& PoolOf(EpThreadPool* pool) { return *reinterpret_cast<ThreadPool*>(pool); }

EpServicesApi Services() {
  EpServicesApi services{};
  services.struct_size = sizeof services;
  services.GetThreadCount = [](EpThreadPool* pool) { return PoolOf(pool).thread_count(); };
  services.ParallelFor = [](EpThreadPool* pool, uint64_t count, uint64_t grain, EpParallelBody body, void* user) {
    PoolOf(pool).ParallelFor(count, grain, body, user);
  };
  services.RunGang = [](EpThreadPool* pool, uint32_t size, EpGangBody body, void* user) {
    PoolOf(pool).RunGang(size, body, user);
  };
  return services;
}

// While it exists, parallel regions of this thread use `pool`.
class Team {
 public:
  Team(ThreadPool& pool, bool independent)
      : services_(Services()),
        before_(EpiphyteOmpSetTeam({&services_, reinterpret_cast<EpThreadPool*>(&pool), 0, independent ? 1u : 0u})) {}
  ~Team() { EpiphyteOmpSetTeam(before_); }

 private:
  EpServicesApi services_;
  EpiphyteOmpTeam before_;
};

constexpr unsigned kThreads = 2;

struct Region {
  std::array<std::atomic<int>, kThreads> runs_of{};
  std::array<std::thread::id, kThreads> thread_of{};
  std::atomic<int> arrived{0};
  bool meet = false;

  static void Body(void* data) {
    auto& region = *static_cast<Region*>(data);
    EXPECT_EQ(omp_get_num_threads(), static_cast<int>(kThreads));
    const auto member = static_cast<size_t>(omp_get_thread_num());
    ++region.runs_of.at(member);
    region.thread_of.at(member) = std::this_thread::get_id();
    if (!region.meet) return;
    ++region.arrived;
    GOMP_barrier();
    EXPECT_EQ(region.arrived.load(), static_cast<int>(kThreads)) << "the barrier opened before all were there";
  }
  void Run() { GOMP_parallel(&Body, this, kThreads, 0); }
};

TEST(OmpOnHost, EachMemberRunsOnce) {
  ThreadPool pool(kThreads);
  for (const bool independent : {false, true}) {
    const Team team(pool, independent);
    for (int round = 0; round < 200; ++round) {
      Region region;
      region.Run();
      for (const auto& runs : region.runs_of) ASSERT_EQ(runs.load(), 1);
    }
  }
}

TEST(OmpOnHost, MembersMayMeetUnlessTheyAreIndependent) {
  ThreadPool pool(kThreads);
  const Team team(pool, false);
  Region region;
  region.meet = true;
  region.Run();
  EXPECT_EQ(region.arrived.load(), static_cast<int>(kThreads));
}

TEST(OmpOnHost, IndependentMembersTakeTurnsOnTheCallersThreadWhileOthersWork) {
  ThreadPool pool(kThreads);
  std::promise<void> works, over;
  std::thread other([&] {
    const ThreadPool::Caller caller(pool);
    pool.ParallelFor(64, 1, [](uint64_t, uint64_t, uint32_t) {});
    works.set_value();
    over.get_future().wait();
  });
  works.get_future().wait();
  {
    const Team team(pool, true);
    Region region;
    region.Run();
    for (const auto& runs : region.runs_of) EXPECT_EQ(runs.load(), 1);
    EXPECT_THAT(region.thread_of, Each(std::this_thread::get_id()));
  }
  over.set_value();
  other.join();
}

TEST(OmpOnHost, ARegionKnowsWhatItsThreadSaid) {
  EXPECT_EQ(EpiphyteOmpSetIndependent(1), 0u);
  EXPECT_EQ(EpiphyteOmpSetIndependent(0), 1u);
}

}  // namespace
}  // namespace epiphyte::cpu
