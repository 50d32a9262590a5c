// Cancelled, tagged and asynchronous runs.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "epiphyte/epiphyte.hpp"
#include "tests/framework/temp_dir.h"
#include "tests/host/bundled_plugins.h"
#include "tests/host/run_program.h"
#include "tests/host/small_models.h"

namespace epiphyte {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Environment AtMostAtOnce(uint32_t max_async_runs) {
  EnvironmentOptions options;
  options.max_async_runs = max_async_runs;
  return test::BundledPlugins(options);
}

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

Value Int64s(std::vector<int64_t> data, const Shape& shape) { return Value::Copy<int64_t>(data, shape); }

// Inputs with which the model counts from 0 to `trips`.
std::vector<NamedValue> Counting(int64_t trips) { return {{"trips", Int64s({trips}, {})}, {"x", Int64s({0}, {1})}}; }
constexpr int64_t kForEver = int64_t{1} << 60;

size_t ThreadsOfThisProcess() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(threads), end(threads)));
}

class RunOptionsTest : public ::testing::Test {
 protected:
  Session Open(const SessionOptions& options = {}) {
    return Session(environment_, Bytes(test::CountingModel()), options);
  }

  Environment environment_ = test::BundledPlugins();
};

using RunAsyncTest = RunOptionsTest;

int64_t Count(const std::vector<Value>& outputs) { return outputs.at(0).Data<int64_t>()[0]; }

// --- cancelling

TEST_F(RunOptionsTest, AnotherThreadEndsARunAndTheSessionGoesOn) {
  Session session = Open();
  std::stop_source source;
  std::jthread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(source.request_stop());
    EXPECT_FALSE(source.request_stop()) << "twice is harmless";
  });
  try {
    session.Run(Counting(kForEver), {.stop = source.get_token()});
    FAIL() << "it ran to an end";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kCanceled);
    EXPECT_STREQ(error.what(), "the run was cancelled");
  }
  EXPECT_EQ(Count(session.Run(Counting(3))), 3);
}

TEST_F(RunOptionsTest, WhatWasCancelledBeforeItBeganDoesNothing) {
  std::stop_source source;
  source.request_stop();
  source.request_stop();
  Session session = Open();
  EXPECT_THROW(session.Run(Counting(0), {.stop = source.get_token()}), Error);
}

TEST_F(RunOptionsTest, ABindingCanBeCancelledAndHasNoSayInOutputs) {
  Session session = Open();
  IoBinding binding(session);
  for (const NamedValue& input : Counting(5)) binding.BindInput(input.first, input.second);
  std::stop_source source;
  binding.Run({.stop = source.get_token()});
  EXPECT_EQ(binding.Output("y").Data<int64_t>()[0], 5);
  source.request_stop();
  EXPECT_THROW(binding.Run({.stop = source.get_token()}), Error);
  try {
    binding.Run({.outputs = {"y"}});
    FAIL() << "outputs were accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kInvalidArgument);
  }
}

TEST_F(RunOptionsTest, InputsInOrderMayAskForSomeOutputs) {
  Session session(environment_, Bytes(test::MaskModel()));
  const std::vector<Value> inputs = {Value::Copy<float>(std::vector<float>{3, 4}, {2}), Int64s({1, 0}, {2})};
  const std::vector<Value> outputs = session.Run(inputs, {.outputs = {"shape"}});
  ASSERT_THAT(outputs, SizeIs(1));
  EXPECT_THAT(outputs[0].Data<int64_t>(), ElementsAre(2));
}

// --- tags

TEST_F(RunOptionsTest, ATagStandsInTheEventsOfItsRunAndOfNoOther) {
  test::TempDir folder;
  Session session = Open(SessionOptions().SetProfile(folder / "trace.json"));
  session.Run(Counting(1));
  session.Run(Counting(1), {.tag = "request \"7\""});
  const auto trace = nlohmann::json::parse(session.ProfileJson());
  size_t tagged = 0;
  size_t runs = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "run") ++runs;
    if (!event.contains("args")) continue;
    EXPECT_EQ(event["args"]["tag"], "request \"7\"");
    ++tagged;
  }
  EXPECT_EQ(runs, 2u);
  EXPECT_GE(tagged, 2u) << "the run, and what it does";
}

