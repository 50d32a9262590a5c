// The host's threads, as kernels use them.
#include "epiphyte/kit/abi/threads.hpp"

#include <gtest/gtest.h>

#include <new>
#include <string>
#include <vector>

#include "tests/framework/single_thread_services.h"

namespace epiphyte::test {
namespace {

using kit::Threads;

// The host's side is C, so an exception of a share must not pass through it. This flag records that one did.
thread_local bool t_passed_through_the_host = false;

Threads TwoThreads() {
  static const EpServicesApi kServices = [] {
    EpServicesApi services = kSingleThreadServices;
    services.ParallelFor = [](EpThreadPool*, uint64_t count, uint64_t, EpParallelBody body, void* user) {
      try {
        for (uint64_t i = 0; i < count; ++i) body(user, i, i + 1, static_cast<uint32_t>(i % 2));
      } catch (...) {
        t_passed_through_the_host = true;
        throw;
      }
    };
    services.GetThreadCount = [](EpThreadPool*) -> uint32_t { return 8; };
    return services;
  }();
  return {&kServices, nullptr, 2};
}

TEST(KitThreads, ExceptionOfTheBodyIsRethrownAfterTheLoop) {
  int64_t shares = 0;
  try {
    TwoThreads().ParallelFor(10, 1, [&](int64_t begin, int64_t) {
      ++shares;
      if (begin == 3) throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "share " + std::to_string(begin) + " fails");
    });
    FAIL() << "nothing was thrown";
  } catch (const kit::Error& error) {
    EXPECT_STREQ(error.what(), "share 3 fails");
    EXPECT_EQ(error.code(), EP_STATUS_INVALID_ARGUMENT);
  }
  EXPECT_FALSE(t_passed_through_the_host);
  EXPECT_EQ(shares, 4) << "the others are not begun any more";
}

TEST(KitThreads, BadAllocInTheBodyIsRethrown) {
  const auto allocate = [](int64_t, int64_t) { throw std::bad_alloc(); };
  EXPECT_THROW(TwoThreads().ParallelFor(10, 1, allocate), std::bad_alloc);
  EXPECT_FALSE(t_passed_through_the_host);
}

TEST(KitThreads, ALoopTooShortToShareRunsHere) {
  std::vector<std::pair<int64_t, int64_t>> shares;
  const auto note = [&](int64_t begin, int64_t end) { shares.emplace_back(begin, end); };
  TwoThreads().ParallelFor(10, 10, note);
  TwoThreads().ParallelFor(0, 1, note);
  Threads({nullptr, nullptr, 1}).ParallelFor(7, 1, note);
  EXPECT_EQ(shares, (std::vector<std::pair<int64_t, int64_t>>{{0, 10}, {0, 7}}));
}

TEST(KitThreads, BodyGetsTheNumberOfItsWorker) {
  std::vector<uint32_t> workers;
  TwoThreads().ParallelFor(3, 1, [&](int64_t, int64_t, uint32_t worker) { workers.push_back(worker); });
  EXPECT_EQ(workers, (std::vector<uint32_t>{0, 1, 0}));
}

TEST(KitThreads, ThereAreNoMoreThanWereWanted) {
  EXPECT_EQ(TwoThreads().Count(), 2u) << "of the host's eight";
  EXPECT_EQ(Threads({nullptr, nullptr, 1}).Count(), 1u) << "without asking";
}

}  // namespace
}  // namespace epiphyte::test
