// Sessions from end to end, with the CPU plugin of the build tree.
#include "core/runtime/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/framework/onnx_text.h"
#include "tests/framework/process_threads.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Environment;
using core::Session;
using core::SessionOptions;
using core::Value;
using core::ValuePtr;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class SessionTest : public testing::Test {
 protected:
  std::unique_ptr<Session> Make(std::string_view text, SessionOptions options = OptionsFor({"cpu"})) {
    std::string bytes = OnnxFromText(text);
    return std::make_unique<Session>(*environment_, bytes.data(), bytes.size(), options);
  }
  std::vector<ValuePtr> RunOnce(std::string_view text, std::vector<ValuePtr> inputs) { return Make(text)->Run(inputs); }

  std::unique_ptr<Environment> environment_ = BuildTreeEnvironment();
};

constexpr std::string_view kAdd = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2] a, float[2] b) => (float[2] y) { y = Add(a, b) })";

TEST_F(SessionTest, RunsAModelFromMemory) {
  auto outputs = RunOnce(kAdd, {Floats({2}, {1, 2}), Floats({2}, {10, 20})});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(11, 22));
}

TEST_F(SessionTest, RunsAModelFromAFile) {
  TempDir dir;
  Session session(*environment_, dir.Write("add.onnx", OnnxFromText(kAdd)), OptionsFor({"cpu"}));
  EXPECT_EQ(session.inputs().size(), 2u);
  EXPECT_EQ(session.inputs()[1].name, "b");
  EXPECT_EQ(session.outputs()[0].type->ToString(), "tensor(float)[2]");
}

TEST_F(SessionTest, RunsByNameAndReturnsTheOutputsAskedFor) {
  auto session = Make(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1] x) => (float[1] p, float[1] q) { p = Neg(x) q = Abs(x) })");
  std::vector<std::pair<std::string, ValuePtr>> inputs = {{"x", Floats({1}, {-3})}};
  std::vector<std::string> names = {"q"};
  auto outputs = session->Run(inputs, names);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(3));
  names = {"r"};
  EXPECT_THAT(FailureOf([&] { session->Run(inputs, names); }), HasSubstr("no output 'r'; it has: p, q"));
}

TEST_F(SessionTest, ChecksInputsBeforeAnythingRuns) {
  auto session = Make(kAdd);
  ValuePtr good = Floats({2}, {1, 2});
  auto failure = [&](ValuePtr a, ValuePtr b) { return FailureOf([&] { session->Run(std::vector<ValuePtr>{a, b}); }); };
  EXPECT_EQ(failure(good, Floats({3}, {1, 2, 3})),
            "INVALID_ARGUMENT: input 'b' has shape [3], the model expects tensor(float)[2]");
  EXPECT_EQ(failure(Int64s({2}, {1, 2}), good),
            "INVALID_ARGUMENT: input 'a' is of int64, the model expects tensor(float)[2]");
  EXPECT_EQ(failure(nullptr, good), "INVALID_ARGUMENT: input 'a' is missing; the model expects tensor(float)[2]");
  EXPECT_EQ(FailureOf([&] { session->Run(std::vector<ValuePtr>{good}); }),
            "INVALID_ARGUMENT: 1 inputs were given, the model has 2");
  // A refused run leaves the session unchanged.
  EXPECT_THAT(FloatsOf(*session->Run(std::vector<ValuePtr>{good, good})[0]), ElementsAre(2, 4));
}

TEST_F(SessionTest, AnInputMayBeAnOutputToo) {
  auto outputs = RunOnce(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1] x) => (float[1] x, float[1] y) { y = Neg(x) })",
                         {Floats({1}, {4})});
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(4));
  EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(-4));
}

