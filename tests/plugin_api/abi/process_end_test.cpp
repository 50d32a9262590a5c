// exit() during calls of a host: a plugin must not work while the destructors of its libraries run.
#include "epiphyte/kit/abi/process_end.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "core/abi/host_tables.h"

namespace epiphyte::test {
namespace {

using kit::ProcessEnd;

constexpr int kEndedWell = 7;
constexpr int kUsedWhenGone = 3;
constexpr int kTookTooLong = 4;

// State of a library, created on first use and destroyed by exit().
struct Library {
  ~Library() {
    is_gone = true;
    usleep(50'000);  // time in which other threads can see the flag
  }
  void Use() const {
    if (is_gone) _exit(kUsedWhenGone);
  }
  std::atomic<bool> is_gone{false};
};

const Library& TheLibrary() {
  static const Library library;
  return library;
}

class ProcessEndTest : public testing::Test {
 protected:
  ProcessEndTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  // A call that uses the library until the end of the process has begun.
  static void Work() {
    const ProcessEnd::Call call;
    if (!call) return;
    for (int i = 0; i < 20 && !ProcessEnd::HasBegun(); ++i) {
      usleep(1000);
      TheLibrary().Use();
    }
    usleep(20'000);  // stands for work that can't be interrupted
    TheLibrary().Use();
  }
  // Ends the process with kTookTooLong if it still runs after that time.
  static void Within(unsigned seconds) {
    std::thread([seconds] {
      sleep(seconds);
      _exit(kTookTooLong);
    }).detach();
  }
};

TEST_F(ProcessEndTest, WaitsForCallsUnderWayAndRefusesLaterOnes) {
  const auto end = [] {
    Within(5);
    TheLibrary().Use();
    ProcessEnd::Notice();
    for (int i = 0; i < 4; ++i) {
      std::thread([] {
        while (true) Work();
      }).detach();
    }
    usleep(10'000);
    std::exit(kEndedWell);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(kEndedWell), "");
}

TEST_F(ProcessEndTest, DoesNotWaitForTheCallThatItComesOutOf) {
  const auto end = [] {
    Within(5);
    ProcessEnd::Notice();
    const ProcessEnd::Call call;
    std::exit(kEndedWell);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(kEndedWell), "");
}

TEST_F(ProcessEndTest, AForkedChildDoesNotWaitForThreadsOfItsParent) {
  const auto end = [] {
    ProcessEnd::Notice();
    std::thread([] {
      const ProcessEnd::Call call;
      while (true) pause();
    }).detach();
    usleep(10'000);
    const pid_t child = fork();
    if (child == 0) {
      alarm(5);
      std::exit(kEndedWell);
    }
    int status = 0;
    waitpid(child, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : kTookTooLong);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(kEndedWell), "");
}

TEST_F(ProcessEndTest, WhatTheHostCallsAfterwardsIsRefusedAndReleasesNothing) {
  const auto end = [] {
    static std::atomic<bool> released{false};
    std::atexit([] {
      const EpHostInfo& host = *core::HostInfo();
      bool called = false;
      EpStatus* const status = kit::GuardCall(host, [&] { called = true; });
      kit::ReleaseCall([] { released = true; });
      const bool refused = status != nullptr && host.status->GetCode(status) == EP_STATUS_CANCELED;
      _exit(refused && !called && !released && ProcessEnd::IsOver() ? kEndedWell : 1);
    });
    ProcessEnd::Notice();
    std::exit(0);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(kEndedWell), "");
}

TEST_F(ProcessEndTest, CallsWorkUntilTheProcessEnds) {
  const EpHostInfo& host = *core::HostInfo();
  int calls = 0;
  EXPECT_EQ(kit::GuardCall(host, [&] { ++calls; }), nullptr);
  kit::ReleaseCall([&] { ++calls; });
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(ProcessEnd::HasBegun());
  EXPECT_NO_THROW(ProcessEnd::ThrowIfBegun());
  EpStatus* const status =
      kit::GuardCall(host, [] { throw kit::Error(EP_STATUS_NOT_IMPLEMENTED, "as Guard gives it"); });
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(host.status->GetCode(status), EP_STATUS_NOT_IMPLEMENTED);
  host.status->Release(status);
}

}  // namespace
}  // namespace epiphyte::test
