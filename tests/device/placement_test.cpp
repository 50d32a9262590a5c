// Places of a run's values, observed through the copies that the device counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "tests/device/device_fixture.h"

namespace epiphyte::test {
namespace {

using core::DataType;
using core::Session;
using core::SessionOptions;
using core::Value;
using core::ValuePtr;
using testing::ElementsAre;
using testing::HasSubstr;

class PlacementTest : public DeviceTest {
 protected:
  const ValuePtr x_ = Floats({4}, {1, -2, 3, -4});
};

constexpr uint64_t kX = 4 * sizeof(float);  // bytes of x_

TEST_F(PlacementTest, AChainOfPartitionsKeepsItsValuesOnTheDevice) {
  const auto session = Open("g (float[4] x) => (float[4] y) { a = Relu(x) b = Neg(a) y = Mul(b, b) }", OnDevice());
  Values outputs;
  EXPECT_EQ(CopiesOf([&] { outputs = session->Run(Values{x_}); }), (Copies{.ends = 2, .bytes = 2 * kX, .calls = 2}));
  EXPECT_EQ(control_.executes, 3u);
  EXPECT_FALSE(outputs[0]->IsOnDevice());
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(1, 0, 9, 0));
}

TEST_F(PlacementTest, OnePartitionCopiesNoMoreThanItsInputsAndOutputs) {
  const auto session =
      Open("g (float[4] x) => (float[4] y) { a = Relu(x) b = Neg(a) y = Mul(b, b) }", OnDevice({{"each", "0"}}));
  Values outputs;
  EXPECT_EQ(CopiesOf([&] { outputs = session->Run(Values{x_}); }), (Copies{.ends = 2, .bytes = 2 * kX, .calls = 2}));
  EXPECT_EQ(control_.executes, 1u);
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(1, 0, 9, 0));
}

TEST_F(PlacementTest, AllInputsOfAKernelComeInOneBatch) {
  const auto session = Open("g (float[4] a, float[4] b) => (float[4] y) { y = Sub(a, b) }", OnDevice());
  Values outputs;
  const ValuePtr b = Floats({4}, {1, 1, 1, 1});
  EXPECT_EQ(CopiesOf([&] { outputs = session->Run(Values{x_, b}); }), (Copies{.ends = 3, .bytes = 3 * kX, .calls = 2}));
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(0, -3, 2, -5));
}

TEST_F(PlacementTest, AnInputOfSeveralKernelsIsCopiedOnceAndOutputsGoInOneBatch) {
  const auto session =
      Open("g (float[4] x) => (float[4] y, float[4] z) { y = Relu(x) n = Neg(x) z = Add(n, x) }", OnDevice());
  Values outputs;
  EXPECT_EQ(CopiesOf([&] { outputs = session->Run(Values{x_}); }), (Copies{.ends = 3, .bytes = 3 * kX, .calls = 2}));
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(1, 0, 3, 0));
  EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(0, 0, 0, 0));
}

TEST_F(PlacementTest, TheSameValueTwiceInOneKernelIsCopiedOnce) {
  const auto session = Open("g (float[4] x) => (float[4] y) { y = Add(x, x) }", OnDevice());
  EXPECT_EQ(CopiesOf([&] { session->Run(Values{x_}); }), (Copies{.ends = 2, .bytes = 2 * kX, .calls = 2}));
}

TEST_F(PlacementTest, HostKernelBetweenDeviceKernelsCausesTwoCopies) {
  const auto session = Open("g (float[4] x) => (float[4] y) { a = Add(x, x) b = Abs(a) y = Neg(b) }", OnDevice());
  Values outputs;
  EXPECT_EQ(CopiesOf([&] { outputs = session->Run(Values{x_}); }), (Copies{.ends = 4, .bytes = 4 * kX, .calls = 4}));
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(-2, -4, -6, -8));
}

TEST_F(PlacementTest, WhatAHostKernelReadsComesInOneBatch) {
  const auto session = Open("g (float[4] x) => (float[4] y) { p = Relu(x) q = Neg(x) y = Max(p, q) }", OnDevice());
  Values outputs;
  EXPECT_EQ(CopiesOf([&] { outputs = session->Run(Values{x_}); }), (Copies{.ends = 3, .bytes = 3 * kX, .calls = 2}));
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(1, 2, 3, 4));
}

