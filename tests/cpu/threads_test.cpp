// The host's threads as kernels use them.
#include "plugins/cpu/kernel/host.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/cpu/plan_host.h"

namespace epiphyte::test {
namespace {

using cpu::FailOp;
using cpu::OpError;
using cpu::Threads;

// The host's side is C: what a share throws must not pass through it. This one says whether something did.
thread_local bool t_passed_through_the_host = false;

Threads TwoThreads() {
  static const EpServicesApi kServices = [] {
    EpServicesApi services = *FakeHost()->services;
    services.ParallelFor = [](EpThreadPool*, uint64_t count, uint64_t, EpParallelBody body, void* user) {
      try {
        for (uint64_t i = 0; i < count; ++i) body(user, i, i + 1, 0);
      } catch (...) {
        t_passed_through_the_host = true;
        throw;
      }
    };
    return services;
  }();
  return {&kServices, nullptr, 2};
}

TEST(Threads, WhatAShareThrowsComesOutBehindTheLoop) {
  int64_t shares = 0;
  try {
    TwoThreads().ParallelFor(10, 1, [&](int64_t begin, int64_t) {
      ++shares;
      if (begin == 3) FailOp("share {} fails", begin);
    });
    FAIL() << "nothing was thrown";
  } catch (const OpError& error) {
    EXPECT_STREQ(error.what(), "share 3 fails");
    EXPECT_EQ(error.code(), EP_STATUS_INVALID_ARGUMENT);
  }
  EXPECT_FALSE(t_passed_through_the_host);
  EXPECT_EQ(shares, 4) << "the others are not begun any more";
}

TEST(Threads, NoMemoryInAShareIsNoMemory) {
  const auto allocate = [](int64_t, int64_t) { throw std::bad_alloc(); };
  EXPECT_THROW(TwoThreads().ParallelFor(10, 1, allocate), std::bad_alloc);
  EXPECT_FALSE(t_passed_through_the_host);
}

}  // namespace
}  // namespace epiphyte::test
