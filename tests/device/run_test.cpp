// Runs of sessions with devices: many at the same time, from contexts, with limits, with profiles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tests/device/device_fixture.h"
#include "tests/framework/recording_plugins.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::test {
namespace {

using core::Session;
using core::SessionOptions;
using core::ValuePtr;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::StartsWith;

constexpr int kThreads = 8;

class RunTest : public DeviceTest {
 protected:
  // Returns the first failure in any thread; "" if there was none. Each call of `run` gets another number.
  static std::string OnManyThreads(int rounds, const std::function<void(int64_t number)>& run) {
    std::mutex mutex;
    std::string failure;
    std::latch start(kThreads);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        start.arrive_and_wait();
        for (int round = 0; round < rounds; ++round) {
          try {
            run(thread + kThreads * round);
          } catch (const std::exception& error) {
            const std::lock_guard lock(mutex);
            if (failure.empty()) failure = error.what();
            return;
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return failure;
  }

  // The model computes b = |2 x| on the CPU, and y = b * 2 x - x.
  static constexpr std::string_view kMixed = R"(g (float[N] x) => (float[N] y, float[N] b) {
    a = Add(x, x)
    b = Abs(a)
    c = Mul(b, a)
    n = Neg(x)
    y = Add(c, n)
  })";
  // Runs kMixed with numbers and shapes that follow from `number`. Throws if the outputs are wrong.
  static void RunMixed(Session& session, int64_t number, const core::RunSettings& settings = {}) {
    const auto size = static_cast<size_t>(number * 37 % 300);
    std::vector<float> x(size), y(size), b(size);
    for (size_t i = 0; i < size; ++i) {
      x[i] = static_cast<float>(static_cast<int64_t>(i % 17) - number % 9);
      b[i] = std::abs(2 * x[i]);
      y[i] = b[i] * 2 * x[i] - x[i];
    }
    const Values outputs = session.Run(Values{Floats({static_cast<int64_t>(size)}, x)}, settings);
    if (FloatsOf(*outputs.at(0)) != y || FloatsOf(*outputs.at(1)) != b) {
      throw std::runtime_error(fmt::format("run {} has wrong numbers", number));
    }
  }
  static std::set<std::string> Providers(const Session& session) {
    std::set<std::string> providers;
    for (const core::NodePlacement& node : session.placement().nodes) providers.insert(node.provider);
    return providers;
  }
  static SessionOptions BothPluginsAndTheCpu(ProviderOptions first = {}) {
    first.emplace("claims", "Add,Mul");
    return OnTwoPlugins(std::move(first), {{"claims", "Neg"}});
  }
};

TEST_F(RunTest, EightThreadsRunASessionOfTwoPluginsAndTheHost) {
  const auto session = Open(kMixed, BothPluginsAndTheCpu());
  ASSERT_EQ(Providers(*session), (std::set<std::string>{"cpu", "test_device", "test_device_b"}));
  EXPECT_EQ(OnManyThreads(60, [&](int64_t number) { RunMixed(*session, number); }), "");
}

TEST_F(RunTest, EightThreadsRunTwoDevicesOfOnePlugin) {
  const auto session = Open(kMixed, OnTwoDevices("Mul,Neg"));
  EXPECT_EQ(OnManyThreads(60, [&](int64_t number) { RunMixed(*session, number); }), "");
}

TEST_F(RunTest, StatesAreNeverUsedTwiceAtOnce) {
  const auto session = Open(kMixed, BothPluginsAndTheCpu({{"state", "1"}}));
  EXPECT_EQ(OnManyThreads(60, [&](int64_t number) { RunMixed(*session, number); }), "");
  EXPECT_GE(control_.live_states, 2) << "the kernels have states";
}

TEST_F(RunTest, AStateIsNotHandedOutWhileWorkUsesIt) {
  const auto session = Open("g (float[4] x) => (float[4] y) { y = Relu(x) }", OnDevice({{"state", "1"}}));
  const Values inputs = {Floats({4}, {1, -2, 3, -4})};
  std::vector<std::future<Values>> runs;
  Hold hold(0);
  for (int i = 0; i < 3; ++i) runs.push_back(Start(*session, inputs));
  EXPECT_TRUE(WaitUntil([&] { return control_.executes == 3u; }));
  EXPECT_EQ(control_.live_states, 3);
  hold.Release();
  for (auto& run : runs) EXPECT_THAT(FloatsOf(*run.get()[0]), ElementsAre(1, 0, 3, 0));
  session->Run(inputs);
  EXPECT_EQ(control_.live_states, 3) << "the fourth run has one of theirs";
}

TEST_F(RunTest, ExclusiveKernelsAreSubmittedOneAtATime) {
  for (const char* async : {"1", "0"}) {
    const auto session = Open(kMixed, OnDevice({{"exclusive", "1"}, {"state", "1"}, {"async", async}}));
    EXPECT_EQ(OnManyThreads(40, [&](int64_t number) { RunMixed(*session, number); }), "");
  }
}

TEST_F(RunTest, ExclusiveIsOverWhenTheWorkIsSubmittedAndNotWhenItIsDone) {
  const auto session = Open("g (float[4] x) => (float[4] y) { y = Relu(x) }", OnDevice({{"exclusive", "1"}}));
  std::vector<std::future<Values>> runs;
  Hold hold(0);
  for (int i = 0; i < 2; ++i) runs.push_back(Start(*session, {Floats({4}, {1, -2, 3, -4})}));
  EXPECT_TRUE(WaitUntil([&] { return control_.executes == 2u; }));
  hold.Release();
  for (auto& run : runs) EXPECT_THAT(FloatsOf(*run.get()[0]), ElementsAre(1, 0, 3, 0));
}

TEST_F(RunTest, EightThreadsOfEverySortOfKernel) {
  for (const ProviderOptions& options : std::vector<ProviderOptions>{{{"async", "0"}},
                                                                     {{"memory", "host"}},
                                                                     {{"memory", "shared"}},
                                                                     {{"memory", "both"}, {"aliases", "1"}},
                                                                     {{"host_io", "1"}, {"state", "1"}},
                                                                     {{"adopt", "1"}, {"async", "0"}},
                                                                     {{"adopt", "1"}}}) {
    SCOPED_TRACE(testing::PrintToString(options));
    const auto session = Open(kMixed, BothPluginsAndTheCpu(options));
    EXPECT_EQ(OnManyThreads(20, [&](int64_t number) { RunMixed(*session, number); }), "");
  }
}

TEST_F(RunTest, EightThreadsWithWorkThatTakesTime) {
  const auto session = Open(kMixed, BothPluginsAndTheCpu());
  control_.delay_us[0] = 300;
  control_.delay_us[2] = 100;
  EXPECT_EQ(OnManyThreads(6, [&](int64_t number) { RunMixed(*session, number); }), "");
}

TEST_F(RunTest, EightThreadsRunBranchesAndLoops) {
  constexpr std::string_view kGraph = R"(g (bool even, int64 n, float[N] x) => (float[N] y, float[M, N] all) {
    always = Constant <value = bool {1}> ()
    d = Add(x, x)
    l, all = Loop (n, always, x) <body = b (int64 i, bool go, float[N] v) => (bool on, float[N] w, float[N] kept) {
      on = Identity(go)
      w = Add(v, d)
      kept = Abs(w)
    }>
    y = If (even) <then_branch = t () => (float[N] p) { p = Neg(l) },
                   else_branch = f () => (float[N] q) { q = Mul(l, d) }>
  })";
  const auto session = Open(kGraph, BothPluginsAndTheCpu());
  EXPECT_EQ(OnManyThreads(20,
                          [&](int64_t number) {
                            const auto x = static_cast<float>(number % 7 + 1);
                            const int64_t trips = number % 5;
                            const int64_t size = number % 11 + 1;
                            const Values outputs =
                                session->Run(Values{Bools({}, {number % 2 == 0}), Int64s({}, {trips}),
                                                    Floats({size}, std::vector<float>(static_cast<size_t>(size), x))});
                            const float last = x + 2 * x * static_cast<float>(trips);
                            const float expected = number % 2 == 0 ? -last : last * 2 * x;
                            if (FloatsOf(*outputs[0]) != std::vector<float>(static_cast<size_t>(size), expected) ||
                                outputs[1]->element_count() != static_cast<uint64_t>(trips * size)) {
                              throw std::runtime_error(fmt::format("run {} has wrong numbers", number));
                            }
                          }),
            "");
}