TEST_F(PlacementTest, AValueThatHostAndDeviceReadIsCopiedOnce) {
  constexpr std::string_view kGraph =
      "g (float[4] x) => (float[4] y, float[4] z) { p = Add(x, x) y = Mul(p, p) z = Abs(p) }";
  const auto session = Open(kGraph, OnDevice());
  Values outputs;
  const Copies copies = CopiesOf([&] { outputs = session->Run(Values{x_}); });
  EXPECT_EQ(copies.ends, 3u) << "x there, p and y back";
  EXPECT_EQ(copies.bytes, 3 * kX);
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(4, 16, 36, 64));
  EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(2, 4, 6, 8));
}

TEST_F(PlacementTest, AGraphOutputThatTheDeviceReadsTooIsCopiedOnce) {
  const auto session = Open("g (float[4] x) => (float[4] a, float[4] y) { a = Relu(x) y = Neg(a) }", OnDevice());
  Values outputs;
  EXPECT_EQ(CopiesOf([&] { outputs = session->Run(Values{x_}); }), (Copies{.ends = 3, .bytes = 3 * kX, .calls = 2}));
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(1, 0, 3, 0));
  EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(-1, 0, -3, 0));
}

TEST_F(PlacementTest, KernelsThatTakeHostMemoryNeedNoCopy) {
  const SessionOptions options = OnDevice({{"host_io", "1"}});
  for (const std::string_view graph : {
           "g (float[4] x) => (float[4] y) { y = Relu(x) }",
           "g (float[4] x) => (float[4] y) { a = Relu(x) b = Neg(a) y = Mul(b, b) }",
           "g (float[4] x) => (float[4] y) { a = Add(x, x) b = Abs(a) y = Neg(b) }",
           "g (float[4] x) => (float[4] y, float[4] z) { p = Add(x, x) y = Mul(p, p) z = Abs(p) }",
           "g (float[4] x) => (float[4] a, float[4] y) { a = Relu(x) y = Neg(a) }",
       }) {
    SCOPED_TRACE(graph);
    const auto session = Open(graph, options);
    Values outputs;
    EXPECT_EQ(CopiesOf([&] { outputs = session->Run(Values{x_}); }), Copies{});
    EXPECT_EQ(Read(outputs), Read(OnCpu(graph, {x_})));
  }
}

TEST_F(PlacementTest, WhatOnlyTheDeviceReadsIsThereEvenIfHostMemoryWouldDo) {
  const auto session = Open("g (float[4] x) => (float[4] y) { a = Relu(x) y = Neg(a) }", OnDevice({{"host_io", "1"}}));
  session->Run(Values{x_});
  EXPECT_EQ(control_.allocations, 1u) << "for a";
}

TEST_F(PlacementTest, AValueGoesFromOneDeviceOfAPluginToAnotherDirectly) {
  const auto session = Open("g (float[4] x) => (float[4] y) { a = Add(x, x) y = Neg(a) }", OnTwoDevices("Neg"));
  Values outputs;
  EXPECT_EQ(CopiesOf([&] { outputs = session->Run(Values{x_}); }), (Copies{.ends = 3, .bytes = 3 * kX, .calls = 3}));
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(-2, 4, -6, 8));
  EXPECT_TRUE(HasEnded(0, "Add"));
  EXPECT_TRUE(HasEnded(1, "Neg"));
}

TEST_F(PlacementTest, AValueGoesFromOnePluginToAnotherThroughTheHost) {
  const auto session = Open("g (float[4] x) => (float[4] y) { a = Add(x, x) y = Neg(a) }",
                            OnTwoPlugins({{"claims", "Add"}}, {{"claims", "Neg"}}));
  Values outputs;
  EXPECT_EQ(CopiesOf([&] { outputs = session->Run(Values{x_}); }), (Copies{.ends = 4, .bytes = 4 * kX, .calls = 4}));
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(-2, 4, -6, 8));
  EXPECT_TRUE(HasEnded(0, "Add"));
  EXPECT_TRUE(HasEnded(2, "Neg"));
}

TEST_F(PlacementTest, AnInputThatIsAnOutputTooStaysTheApplicationsValue) {
  const auto session = Open("g (float[4] x) => (float[4] x, float[4] y) { y = Neg(x) }", OnDevice());
  const Values outputs = session->Run(Values{x_});
  EXPECT_EQ(outputs[0].get(), x_.get());
  EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(-1, 2, -3, 4));
}

