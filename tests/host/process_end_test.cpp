// exit() during runs, asynchronous runs and the creation of sessions, as in applications that end on a signal or an
// error. The exit code must be the application's, and nothing may crash.
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "epiphyte/epiphyte.hpp"
#include "tests/host/bundled_plugins.h"
#include "tests/host/small_models.h"

namespace epiphyte {
namespace {

constexpr int kCode = 7;

std::span<const std::byte> ModelBytes(const std::string& text) { return std::as_bytes(std::span(text)); }

class ProcessEnd : public ::testing::Test {
 protected:
  ProcessEnd() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  struct Work {
    Environment environment = test::BundledPlugins();
    SessionOptions options;
    std::string model = test::MatMulModel();
    std::vector<NamedValue> inputs;
  };
  // The object is leaked, because exit() does not destroy it while threads use it.
  static Work& NewWork() {
    auto* const work = new Work;
    work->options.AddProvider("cpu").SetThreadCount(2);
    const std::vector<float> numbers(8, 1);
    work->inputs = {{Session(work->environment, ModelBytes(work->model), work->options).inputs()[0].name,
                     Value::Copy<float>(numbers, {2, 4})}};
    return *work;
  }
  static void Loop(std::function<void()> body) {
    std::thread([body = std::move(body)] {
      for (;;) {
        try {
          body();
        } catch (const Error&) {
          // Calls fail because the process is ending.
        }
      }
    }).detach();
  }
  [[noreturn]] static void ExitSoon() {
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::seconds(20));
      _exit(1);  // exit() hangs
    }).detach();
    std::random_device random;
    std::this_thread::sleep_for(std::chrono::microseconds(5000 + random() % 30000));
    std::exit(kCode);
  }

  static void EndWhileSessionsAreMade() {
    Work& work = NewWork();
    for (int i = 0; i < 3; ++i) {
      Loop([&work] { Session(work.environment, ModelBytes(work.model), work.options); });
    }
    ExitSoon();
  }
  static void EndWhileSessionsRun() {
    Work& work = NewWork();
    auto* const session = new Session(work.environment, ModelBytes(work.model), work.options);
    for (int i = 0; i < 3; ++i) {
      Loop([&work, session] { session->Run(work.inputs); });
    }
    Loop([&work, session] { session->RunAsync(work.inputs).wait(); });
    ExitSoon();
  }
  // Many programs have a static session: exit() destroys it, and its destructor waits for its runs.
  static void EndWithAStaticSession() {
    Work& work = NewWork();
    static const auto session = std::make_unique<Session>(work.environment, ModelBytes(work.model), work.options);
    static std::atomic<int> under_way{0};
    const auto run = [&work] {
      ++under_way;
      session->RunAsync(work.inputs, {}, [](RunResult) { --under_way; });
    };
    for (int i = 0; i < 200; ++i) run();
    ExitSoon();
  }
  static void EndWhileTheFirstSessionIsMade() {
    auto* const model = new std::string(test::MatMulModel());
    for (int i = 0; i < 2; ++i) {
      Loop([model] {
        auto* const environment = new Environment(test::BundledPlugins());
        SessionOptions options;
        options.AddProvider("cpu").SetThreadCount(2);
        new Session(*environment, ModelBytes(*model), options);
      });
    }
    ExitSoon();
  }
};

// Each repetition ends at another moment.
constexpr int kTimes = 12;

TEST_F(ProcessEnd, WhileSessionsAreMade) {
  for (int i = 0; i < kTimes; ++i) EXPECT_EXIT(EndWhileSessionsAreMade(), ::testing::ExitedWithCode(kCode), "");
}

TEST_F(ProcessEnd, WhileSessionsRun) {
  for (int i = 0; i < kTimes; ++i) EXPECT_EXIT(EndWhileSessionsRun(), ::testing::ExitedWithCode(kCode), "");
}

TEST_F(ProcessEnd, WithAStaticSession) {
  for (int i = 0; i < kTimes; ++i) EXPECT_EXIT(EndWithAStaticSession(), ::testing::ExitedWithCode(kCode), "");
}

TEST_F(ProcessEnd, WhileTheFirstSessionIsMade) {
  for (int i = 0; i < kTimes; ++i) EXPECT_EXIT(EndWhileTheFirstSessionIsMade(), ::testing::ExitedWithCode(kCode), "");
}

}  // namespace
}  // namespace epiphyte
