// Concurrency of work, and its dependencies. Work is held until other work has ended, so a serial execution would never
// end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/device/device_fixture.h"

namespace epiphyte::test {
namespace {

using core::Session;
using core::SessionOptions;
using core::ValuePtr;
using testing::ElementsAre;

class OverlapTest : public DeviceTest {
 protected:
  // Runs the session while device `held` is held, and releases it when device `free` has finished the work `what`.
  Values RunPast(int held, int free, std::string_view what, Session& session) {
    std::future<Values> run;
    Hold hold(held);
    run = Start(session, {x_});
    EXPECT_TRUE(WaitUntil([&] { return HasEnded(free, what); }))
        << what << " on device " << free << " waits for device " << held << ", of which it needs nothing";
    EXPECT_TRUE(Spans(held).empty());
    hold.Release();
    return run.get();
  }

  TestDeviceSpan SpanOf(int number, std::string_view what) {
    const std::vector<TestDeviceSpan> spans = Spans(number);
    const auto found = std::find_if(spans.begin(), spans.end(), [&](const auto& span) { return span.what == what; });
    if (found == spans.end()) throw std::runtime_error(fmt::format("device {} did no {}", number, what));
    return *found;
  }

  const ValuePtr x_ = Floats({4}, {1, -2, 3, -4});
};

TEST_F(OverlapTest, TwoDevicesOfOnePluginWorkAtTheSameTime) {
  const auto session =
      Open("g (float[4] x) => (float[4] y) { p = Mul(x, x) q = Neg(x) y = Sub(p, q) }", OnTwoDevices("Neg"));
  EXPECT_THAT(FloatsOf(*RunPast(0, 1, "Neg", *session)[0]), ElementsAre(2, 2, 12, 12));
  control_.Reset();
  EXPECT_THAT(FloatsOf(*RunPast(1, 0, "Mul", *session)[0]), ElementsAre(2, 2, 12, 12));
}

TEST_F(OverlapTest, DevicesOfTwoPluginsWorkAtTheSameTime) {
  const auto session = Open("g (float[4] x) => (float[4] y) { p = Mul(x, x) q = Neg(x) y = Max(p, q) }",
                            OnTwoPlugins({{"claims", "Mul"}}, {{"claims", "Neg"}}));
  EXPECT_THAT(FloatsOf(*RunPast(0, 2, "Neg", *session)[0]), ElementsAre(1, 4, 9, 16));
  control_.Reset();
  EXPECT_THAT(FloatsOf(*RunPast(2, 0, "Mul", *session)[0]), ElementsAre(1, 4, 9, 16));
}

TEST_F(OverlapTest, ChainsOnTwoDevicesOverlapFromEndToEnd) {
  const auto session = Open(R"(g (float[4] x) => (float[4] y, float[4] z) {
    a = Mul(x, x)
    b = Add(a, x)
    y = Relu(b)
    n = Neg(x)
    z = Sub(n, x)
  })",
                            OnTwoDevices("Neg,Sub"));
  const Values outputs = RunPast(0, 1, "Sub", *session);
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(2, 2, 12, 12));
  EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(-2, 4, -6, 8));
}

TEST_F(OverlapTest, ADiamondIsSubmittedAsAWholeAndJoinsOnTheDevice) {
  const auto session = Open(R"(g (float[4] x) => (float[4] y) {
    a = Relu(x)
    b = Neg(a)
    c = Mul(a, a)
    y = Add(b, c)
  })",
                            OnTwoDevices("Neg"));
  std::future<Values> run;
  Hold hold(1);
  run = Start(*session, {x_});
  EXPECT_TRUE(WaitUntil([&] { return control_.executes == 4u; })) << "the host waited before all was submitted";
  EXPECT_TRUE(WaitUntil([&] { return HasEnded(0, "Mul"); }));
  EXPECT_FALSE(HasEnded(0, "Add")) << "it did not wait for what it reads";
  hold.Release();
  EXPECT_THAT(FloatsOf(*run.get()[0]), ElementsAre(0, 0, 6, 0));
  EXPECT_GE(control_.waits, 2u) << "there and back";
  EXPECT_LE(control_.synchronizes, 2u) << "one of each stream, at the end";
  EXPECT_LE(SpanOf(0, "Relu").end_ns, SpanOf(1, "Neg").start_ns);
  EXPECT_LE(SpanOf(1, "Neg").end_ns, SpanOf(0, "Add").start_ns);
  EXPECT_LE(SpanOf(0, "Mul").end_ns, SpanOf(0, "Add").start_ns);
}