TEST_F(PlacementTest, AConstantIsNotCopiedInEachRun) {
  const auto session = Open("g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> { y = Mul(x, w) }", OnDevice());
  session->Run(Values{x_});
  Values outputs;
  EXPECT_EQ(CopiesOf([&] { outputs = session->Run(Values{x_}); }), (Copies{.ends = 2, .bytes = 2 * kX, .calls = 2}));
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(1, -4, 9, -16));
}

TEST_F(PlacementTest, AConstantCanBeAnOutputBesideWhatTheDeviceMakesOfIt) {
  constexpr std::string_view kGraph =
      "g (float[4] x) => (float[4] w, float[4] y) <float[4] w = {1, 2, 3, 4}> { y = Mul(x, w) }";
  const auto session = Open(kGraph, OnDevice());
  EXPECT_EQ(Read(session->Run(Values{x_})), Read(OnCpu(kGraph, {x_})));
}

TEST_F(PlacementTest, APartitionHasSeveralOutputs) {
  const auto session =
      Open("g (float[4] x) => (float[4] a, float[4] b, float[4] c) { a = Relu(x) b = Neg(a) c = Mul(b, b) }",
           OnDevice({{"each", "0"}}));
  Values outputs;
  EXPECT_EQ(CopiesOf([&] { outputs = session->Run(Values{x_}); }), (Copies{.ends = 4, .bytes = 4 * kX, .calls = 2}));
  EXPECT_EQ(control_.executes, 1u);
  EXPECT_EQ(Read(outputs), (std::vector<std::vector<float>>{{1, 0, 3, 0}, {-1, 0, -3, 0}, {1, 0, 9, 0}}));
}

TEST_F(PlacementTest, OutputsThatWereNotRequestedAreNotReturned) {
  const auto session = Open("g (float[4] x) => (float[4] a, float[4] b) { a = Relu(x) b = Neg(a) }", OnDevice());
  const std::vector<std::pair<std::string, ValuePtr>> inputs = {{"x", x_}};
  const std::vector<std::string> names = {"b"};
  const Values outputs = session->Run(inputs, names);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(-1, 0, -3, 0));
}

// --- control flow

TEST_F(PlacementTest, BranchesRunOnTheDeviceAndReadWhatWasMadeThereBefore) {
  constexpr std::string_view kGraph = R"(g (bool c, float[4] x) => (float[4] y) {
    p = Mul(x, x)
    r = If (c) <then_branch = t () => (float[4] a) { n = Neg(p) a = Add(n, x) },
                else_branch = e () => (float[4] b) { b = Add(p, p) }>
    y = Relu(r)
  })";
  const auto session = Open(kGraph, OnDevice());
  for (const bool condition : {true, false, true}) {
    const Values inputs = {Bools({}, {condition}), x_};
    control_.executes = 0;
    EXPECT_EQ(Read(session->Run(inputs)), Read(OnCpu(kGraph, inputs)));
    EXPECT_EQ(control_.executes, condition ? 4u : 3u);
  }
}

TEST_F(PlacementTest, LoopsCarryDeviceValuesFromTripToTrip) {
  constexpr std::string_view kGraph = R"(g (int64 n, bool c, float[4] x) => (float[4] y, float[N, 4] all) {
    p = Mul(x, x)
    last, all = Loop <body = step (int64 i, bool go, float[4] v) => (bool on, float[4] w, float[4] out) {
      on = Identity(go)
      s = Add(v, p)
      out = Neg(s)
      w = Relu(s)
    }> (n, c, x)
    y = Add(last, p)
  })";
  const auto session = Open(kGraph, OnDevice());
  for (const int64_t trips : {0, 1, 7}) {
    SCOPED_TRACE(trips);
    const Values inputs = {Int64s({}, {trips}), Bools({}, {true}), x_};
    const Values outputs = session->Run(inputs);
    const Values expected = OnCpu(kGraph, inputs);
    EXPECT_EQ(Read(outputs), Read(expected));
    EXPECT_THAT(outputs[1]->dims(), ElementsAre(trips, 4));
  }
}