TEST_F(RunOptionsTest, ATagMayBeAnything) {
  Session session = Open();
  for (const std::string& tag : {std::string(100000, 'x'), std::string("\x1b[31m\n\0", 7), std::string("\xff\xfe")}) {
    EXPECT_EQ(Count(session.Run(Counting(2), {.tag = tag})), 2);
  }
}

// --- RunAsync

TEST_F(RunAsyncTest, AFutureHasTheOutputs) {
  Session session = Open();
  std::future<RunResult> result = session.RunAsync(Counting(4));
  EXPECT_EQ(Count(result.get().Take()), 4);
}

TEST_F(RunAsyncTest, ACallbackGetsOutputsOnAnotherThread) {
  std::promise<std::pair<int64_t, std::thread::id>> told;
  Session session = Open();
  session.RunAsync(Counting(4), {}, [&](RunResult result) {
    EXPECT_FALSE(result.error);
    told.set_value({Count(result.outputs), std::this_thread::get_id()});
  });
  const auto [count, thread] = told.get_future().get();
  EXPECT_EQ(count, 4);
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST_F(RunAsyncTest, ErrorsAreInTheResult) {
  Session session = Open();
  RunResult unknown = session.RunAsync({{"z", Int64s({1}, {1})}}).get();
  ASSERT_TRUE(unknown.error);
  EXPECT_EQ(unknown.error->code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(unknown.error->what(), HasSubstr("no input 'z'"));
  EXPECT_THAT(unknown.outputs, IsEmpty());
  EXPECT_THROW(unknown.Take(), Error);
  RunResult missing = session.RunAsync({{"x", Int64s({1}, {1})}}).get();
  ASSERT_TRUE(missing.error);
  EXPECT_THAT(missing.error->what(), HasSubstr("trips"));
  EXPECT_THROW(session.RunAsync(Counting(1), {}, nullptr), Error);
}

TEST_F(RunAsyncTest, HasItsOwnReferencesToTheInputsUntilTheRunIsOver) {
  std::promise<void> begin;
  std::atomic<bool> released = false;
  std::vector<int64_t> x = {40};
  Session session(AtMostAtOnce(1), Bytes(test::CountingModel()));
  session.RunAsync(Counting(0), {}, [&](RunResult) { begin.get_future().wait(); });  // blocks the only thread
  std::future<RunResult> result;
  {
    const Value wrapped = Value::Wrap<int64_t>(x, {1}, [&] { released = true; });
    result = session.RunAsync({{"trips", Int64s({2}, {})}, {"x", wrapped}});
  }
  EXPECT_FALSE(released) << "the run has not begun";
  begin.set_value();
  EXPECT_EQ(Count(result.get().Take()), 42);
  EXPECT_TRUE(released) << "and it has let go of them";
}

TEST_F(RunAsyncTest, CanBeCancelledBeforeAndWhileItRuns) {
  Session session(AtMostAtOnce(1), Bytes(test::CountingModel()));
  std::stop_source first;
  std::stop_source second;
  std::future<RunResult> runs = session.RunAsync(Counting(kForEver), {.stop = first.get_token()});
  std::future<RunResult> waits = session.RunAsync(Counting(kForEver), {.stop = second.get_token()});
  second.request_stop();
  first.request_stop();
  for (std::future<RunResult>* future : {&runs, &waits}) {
    const RunResult result = future->get();
    ASSERT_TRUE(result.error);
    EXPECT_STREQ(result.error->what(), "the run was cancelled");
  }
}

TEST_F(RunAsyncTest, NoThreadIsStartedBeforeItIsUsedAndNeverMoreThanTheLimit) {
  const Environment environment = AtMostAtOnce(2);
  Session session(environment, Bytes(test::CountingModel()), SessionOptions().SetThreadCount(1));
  session.Run(Counting(3));
  std::thread([] {}).join();  // ThreadSanitizer starts a thread of its own with the first one
  const size_t before = ThreadsOfThisProcess();
  session.Run(Counting(3));
  EXPECT_EQ(ThreadsOfThisProcess(), before);
  std::vector<std::future<RunResult>> results;
  for (int i = 0; i < 50; ++i) results.push_back(session.RunAsync(Counting(i)));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(Count(results[static_cast<size_t>(i)].get().Take()), i);
  EXPECT_LE(ThreadsOfThisProcess(), before + 2);
}

TEST_F(RunAsyncTest, LettingGoOfASessionWaitsForItsRuns) {
  std::atomic<int> done = 0;
  std::stop_source source;
  {
    Session session = Open();
    for (int i = 0; i < 4; ++i) {
      session.RunAsync(Counting(kForEver), {.stop = source.get_token()}, [&](RunResult result) {
        EXPECT_TRUE(result.error);
        ++done;
      });
    }
    source.request_stop();
  }
  EXPECT_EQ(done, 4);
}

TEST_F(RunAsyncTest, ACallbackMayLetGoOfItsSession) {
  const auto over = std::make_shared<std::promise<void>>();
  auto session = std::make_shared<std::optional<Session>>();
  session->emplace(AtMostAtOnce(1), Bytes(test::CountingModel()));
  std::future<RunResult> another = (*session)->RunAsync(Counting(1));
  (*session)->RunAsync(Counting(2), {}, [session, over](RunResult result) {
    session->reset();  // destroys the environment, too
    EXPECT_EQ(Count(result.outputs), 2) << "outputs outlive it";
    over->set_value();
  });
  over->get_future().wait();
  EXPECT_EQ(Count(another.get().Take()), 1);
}

// The only thread is in the callback.
TEST_F(RunAsyncTest, ACallbackMayLetGoOfAnotherSessionThatHasRuns) {
  const Environment environment = AtMostAtOnce(1);
  std::promise<void> begin;
  std::atomic<int> done = 0;
  auto other = std::make_unique<Session>(environment, Bytes(test::CountingModel()));
  Session session(environment, Bytes(test::CountingModel()));
  session.RunAsync(Counting(1), {}, [&](RunResult) {
    begin.get_future().wait();
    other.reset();
    EXPECT_EQ(done, 3);
  });
  for (int i = 0; i < 3; ++i) other->RunAsync(Counting(i), {}, [&](RunResult) { ++done; });
  begin.set_value();
}

TEST_F(RunAsyncTest, ACallbackMayBeginOtherRuns) {
  std::promise<int64_t> last;
  std::optional<Session> session;
  std::function<void(RunResult)> next = [&](RunResult result) {
    const int64_t count = Count(result.Take());
    if (count == 5) return last.set_value(count);
    session->RunAsync(Counting(count + 1), {}, next);
  };
  session.emplace(Open());
  session->RunAsync(Counting(0), {}, next);
  EXPECT_EQ(last.get_future().get(), 5);
  session.reset();
}

TEST_F(RunAsyncTest, WhatACallbackThrowsEndsNothing) {
  testing::internal::CaptureStderr();
  {
    Session session = Open();
    session.RunAsync(Counting(1), {.tag = "first"}, [](RunResult) { throw std::runtime_error("not\nmine"); });
    session.RunAsync(Counting(1), {}, [](RunResult) { throw 7; });
    EXPECT_EQ(Count(session.RunAsync(Counting(2)).get().Take()), 2);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log,
              AllOf(HasSubstr("callback of RunAsync threw"), HasSubstr("not mine"), HasSubstr("no std::exception")));
}

TEST_F(RunAsyncTest, ManyThreadsStartAndCancelRunsOfOneSession) {
  Session session(AtMostAtOnce(2), Bytes(test::CountingModel()));
  std::atomic<int> done = 0;
  std::atomic<int> cancelled = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, copy = session] {
        for (int i = 0; i < 25; ++i) {
          std::stop_source source;
          std::future<RunResult> endless = copy.RunAsync(Counting(kForEver), {.stop = source.get_token(), .tag = "t"});
          copy.RunAsync(Counting(i), {}, [&, i](RunResult result) { done += Count(result.outputs) == i; });
          source.request_stop();
          cancelled += endless.get().error.has_value();
        }
      });
    }
  }
  session = Session(environment_, Bytes(test::CountingModel()));  // drops the last handle of the first session
  EXPECT_EQ(done, 100);
  EXPECT_EQ(cancelled, 100);
}

}  // namespace
}  // namespace epiphyte