TEST_F(OverlapTest, BetweenPluginsTheHostWaits) {
  const auto session = Open("g (float[4] x) => (float[4] y) { a = Relu(x) y = Neg(a) }",
                            OnTwoPlugins({{"claims", "Relu"}}, {{"claims", "Neg"}}));
  EXPECT_THAT(FloatsOf(*session->Run(Values{x_})[0]), ElementsAre(-1, 0, -3, 0));
  EXPECT_EQ(control_.waits, 0u);
  EXPECT_LE(SpanOf(0, "Relu").end_ns, SpanOf(2, "Neg").start_ns);
}

TEST_F(OverlapTest, OneStreamKeepsItsOrderWithoutSignals) {
  const auto session = Open(R"(g (float[4] x) => (float[4] y) {
    a = Relu(x)
    b = Neg(a)
    c = Mul(b, b)
    d = Sub(c, a)
    y = Add(d, d)
  })",
                            OnDevice());
  std::future<Values> run;
  Hold hold(0);
  run = Start(*session, {x_});
  EXPECT_TRUE(WaitUntil([&] { return control_.executes == 5u; }));
  hold.Release();
  EXPECT_THAT(FloatsOf(*run.get()[0]), ElementsAre(0, 0, 12, 0));
  EXPECT_LE(control_.signals, 1u);
  EXPECT_EQ(control_.waits, 0u);
  EXPECT_LE(control_.synchronizes, 1u);
  std::vector<std::string> kernels;
  int64_t last = 0;
  for (const TestDeviceSpan& span : Spans(0)) {
    EXPECT_LE(last, span.start_ns);
    EXPECT_LE(span.start_ns, span.end_ns);
    last = span.end_ns;
    if (span.what != "copy") kernels.push_back(span.what);
  }
  EXPECT_THAT(kernels, ElementsAre("Relu", "Neg", "Mul", "Sub", "Add"));
}

TEST_F(OverlapTest, TheHostGoesOnWhileTheDeviceWorks) {
  // Abs runs on the CPU. The later steps on the device are submitted although nothing has been done there yet.
  const auto session = Open(R"(g (float[4] x) => (float[4] y) {
    p = Mul(x, x)
    h = Abs(x)
    q = Neg(h)
    y = Add(p, q)
  })",
                            OnDevice());
  std::future<Values> run;
  Hold hold(0);
  run = Start(*session, {x_});
  EXPECT_TRUE(WaitUntil([&] { return control_.executes == 3u; }));
  EXPECT_TRUE(Spans(0).empty());
  hold.Release();
  EXPECT_THAT(FloatsOf(*run.get()[0]), ElementsAre(0, 2, 6, 12));
}

TEST_F(OverlapTest, AHostKernelWaitsForWhatItReads) {
  const auto session = Open("g (float[4] x) => (float[4] y) { a = Relu(x) b = Abs(a) y = Neg(b) }", OnDevice());
  std::future<Values> run;
  Hold hold(0);
  run = Start(*session, {x_});
  EXPECT_TRUE(WaitUntil([&] { return control_.synchronizes == 1u; }));
  EXPECT_EQ(control_.executes, 1u);
  hold.Release();
  EXPECT_THAT(FloatsOf(*run.get()[0]), ElementsAre(-1, 0, -3, 0));
}

TEST_F(OverlapTest, RunsOfOneSessionAreUnderWayAtTheSameTime) {
  const auto session = Open("g (float[4] x) => (float[4] y) { y = Relu(x) }", OnDevice());
  std::vector<std::future<Values>> runs;
  Hold hold(0);
  for (int i = 0; i < 4; ++i) runs.push_back(Start(*session, {x_}));
  EXPECT_TRUE(WaitUntil([&] { return control_.executes == 4u; })) << "one run waits for another";
  hold.Release();
  for (std::future<Values>& run : runs) EXPECT_THAT(FloatsOf(*run.get()[0]), ElementsAre(1, 0, 3, 0));
}

TEST_F(OverlapTest, AKernelThatIsNotAsyncIsDoneWhenExecuteReturns) {
  const auto session = Open("g (float[4] x) => (float[4] y) { a = Relu(x) y = Neg(a) }", OnDevice({{"async", "0"}}));
  std::future<Values> run;
  Hold hold(0);
  run = Start(*session, {x_});
  // The host copies the kernel's input first, and that copy is held. Execute must not have been called.
  EXPECT_TRUE(WaitUntil([&] { return control_.synchronizes == 1u; }));
  EXPECT_EQ(control_.executes, 0u);
  hold.Release();
  EXPECT_THAT(FloatsOf(*run.get()[0]), ElementsAre(-1, 0, -3, 0));
}

}  // namespace
}  // namespace epiphyte::test
