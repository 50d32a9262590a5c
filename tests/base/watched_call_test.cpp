// Process state that a plugin must leave unchanged. The host checks it after each call.
#include "core/base/watched_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cfenv>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "core/base/float_mode.h"
#include "core/base/thread_pool.h"
#include "tests/framework/temp_dir.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace epiphyte::test {
namespace {

using core::FloatMode;
using core::ThreadPool;
using core::WatchedCall;
using testing::HasSubstr;
using testing::Not;

std::string LogOf(const std::function<void()>& body) {
  testing::internal::CaptureStderr();
  body();
  return testing::internal::GetCapturedStderr();
}

TEST(WatchedCall, RestoresTheRoundingModeAndSaysSoOnce) {
  const auto call = [] {
    const WatchedCall watched("rounder", "Compile", WatchedCall::kMode);
    std::fesetround(FE_UPWARD);
  };
  EXPECT_THAT(LogOf(call), HasSubstr("provider 'rounder': in Compile the thread's floating-point mode changed, from "
                                     "rounding to nearest to rounding up"));
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  EXPECT_EQ(LogOf(call), "");
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST(WatchedCall, LeavesTheModeThatTheApplicationChose) {
  std::fesetround(FE_DOWNWARD);
  {
    const WatchedCall watched("careful", "Compile", WatchedCall::kMode);
    std::fesetround(FE_DOWNWARD);
  }
  {
    const WatchedCall watched("careless", "Compile", WatchedCall::kMode);
    std::fesetround(FE_TONEAREST);
  }
  EXPECT_EQ(std::fegetround(), FE_DOWNWARD);
  std::fesetround(FE_TONEAREST);
}

TEST(WatchedCall, RestoresTheModeWhereTheCallThrows) {
  try {
    const WatchedCall watched("thrower", "Compile", WatchedCall::kMode);
    std::fesetround(FE_UPWARD);
    throw 1;
  } catch (int) {
  }
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

#if defined(__SSE2__)
TEST(WatchedCall, RestoresWhatBecomesOfDenormals) {
  const std::string log = LogOf([] {
    const WatchedCall watched("flusher", "Compile", WatchedCall::kMode);
    _mm_setcsr(_mm_getcsr() | 0x8040);
  });
  EXPECT_THAT(log, HasSubstr("denormals are zero, tiny results become zero"));
  EXPECT_EQ(_mm_getcsr() & 0x8040, 0u);
}

TEST(WatchedCall, ExceptionFlagsAreNotRestored) {
  std::feclearexcept(FE_ALL_EXCEPT);
  EXPECT_EQ(LogOf([] {
              const WatchedCall watched("divider", "Compile", WatchedCall::kMode);
              volatile float zero = 0;
              volatile float infinity = 1 / zero;
              (void)infinity;
            }),
            "");
  EXPECT_NE(std::fetestexcept(FE_DIVBYZERO), 0);
  std::feclearexcept(FE_ALL_EXCEPT);
}
#endif

// The workers outlive the call and serve other plugins.
TEST(WatchedCall, RestoresTheModeOfThePoolsThreads) {
  ThreadPool pool(2);
  std::atomic<int> wrong{0};
  const auto all = [&](const std::function<void()>& body) {
    pool.RunGang(
        2, [](void* user, uint32_t, uint32_t) { (*static_cast<const std::function<void()>*>(user))(); },
        const_cast<void*>(static_cast<const void*>(&body)));
  };
  LogOf([&] {
    const WatchedCall watched("gang", "Execute", WatchedCall::kMode);
    all([] { std::fesetround(FE_TOWARDZERO); });
  });
  all([&] { wrong += std::fegetround() != FE_TONEAREST ? 1 : 0; });
  EXPECT_EQ(wrong, 0);
}

TEST(WatchedCall, ThreadsThatStartInsideOfACallBeginWithTheModeOfThePool) {
  ThreadPool pool(2);
  LogOf([&] {
    const WatchedCall watched("starter", "Execute", WatchedCall::kMode);
    std::fesetround(FE_UPWARD);
    EXPECT_EQ(pool.thread_count(), 2u);
  });
  std::atomic<int> wrong{0};
  pool.RunGang(
      2,
      [](void* user, uint32_t, uint32_t) {
        *static_cast<std::atomic<int>*>(user) += std::fegetround() != FE_TONEAREST ? 1 : 0;
      },
      &wrong);
  EXPECT_EQ(wrong, 0);
}

TEST(WatchedCall, SaysThatTheWorkingDirectoryChanged) {
  const std::filesystem::path before = std::filesystem::current_path();
  const TempDir dir;
  const std::string log = LogOf([&] {
    const WatchedCall watched("walker", "Initialize", WatchedCall::kFolder);
    std::filesystem::current_path(dir.path());
  });
  EXPECT_EQ(std::filesystem::current_path(), std::filesystem::canonical(dir.path())) << "others may have changed it";
  std::filesystem::current_path(before);
  EXPECT_THAT(log, HasSubstr("provider 'walker': in Initialize the working directory changed"));
  EXPECT_EQ(LogOf([&] { const WatchedCall watched("sitter", "Initialize", WatchedCall::kFolder); }), "");
}

// --- exit

class WatchedExit : public testing::Test {
 protected:
  WatchedExit() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  static void ExitInside(int code) {
    WatchedCall::NoticeExit();
    const WatchedCall watched("quitter", "Compile", WatchedCall::kMode);
    std::exit(code);
  }
};

TEST_F(WatchedExit, InsideOfACallIsReportedAndIsNoSuccess) {
  EXPECT_EXIT(ExitInside(0), testing::ExitedWithCode(1),
              "exit was called inside of provider 'quitter', in Compile, with code 0");
  EXPECT_EXIT(ExitInside(256), testing::ExitedWithCode(1), "inside of provider 'quitter'");
  EXPECT_EXIT(ExitInside(3), testing::ExitedWithCode(3), "inside of provider 'quitter'");
}

TEST_F(WatchedExit, OfAThreadThatHelpsInACallIsReported) {
  const auto exit_in_worker = [] {
    WatchedCall::NoticeExit();
    ThreadPool pool(2);
    const WatchedCall watched("helper", "Execute", WatchedCall::kMode);
    pool.RunGang(
        2,
        [](void*, uint32_t member, uint32_t) {
          if (member == 1) std::exit(0);
          while (true) pause();
        },
        nullptr);
  };
  EXPECT_EXIT(exit_in_worker(), testing::ExitedWithCode(1), "inside of provider 'helper', in Execute");
}

TEST_F(WatchedExit, ExitOfTheApplicationIsNotReported) {
  const auto exit_outside = [] {
    WatchedCall::NoticeExit();
    { const WatchedCall watched("bystander", "Compile", WatchedCall::kMode); }
    std::exit(0);
  };
  EXPECT_EXIT(exit_outside(), testing::ExitedWithCode(0), "^$");
  const auto exit_in_callback = [] {
    WatchedCall::NoticeExit();
    const WatchedCall watched("bystander", "Compile", WatchedCall::kMode);
    const WatchedCall::Callback callback;
    std::exit(0);
  };
  EXPECT_EXIT(exit_in_callback(), testing::ExitedWithCode(0), "^$");
  const auto exit_elsewhere = [] {
    WatchedCall::NoticeExit();
    const WatchedCall watched("bystander", "Execute", WatchedCall::kMode);
    std::thread([] { std::exit(5); }).join();
  };
  EXPECT_EXIT(exit_elsewhere(), testing::ExitedWithCode(5), "^$");
}

TEST_F(WatchedExit, ExitOfAForkedChildIsNotReported) {
  const auto fork_inside = [] {
    WatchedCall::NoticeExit();
    const WatchedCall watched("forker", "Compile", WatchedCall::kMode);
    const pid_t child = fork();
    if (child == 0) std::exit(0);
    int status = -1;
    waitpid(child, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) + 10 : 1);
  };
  EXPECT_EXIT(fork_inside(), testing::ExitedWithCode(10), "^$");
}

}  // namespace
}  // namespace epiphyte::test