TEST_F(SessionTest, EightThreadsRunOneSessionWithShapesOfTheirOwn) {
  SessionOptions options = OptionsFor({"cpu"});
  options.thread_count = 2;
  auto session = Make(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[N] x) => (float[N] y) { a = Mul(x, x) b = Add(a, x) y = Relu(b) })",
                      options);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 200; ++round) {
        int64_t size = 1 + (thread * 7 + round) % 50;
        std::vector<float> x(static_cast<size_t>(size), static_cast<float>(thread + 1));
        float expected = static_cast<float>((thread + 1) * (thread + 1) + thread + 1);
        std::vector<float> y = FloatsOf(*session->Run(std::vector<ValuePtr>{Floats({size}, x)})[0]);
        if (y.size() != x.size() || y.front() != expected || y.back() != expected) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Another provider may take a node with an attribute that the provider does not support.
TEST_F(SessionTest, ANodeWithAnInvalidAttributeIsDeclinedWithTheReason) {
  const auto failure = [&](const std::string& attributes) {
    return FailureOf([&] {
      Make(R"(<ir_version: 8, opset_import: ["" : 17]>
        g (float[1, 3, 2, 2] x) => (float[1, 3, 2, 2] y) { y = LRN <)" +
           attributes + "> (x) }");
    });
  };
  EXPECT_EQ(failure("size = 3"), "OK");
  EXPECT_THAT(failure("size = 0"), AllOf(HasSubstr("no provider runs operator LRN"),
                                         HasSubstr("cpu: attribute 'size' is 0; 1 or more expected")));
}

TEST_F(SessionTest, AnErrorInAFunctionsBodyNamesTheModel) {
  TempDir dir;
  const auto model = dir.Write("softmax.onnx", OnnxFromText(R"(<ir_version: 10, opset_import: ["" : 22, "local" : 1]>
    g (float[2, 3] x) => (float[2, 3] y) { y = local.F(x) }
    <domain: "local", opset_import: ["" : 22]>
    F (a) => (b) { b = Softmax <axes = 1> (a) })"));
  EXPECT_THAT(FailureOf([&] { Session session(*environment_, model, OptionsFor({"cpu"})); }),
              AllOf(HasSubstr("softmax.onnx': "), HasSubstr("has no attribute 'axes'; did you mean 'axis'?")));
}

TEST_F(SessionTest, ThreadsAreStartedByTheFirstLoopThatIsWorthThem) {
  SessionOptions options = OptionsFor({"cpu"});
  options.thread_count = 4;
  const size_t before = ThreadsOfThisProcess();
  auto session = Make(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[N] x) => (float[N] y) { a = Mul(x, x) b = Add(a, x) y = Relu(b) })",
                      options);
  const auto run = [&](int64_t size) {
    session->Run(std::vector<ValuePtr>{Floats({size}, std::vector<float>(static_cast<size_t>(size), 1))});
  };
  run(2);
  EXPECT_LE(ThreadsOfThisProcess(), before) << "threads of an earlier test may just be ending";
  run(1 << 20);
  EXPECT_GE(ThreadsOfThisProcess(), 4u);
}

TEST_F(SessionTest, EightThreadsShareTheTwoThreadsOfHeavyOperators) {
  SessionOptions options = OptionsFor({"cpu"});
  options.thread_count = 2;
  auto session = Make(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[64, 64] x, float[64, 64] w) => (float[64, 64] y) { a = MatMul(x, w) b = Softmax(a) y = MatMul(b, w) })",
                      options);
  std::vector<float> x(64 * 64);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) * 0.01f;
  std::vector<ValuePtr> inputs = {Floats({64, 64}, x), Floats({64, 64}, x)};
  const std::vector<float> expected = FloatsOf(*session->Run(inputs)[0]);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 25; ++round) {
        if (FloatsOf(*session->Run(inputs)[0]) != expected) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(SessionTest, IfTakesTheBranchOfTheCondition) {
  constexpr std::string_view kIf = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[1] x) => (float[1] y) {
      y = If (c) <then_branch = t () => (float[1] a) { a = Neg(x) },
                  else_branch = e () => (float[1] b) { b = Add(x, x) }>
    })";
  EXPECT_THAT(FloatsOf(*RunOnce(kIf, {Bools({}, {true}), Floats({1}, {3})})[0]), ElementsAre(-3));
  EXPECT_THAT(FloatsOf(*RunOnce(kIf, {Bools({}, {false}), Floats({1}, {3})})[0]), ElementsAre(6));
}

TEST_F(SessionTest, AZeroPointWithoutElementsIsAnErrorInTheModelAndInTheRun) {
  const auto bytes = [](std::vector<int64_t> dims) {
    ValuePtr value = Value::Tensor(core::DataType::kUint8, dims);
    std::fill_n(static_cast<uint8_t*>(value->mutable_data()), value->byte_size(), uint8_t{1});
    return value;
  };
  constexpr std::string_view kInTheRun = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (uint8[1,1,3] x, uint8[1,1,2] w, uint8[N] z) => (int32[1,1,2] y) { y = ConvInteger(x, w, z) })";
  const auto failure = [&](std::string_view model, std::vector<ValuePtr> inputs) {
    return FailureOf([&] { RunOnce(model, inputs); });
  };
  EXPECT_EQ(failure(kInTheRun, {bytes({1, 1, 3}), bytes({1, 1, 2}), bytes({1})}), "OK");
  for (const int64_t count : {0, 2}) {
    EXPECT_THAT(failure(kInTheRun, {bytes({1, 1, 3}), bytes({1, 1, 2}), bytes({count})}), HasSubstr("x_zero_point"));
  }
  constexpr std::string_view kInTheModel = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (uint8[1,1,3] x, uint8[1,1,2] w) => (int32[1,1,2] y) <uint8[0] z = {}> { y = ConvInteger(x, w, z) })";
  EXPECT_THAT(failure(kInTheModel, {bytes({1, 1, 3}), bytes({1, 1, 2})}), HasSubstr("x_zero_point"));
  // If all inputs are constant, making the session tries to fold the node. Folding must leave this node unchanged.
  constexpr std::string_view kAllConstant = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (int32[1,1,2] a) => (int32[1,1,2] y) <uint8[1,1,3] x = {1, 2, 3}, uint8[1,1,2] w = {1, 2}, uint8[0] z = {}> {
      c = ConvInteger(x, w, z)
      y = Add(a, c)
    })";
  ValuePtr a = Value::Tensor(core::DataType::kInt32, std::vector<int64_t>{1, 1, 2});
  EXPECT_THAT(failure(kAllConstant, {a}), HasSubstr("x_zero_point"));
}