TEST_F(RunTest, SessionsComeAndGoWhileOthersRun) {
  const auto session = Open(kMixed, BothPluginsAndTheCpu());
  EXPECT_EQ(OnManyThreads(12,
                          [&](int64_t number) {
                            if (number % 3 != 0) return RunMixed(*session, number);
                            const auto another = Open(kMixed, BothPluginsAndTheCpu({{"state", "1"}}));
                            RunMixed(*another, number);
                          }),
            "");
}

TEST_F(RunTest, EightThreadsRunASessionFromAContextBesideTheDevice) {
  environment_ = DeviceEnvironment({RecordingPluginFolder()});
  const auto options = [] {
    SessionOptions options = OptionsFor({"recorder_a", "test_device", "cpu"});
    options.providers[0].options = {{"claim", "Add"}};
    options.providers[1].options = {{"claims", "Mul,Neg"}, {"each", "1"}};
    return options;
  };
  TempDir dir;
  SessionOptions compile = options();
  compile.Set("ep.context_enable", "1");
  Session compiled(*environment_, dir.Write("m.onnx", Model(kMixed)), compile);
  ASSERT_NE(compiled.context_output(), nullptr);
  Session session(*environment_, compiled.context_output()->model, options());
  ASSERT_TRUE(session.has_context());
  EXPECT_THAT(Providers(session), IsSupersetOf({"recorder_a", "test_device"}));
  EXPECT_EQ(OnManyThreads(30, [&](int64_t number) { RunMixed(session, number); }), "");
}