TEST_F(PlacementTest, BodiesWithinBodiesReadTheOutermostDeviceValue) {
  constexpr std::string_view kGraph = R"(g (int64 n, bool c, float[4] x) => (float[4] y) {
    p = Mul(x, x)
    y = Loop <body = step (int64 i, bool go, float[4] v) => (bool on, float[4] w) {
      on = Identity(go)
      w = If (go) <then_branch = t () => (float[4] a) { q = Add(v, p) a = Neg(q) },
                   else_branch = e () => (float[4] b) { b = Add(p, v) }>
    }> (n, c, x)
  })";
  const auto session = Open(kGraph, OnDevice());
  const Values inputs = {Int64s({}, {5}), Bools({}, {true}), x_};
  EXPECT_EQ(Read(session->Run(inputs)), Read(OnCpu(kGraph, inputs)));
}

// --- shapes and types

TEST_F(PlacementTest, TensorsWithoutElementsCopyNothing) {
  const auto session = Open("g (float[N] x) => (float[N] y) { a = Relu(x) b = Abs(a) y = Add(b, b) }", OnDevice());
  Values outputs;
  EXPECT_EQ(CopiesOf([&] { outputs = session->Run(Values{Floats({0}, {})}); }), Copies{});
  EXPECT_EQ(control_.executes, 2u);
  EXPECT_THAT(outputs[0]->dims(), ElementsAre(0));
  EXPECT_THAT(FloatsOf(*session->Run(Values{x_})[0]), ElementsAre(2, 0, 6, 0)) << "the next run has some";
}

TEST_F(PlacementTest, ShapesChangeFromRunToRun) {
  const auto session = Open("g (float[N] x) => (float[N] y) { a = Relu(x) y = Neg(a) }", OnDevice());
  for (const int64_t size : {1, 1000, 3, 0, 70000, 1}) {
    const std::vector<float> ones(static_cast<size_t>(size), 1);
    const Values outputs = session->Run(Values{Floats({size}, ones)});
    EXPECT_EQ(FloatsOf(*outputs[0]), std::vector<float>(static_cast<size_t>(size), -1));
  }
}

TEST_F(PlacementTest, ScalarsAndManyAxes) {
  const auto session = Open(
      "g (float x, float[1,2,1,1,2,1,1] z) => (float y, float[1,2,1,1,2,1,1] w) { y = Neg(x) w = Neg(z) }", OnDevice());
  const Values outputs = session->Run(Values{Floats({}, {3}), Floats({1, 2, 1, 1, 2, 1, 1}, {1, 2, 3, 4})});
  EXPECT_TRUE(outputs[0]->dims().empty());
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(-3));
  EXPECT_THAT(outputs[1]->dims(), ElementsAre(1, 2, 1, 1, 2, 1, 1));
  EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(-1, -2, -3, -4));
}

TEST_F(PlacementTest, StringsAndSequencesStayWithTheHostAround) {
  const auto session = Open(R"(g (float[4] x, string[1] t, bool c, int64 i) => (string[1] u, float[4] y) {
    p = Relu(x)
    q = Neg(x)
    s = SequenceConstruct(p, q)
    e = If (c) <then_branch = f () => (float[4] a) { a = SequenceAt(s, i) },
                else_branch = e () => (float[4] b) { b = Neg(p) }>
    y = Add(e, p)
    u = StringConcat(t, t)
  })",
                            OnDevice());
  const std::vector<int64_t> one = {1};
  const auto run = [&](bool condition, int64_t index) {
    return session->Run(Values{x_, Value::Strings(one, {"ab"}), Bools({}, {condition}), Int64s({}, {index})});
  };
  const Values outputs = run(true, 1);
  EXPECT_EQ(outputs[0]->string_at(0), "abab");
  EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(0, 2, 0, 4));
  EXPECT_THAT(FloatsOf(*run(true, 0)[1]), ElementsAre(2, 0, 6, 0));
  EXPECT_THAT(FloatsOf(*run(false, 0)[1]), ElementsAre(0, 0, 0, 0));
}