TEST_F(SessionTest, ConditionsAndCountsHaveOneElement) {
  // No shapes are declared, so the error occurs at run time.
  constexpr std::string_view kIf = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (bool[N] c, float[1] x) => (float[1] y) {
      y = If (c) <then_branch = t () => (float[1] a) { a = Neg(x) },
                  else_branch = e () => (float[1] b) { b = Add(x, x) }>
    })";
  constexpr std::string_view kLoop = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (int64[N] n, bool[M] c, float[1] x) => (float[1] y) {
      y = Loop (n, c, x) <body = b (int64 i, bool c_in, float[1] v) => (bool c_out, float[1] w) {
        c_out = Identity(c_in)
        w = Add(v, v)
      }>
    })";
  const ValuePtr x = Floats({1}, {3});
  EXPECT_THAT(FloatsOf(*RunOnce(kIf, {Bools({1}, {true}), x})[0]), ElementsAre(-3));
  EXPECT_THAT(FailureOf([&] {
                RunOnce(kIf, {Bools({0}, {}), x});
              }),
              HasSubstr("the condition is bool of shape [0]; one element of bool expected"));
  EXPECT_THAT(FailureOf([&] { RunOnce(kIf, {Bools({2}, {true, true}), x}); }), HasSubstr("bool of shape [2]"));
  EXPECT_THAT(FloatsOf(*RunOnce(kLoop, {Int64s({1}, {2}), Bools({1}, {true}), x})[0]), ElementsAre(12));
  EXPECT_THAT(FailureOf([&] {
                RunOnce(kLoop, {Int64s({0}, {}), Bools({1}, {true}), x});
              }),
              HasSubstr("the trip count is int64 of shape [0]; one element of int64 expected"));
  EXPECT_THAT(FailureOf([&] {
                RunOnce(kLoop, {Int64s({2}, {1, 1}), Bools({1}, {true}), x});
              }),
              HasSubstr("int64 of shape [2]"));
  EXPECT_THAT(FailureOf([&] {
                RunOnce(kLoop, {Int64s({1}, {1}), Bools({0}, {}), x});
              }),
              HasSubstr("the condition is bool of shape [0]"));
}

TEST_F(SessionTest, LoopCarriesValuesAndStacksScanOutputs) {
  constexpr std::string_view kLoop = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (int64 trips, float[1] start) => (float[1] final, float[N, 1] all) {
      go = Constant <value = bool {1}> ()
      final, all = Loop (trips, go, start) <body = b (int64 i, bool c, float[1] v) => (bool keep, float[1] next, float[1] out) {
        keep = Identity(c)
        next = Add(v, v)
        out = Identity(v)
      }>
    })";
  auto outputs = RunOnce(kLoop, {Int64s({}, {3}), Floats({1}, {1})});
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(8));
  EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(1, 2, 4));
  // With zero trips, the loop returns the start value and stacks nothing.
  outputs = RunOnce(kLoop, {Int64s({}, {0}), Floats({1}, {1})});
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(1));
  EXPECT_EQ(outputs[1]->dims()[0], 0);
}

TEST_F(SessionTest, ScanRunsBackwardsWhenAsked) {
  auto outputs = RunOnce(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1] start, float[3, 1] xs) => (float[1] last, float[3, 1] sums) {
      last, sums = Scan (start, xs) <num_scan_inputs = 1, scan_input_directions = [1],
        body = b (float[1] state, float[1] x) => (float[1] next, float[1] out) { next = Add(state, x) out = Identity(next) }>
    })",
                         {Floats({1}, {0}), Floats({3, 1}, {1, 2, 3})});
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(6));
  EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(3, 5, 6));
}

