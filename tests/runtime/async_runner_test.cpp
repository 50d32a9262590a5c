// The threads of asynchronous runs.
#include "core/runtime/async_runner.h"

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

namespace epiphyte::core {
namespace {

using ::testing::ElementsAre;

size_t ThreadsOfThisProcess() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(threads), end(threads)));
}

// A gate that is closed until Open.
class Gate {
 public:
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

TEST(AsyncRunner, HasNoThreadBeforeItIsNeeded) {
  const size_t before = ThreadsOfThisProcess();
  AsyncRunner runner(4);
  EXPECT_EQ(ThreadsOfThisProcess(), before);
}

TEST(AsyncRunner, NeverHasMoreThreadsThanItMay) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> at_once = 0;
  std::atomic<int> most_at_once = 0;
  {
    AsyncRunner runner(2);
    for (int i = 0; i < 200; ++i) {
      runner.Post([&] {
        const int now = ++at_once;
        for (int most = most_at_once; now > most && !most_at_once.compare_exchange_weak(most, now);) {
        }
        {
          const std::lock_guard lock(mutex);
          threads.insert(std::this_thread::get_id());
        }
        --at_once;
      });
    }
  }
  EXPECT_LE(threads.size(), 2u);
  EXPECT_LE(most_at_once, 2);
}

TEST(AsyncRunner, RunsTasksAtOnceWhenItHasThreadsForThem) {
  Gate first;
  Gate second;
  std::atomic<int> done = 0;
  Gate all;
  AsyncRunner runner(2);
  // Each task waits for the other, so a single thread would never finish.
  runner.Post([&] {
    first.Open();
    second.Wait();
    if (++done == 2) all.Open();
  });
  runner.Post([&] {
    second.Open();
    first.Wait();
    if (++done == 2) all.Open();
  });
  all.Wait();  // a runner with one thread hangs here
  EXPECT_EQ(done, 2);
}

TEST(AsyncRunner, StartsTasksInOrderAndFinishesAllBeforeItIsDestroyed) {
  std::vector<int> order;
  {
    AsyncRunner runner(1);
    for (int i = 0; i < 5; ++i) runner.Post([&order, i] { order.push_back(i); });
  }
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
}

TEST(AsyncRunner, ATaskMayBeTheOneThatEndsIt) {
  const auto ended = std::make_shared<Gate>();
  auto runner = std::make_shared<std::optional<AsyncRunner>>();
  runner->emplace(1);
  (*runner)->Post([runner, ended] {
    runner->reset();
    ended->Open();
  });
  ended->Wait();
  EXPECT_FALSE(runner->has_value());
}

TEST(AsyncRunner, ATaskMayDoWhatWaitsForItsThread) {
  Gate begin;
  Gate ended;
  std::vector<int> order;
  AsyncRunner runner(1);
  runner.Post([&] {
    begin.Wait();
    while (runner.DoOne()) {
    }
    order.push_back(1);
    ended.Open();
  });
  for (int i = 2; i < 5; ++i) runner.Post([&order, i] { order.push_back(i); });
  begin.Open();
  ended.Wait();
  EXPECT_THAT(order, ElementsAre(2, 3, 4, 1));
  EXPECT_FALSE(runner.DoOne());
}

}  // namespace
}  // namespace epiphyte::core
