// One session is run from many threads, each with its own numbers and shapes: sessions of several providers, of
// contexts, and with control flow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <latch>
#include <set>
#include <thread>

#include "tests/framework/onnx_text.h"
#include "tests/framework/process_threads.h"
#include "tests/framework/recording_plugins.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Session;
using core::SessionOptions;
using core::ValuePtr;

constexpr int kThreads = 8;
constexpr int kRounds = 200;

// Returns the number of runs that failed or gave unexpected numbers. `run` gets a number that differs between threads
// and rounds, and returns whether the result was right.
int CountWrong(const std::function<bool(int64_t)>& run) {
  std::atomic<int> wrong = 0;
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      start.arrive_and_wait();
      for (int round = 0; round < kRounds; ++round) {
        try {
          if (!run(thread + 10 * round)) ++wrong;
        } catch (const std::exception&) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

class ThreadsTest : public testing::Test {
 protected:
  std::set<std::string> Providers(const Session& session) {
    std::set<std::string> providers;
    for (const core::NodePlacement& node : session.placement().nodes) providers.insert(node.provider);
    return providers;
  }

  // Computes y = |2 x| + 1 on three providers. Most of the time is spent sorting equal numbers, so that threads work
  // there at the same time. The caller derives numbers and sizes from `number`.
  static constexpr std::string_view kThreePieces = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[N] x) => (float[N] y) {
      one = Constant <value = float[1] {1}> ()
      a = Add(x, x)
      b = Abs(a)
      c = Floor(b)
      n = Shape(c)
      r, places = TopK(c, n)
      h = Abs(r)
      y = Add(h, one)
    })";
  static bool PiecesAreRight(Session& session, int64_t number) {
    const auto x = static_cast<float>(number % 40);
    const int64_t size = number / 10 % 5 * 200 + 1;  // threads have the same size at about the same time
    const std::vector<float> y = RunOn(session, {size}, std::vector<float>(static_cast<size_t>(size), -x));
    if (y.size() != static_cast<size_t>(size)) return false;
    return std::all_of(y.begin(), y.end(), [&](float value) { return std::abs(value - (2 * x + 1)) < 0.01f; });
  }
  static SessionOptions ThreeProviders() {
    SessionOptions options = OptionsFor({"recorder_a", "recorder_b", "cpu"});
    options.provider_options["recorder_a"] = {{"claim", "Add"}};
    options.provider_options["recorder_b"] = {{"claim", "Abs,Sub"}};
    options.thread_count = 2;
    return options;
  }

  std::unique_ptr<core::Environment> environment_ = RecordingEnvironment();
  TempDir dir_;
};

TEST_F(ThreadsTest, RunASessionOfThreeProviders) {
  Session session(*environment_, dir_.Write("m.onnx", OnnxFromText(kThreePieces)), ThreeProviders());
  ASSERT_EQ(Providers(session), (std::set<std::string>{"cpu", "recorder_a", "recorder_b"}));
  EXPECT_EQ(CountWrong([&](int64_t number) { return PiecesAreRight(session, number); }), 0);
}

TEST_F(ThreadsTest, RunTheContextsOfThreeProviders) {
  SessionOptions compile = ThreeProviders();
  compile.Set("ep.context_enable", "1");
  Session compiled(*environment_, dir_.Write("m.onnx", OnnxFromText(kThreePieces)), compile);
  ASSERT_NE(compiled.context_output(), nullptr);
  ASSERT_EQ(compiled.context_output()->plain_nodes, 0u);
  Session session(*environment_, compiled.context_output()->model, ThreeProviders());
  ASSERT_TRUE(session.has_context());
  EXPECT_EQ(CountWrong([&](int64_t number) { return PiecesAreRight(session, number); }), 0);
}