TEST_F(SessionTest, ControlFlowNests) {
  auto outputs = RunOnce(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (int64 trips, float[1] x) => (float[1] y) {
      go = Constant <value = bool {1}> ()
      two = Constant <value = int64 {2}> ()
      y = Loop (trips, go, x) <body = b (int64 i, bool c, float[1] v) => (bool keep, float[1] next) {
        keep = Identity(c)
        small = Less(i, two)
        next = If (small) <then_branch = t () => (float[1] p) { p = Add(v, x) }, else_branch = e () => (float[1] q) { q = Neg(v) }>
      }>
    })",
                         {Int64s({}, {3}), Floats({1}, {1})});
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(-3));  // 1 → 2 → 3 → -3
}

TEST_F(SessionTest, AFailureInsideARunNamesTheNodeAndTheSessionGoesOn) {
  auto session = Make(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[N] x, int64[M] shape) => (float[A, B] y) { y = Reshape(x, shape) })");
  auto run = [&](std::vector<int64_t> shape) {
    int64_t rank = static_cast<int64_t>(shape.size());
    return session->Run(std::vector<ValuePtr>{Floats({4}, {1, 2, 3, 4}), Int64s({rank}, std::move(shape))});
  };
  EXPECT_THAT(FailureOf([&] { run({3, 3}); }), HasSubstr("Reshape"));
  EXPECT_EQ(run({2, 2})[0]->dims()[1], 2);
}

TEST_F(SessionTest, ProfileIsAChromeTrace) {
  TempDir dir;
  SessionOptions options = OptionsFor({"cpu"});
  options.profile_path = (dir / "trace.json").string();
  {
    auto session = Make(kAdd, options);
    session->Run(std::vector<ValuePtr>{Floats({2}, {1, 2}), Floats({2}, {1, 2})});
  }
  std::string trace = ReadFile(dir / "trace.json");
  EXPECT_THAT(trace, HasSubstr("\"traceEvents\""));
  EXPECT_THAT(trace, HasSubstr("\"partition\""));
}

TEST_F(SessionTest, AnUnknownProviderNamesTheInstalledOnes) {
  std::string failure = FailureOf([&] { Make(kAdd, OptionsFor({"cpuu"})); });
  EXPECT_THAT(failure, HasSubstr("NOT_FOUND"));
  EXPECT_THAT(failure, HasSubstr("cpu"));
}

TEST_F(SessionTest, AProviderListedTwiceIsRefused) {
  EXPECT_THAT(FailureOf([&] { Make(kAdd, OptionsFor({"cpu", "cpu"})); }), HasSubstr("listed twice"));
}

TEST_F(SessionTest, WithoutModelCompilationAListedProviderMustHaveAContext) {
  SessionOptions options = OptionsFor({"cpu"});
  options.Set("session.disable_model_compile", "1");
  EXPECT_THAT(FailureOf([&] { Make(kAdd, options); }), HasSubstr("MODEL_REQUIRES_COMPILATION"));
}

TEST_F(SessionTest, AnOperatorWithoutKernelIsNotImplementedAndNamed) {
  TempDir dir;
  std::string failure = FailureOf([&] {
    Make(R"(<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>
      g (float[1] x) => (float[1] y) { y = com.example.Frobnicate(x) })");
  });
  EXPECT_THAT(failure, HasSubstr("NOT_IMPLEMENTED"));
  EXPECT_THAT(failure, HasSubstr("Frobnicate"));
}

// The CPU plugin has recurrent networks for float only.
TEST_F(SessionTest, ANetworkOfAFloatTypeWithoutKernelsRunsInFloatAndTheReportSaysSo) {
  const auto make = [&](const std::string& type) {
    const std::string cast = "Cast<to=" + type + ">";
    return Make(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[3,1,2] x) => (float[3,1,1,2] z)
      <float[1,2,2] w = {0.5, -0.25, 1.0, 0.125}, float[1,2,2] r = {0.1, 0.2, -0.3, 0.4}> {
        h = )" + cast +
                "(x) v = " + cast + "(w) q = " + cast + "(r) y = RNN<hidden_size = 2>(h, v, q) z = Cast<to=1>(y) }");
  };
  const auto run = [](Session& session) {
    const std::vector<ValuePtr> inputs = {Floats({3, 1, 2}, {0.5f, -1, 0.25f, 2, -0.75f, 1})};
    return FloatsOf(*session.Run(inputs)[0]);
  };
  const auto plain = make("1");
  EXPECT_TRUE(plain->placement().claims.empty());
  const std::vector<float> expected = run(*plain);
  for (const auto& [type, tolerance] : {std::pair{"10", 2e-3f}, {"11", 1e-6f}}) {
    const auto session = make(type);
    EXPECT_THAT(run(*session), testing::Pointwise(testing::FloatNear(tolerance), expected)) << type;
    ASSERT_EQ(session->placement().claims.size(), 1u) << type;
    EXPECT_THAT(session->placement().claims.begin()->second.names,
                ElementsAre(AllOf(HasSubstr("computed in float"), HasSubstr("RNN"))));
  }
}

}  // namespace
}  // namespace epiphyte::test