// --- limits

TEST_F(RunTest, LimitsOfARunCountWhatItHasInHostMemory) {
  SessionOptions options = OnDevice();
  options.Set("session.max_run_bytes", "10000");
  const auto session = Open("g (float[N] x) => (float[N] y) { a = Add(x, x) b = Abs(a) y = Neg(b) }", options);
  const auto run = [&](int64_t size) {
    const Values inputs = {Floats({size}, std::vector<float>(static_cast<size_t>(size), 1))};
    return FailureOf([&] { session->Run(inputs); });
  };
  EXPECT_EQ(run(100), "OK");
  EXPECT_THAT(run(100'000), AllOf(StartsWith("FAIL"), HasSubstr("session.max_run_bytes allows 10000")));
  EXPECT_EQ(run(100), "OK") << "what the failed run had is given back";
}

TEST_F(RunTest, AValueOnItsWayBackHasTheLimitOfAValue) {
  SessionOptions options = OnDevice();
  options.Set("session.max_value_bytes", "4000");
  const auto session = Open("g (float[N] x) => (float[N] y) { y = Neg(x) }", options);
  const auto run = [&](int64_t size) {
    const Values inputs = {Floats({size}, std::vector<float>(static_cast<size_t>(size), 1))};
    return FailureOf([&] { session->Run(inputs); });
  };
  EXPECT_EQ(run(1000), "OK");
  EXPECT_THAT(run(1001), HasSubstr("session.max_value_bytes allows 4000"));
  EXPECT_EQ(run(1000), "OK");
}

// --- information about runs for kernels and profiles

TEST_F(RunTest, AProfileHasAnEventForEachStepAndTheTagOfTheRun) {
  TempDir dir;
  SessionOptions options = OnDevice();
  options.profile_path = (dir / "trace.json").string();
  const auto session = Open(kMixed, options);
  session->Run(Values{Floats({2}, {1, 2})}, {.tag = "request 7"});
  const auto trace = nlohmann::json::parse(session->ProfileJson());
  std::vector<std::string> tagged;
  for (const auto& event : trace["traceEvents"]) {
    if (event.contains("args") && event["args"].contains("tag") && event["args"]["tag"] == "request 7") {
      tagged.push_back(event["name"]);
    }
  }
  EXPECT_THAT(tagged, Contains("run"));
  for (const core::NodePlacement& node : session->placement().nodes) EXPECT_THAT(tagged, Contains(node.partition));
}

}  // namespace
}  // namespace epiphyte::test