TEST_F(ThreadsTest, AreNotStartedByLoadingAContext) {
  SessionOptions options = OptionsFor({"cpu"});
  options.thread_count = 4;
  SessionOptions compile = options;
  compile.Set("ep.context_enable", "1");
  const std::string model = OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[N, 64] x) => (float[N, 64] y) {
      shape = Constant <value = int64[2] {64, 64}> ()
      w = ConstantOfShape <value = float[1] {0.01}> (shape)
      y = MatMul(x, w)
    })");
  const Session compiled(*environment_, dir_.Write("m.onnx", model), compile);
  ASSERT_NE(compiled.context_output(), nullptr);
  const size_t before = ThreadsOfThisProcess();
  Session session(*environment_, compiled.context_output()->model, options);
  EXPECT_LE(ThreadsOfThisProcess(), before);
  RunOn(session, {2048, 64}, std::vector<float>(size_t{2048} * 64, 1.0f));
  EXPECT_GE(ThreadsOfThisProcess(), before + 3);
}

// Sessions of the same context are made and destroyed while other threads run the first one.
TEST_F(ThreadsTest, RunAContextWhileItIsLoadedAgain) {
  SessionOptions compile = ThreeProviders();
  compile.Set("ep.context_enable", "1");
  Session compiled(*environment_, dir_.Write("m.onnx", OnnxFromText(kThreePieces)), compile);
  ASSERT_NE(compiled.context_output(), nullptr);
  const std::filesystem::path model = compiled.context_output()->model;
  Session session(*environment_, model, ThreeProviders());
  EXPECT_EQ(CountWrong([&](int64_t number) {
              if (number % 50 != 0) return PiecesAreRight(session, number);
              Session another(*environment_, model, ThreeProviders());
              return PiecesAreRight(another, number);
            }),
            0);
}

// Computes y = x + n if n is even, else x doubled n times. Nodes of the bodies run on different providers.
constexpr std::string_view kBranchesAndLoops = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (bool even, int64 n, float[1] number, float[2] x) => (float[2] y, float[M, 2] steps) {
    always = Constant <value = bool {1}> ()
    l, steps = Loop (n, always, x) <body = b (int64 i, bool go, float[2] v) => (bool on, float[2] w, float[2] kept) {
      on = Identity(go)
      w = Add(v, v)
      s = Floor(w)
      q = Cast <to = 7> (s)
      r = Cast <to = 1> (q)
      kept = Abs(r)
    }>
    y = If (even) <then_branch = t () => (float[2] p) { p = Add(x, number) },
                   else_branch = f () => (float[2] q) { q = Abs(l) }>
  })";

TEST_F(ThreadsTest, RunBranchesAndLoopsOfThreeProviders) {
  for (const bool from_context : {false, true}) {
    std::filesystem::path model = dir_.Write("m.onnx", OnnxFromText(kBranchesAndLoops));
    if (from_context) {
      SessionOptions compile = ThreeProviders();
      compile.Set("ep.context_enable", "1");
      compile.Set("ep.context_file_path", (dir_ / "loops_ctx.onnx").string());
      Session compiled(*environment_, model, compile);
      ASSERT_NE(compiled.context_output(), nullptr);
      model = compiled.context_output()->model;
    }
    Session session(*environment_, model, ThreeProviders());
    EXPECT_EQ(session.has_context(), from_context);
    EXPECT_THAT(Providers(session), testing::IsSupersetOf({"recorder_a", "recorder_b"}));
    EXPECT_EQ(CountWrong([&](int64_t number) {
                const int64_t n = number % 6;
                const bool even = number % 2 == 0;
                const auto x = static_cast<float>(number % 7);
                const std::vector<ValuePtr> outputs = session.Run(std::vector<ValuePtr>{
                    Bools({}, {even}), Int64s({}, {n}), Floats({1}, {static_cast<float>(n)}), Floats({2}, {x, x})});
                const float expected = even ? x + static_cast<float>(n) : x * static_cast<float>(1 << n);
                const std::vector<float> y = FloatsOf(*outputs[0]), steps = FloatsOf(*outputs[1]);
                if (std::abs(y[0] - expected) > 0.001f || y[1] != y[0]) return false;
                if (steps.size() != static_cast<size_t>(2 * n)) return false;
                for (size_t i = 0; i < steps.size(); ++i)
                  if (std::abs(steps[i] - x * static_cast<float>(2 << i / 2)) > 0.01f) return false;
                return true;
              }),
              0)
        << (from_context ? "from a context" : "compiled here");
  }
}

}  // namespace
}  // namespace epiphyte::test