TEST_F(PlacementTest, AnOptionalInputCanBeAbsentAndIntegersComeFromTheHost) {
  const Values cache = {Floats({1, 1, 4, 1}, {1, 2, 3, 4}), Floats({1, 1, 2, 1}, {8, 9})};
  const auto without =
      Open("g (float[1,1,4,1] c, float[1,1,2,1] u) => (float[1,1,4,1] y) { y = TensorScatter(c, u) }", OnDevice());
  EXPECT_THAT(FloatsOf(*without->Run(cache)[0]), ElementsAre(8, 9, 3, 4));
  const auto with =
      Open("g (float[1,1,4,1] c, float[1,1,2,1] u, int64[1] at) => (float[1,1,4,1] y) { y = TensorScatter(c, u, at) }",
           OnDevice());
  Values outputs;
  EXPECT_EQ(CopiesOf([&] {
              outputs = with->Run(Values{cache[0], cache[1], Int64s({1}, {2})});
            }),
            (Copies{.ends = 2, .bytes = 32, .calls = 2}))
      << "the update and where it goes are read in host memory";
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(1, 2, 8, 9));
}

// --- memory

TEST_F(PlacementTest, ADeepChainNeedsTheMemoryOfFewValues) {
  std::string graph = "g (float[262144] v0) => (float[262144] v20) {\n";
  for (int i = 0; i < 20; ++i) {
    graph += fmt::format("v{} = {}(v{})\n", i + 1, i % 2 == 0 ? "Neg" : "Relu", i);
  }
  constexpr uint64_t kBytes = 1 << 20;
  const auto session = Open(graph + "}", OnDevice());
  const Values inputs = {Floats({262144}, std::vector<float>(262144, -2))};
  const Values outputs = session->Run(inputs);
  EXPECT_EQ(control_.executes, 20u);
  EXPECT_LE(control_.allocations, 4u);
  EXPECT_LE(control_.live_bytes, static_cast<int64_t>(5 * kBytes));
  const uint64_t allocations = control_.allocations;
  session->Run(inputs);
  EXPECT_EQ(control_.allocations, allocations) << "the second run has what the first gave back";
  EXPECT_EQ(Memory(0)->use().value_bytes, 0u);
  EXPECT_GE(Memory(0)->use().kept_bytes, kBytes);
  Memory(0)->Trim();
  EXPECT_EQ(Memory(0)->use().kept_bytes, 0u);
}

// --- all options together

TEST_F(PlacementTest, EveryWayOfTheDeviceGivesTheNumbersOfTheCpu) {
  constexpr std::string_view kGraph = R"(g (float[N] x, bool c, int64 n) => (float[N] y, float[N] z, float[N] m) {
    a = Relu(x)
    b = Neg(x)
    p = Add(a, b)
    h = Abs(p)
    q = Mul(h, a)
    m = Sub(q, p)
    r = If (c) <then_branch = t () => (float[N] e) { k = Neg(q) e = Add(k, x) },
                else_branch = f () => (float[N] l) { l = Sub(q, p) }>
    z = Loop <body = step (int64 i, bool go, float[N] v) => (bool on, float[N] w) {
      on = Identity(go)
      s = Add(v, a)
      w = Sub(s, p)
    }> (n, c, r)
    y = Mul(z, q)
  })";
  const Values inputs = {x_, Bools({}, {true}), Int64s({}, {3})};
  const std::vector<std::vector<float>> expected = Read(OnCpu(kGraph, inputs));
  // The rows cover every combination of any three of the seven options that are on or off (a covering array of strength
  // 3).
  const auto parity = [](unsigned bits) { return static_cast<unsigned>(std::popcount(bits) % 2); };
  for (const char* memory : {"arena", "shared", "both", "host"}) {
    for (unsigned row = 0; row < 16; ++row) {
      const unsigned ways = row | parity(row & 0b0111) << 4 | parity(row & 0b1110) << 5 | parity(row & 0b1011) << 6;
      const auto way = [ways](unsigned bit) { return std::string(1, (ways >> bit & 1) != 0 ? '1' : '0'); };
      // A value in host memory has no buffer to adopt.
      const std::string adopt = memory == std::string_view("host") ? "0" : way(3);
      const ProviderOptions options = {{"memory", memory}, {"each", way(0)},    {"host_io", way(1)}, {"async", way(2)},
                                       {"adopt", adopt},   {"aliases", way(4)}, {"state", way(5)}};
      SCOPED_TRACE(testing::PrintToString(options) + way(6));
      const auto session = Open(kGraph, way(6) == "1" ? OnTwoDevices("Add,Neg", options) : OnDevice(options));
      for (int run = 0; run < 2; ++run) ASSERT_EQ(Read(session->Run(inputs)), expected);
      ASSERT_EQ(control_.violations, 0u) << Complaints();
    }
  }
}

}  // namespace
}  // namespace epiphyte::test
