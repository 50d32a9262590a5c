// Failures on a device. Each ends in an error that names it, and the session, the device or the environment still
// works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stop_token>

#include "tests/device/device_faults.h"

namespace epiphyte::test {
namespace {

using core::Session;
using core::SessionOptions;
using core::ValuePtr;
using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A run makes six submissions: copy x to the device, Relu, copy a to the host, copy b to the device, Neg, copy y to the
// host.
constexpr std::string_view kThereAndBack = "g (float[4] x) => (float[4] y) { a = Relu(x) b = Abs(a) y = Neg(b) }";
constexpr int64_t kSubmissions = 6;

class FailureTest : public DeviceTest {
 protected:
  std::string Outcome(Session& session) {
    return FailureOf([&] { EXPECT_THAT(FloatsOf(*session.Run(inputs_)[0]), ElementsAre(-1, 0, -3, 0)); });
  }

  const Values inputs_ = {Floats({4}, {1, -2, 3, -4})};
};

// Returns a value of that many MiB.
ValuePtr Mebibytes(int64_t count) {
  return Floats({count << 18}, std::vector<float>(static_cast<size_t>(count) << 18, 1));
}

// --- work that fails

TEST_F(FailureTest, WhicheverSubmissionFailsTheRunSaysItAndTheNextOneWorks) {
  const auto session = Open(kThereAndBack, OnDevice({{"state", "1"}}));
  int64_t failures = 0;
  for (;; ++failures) {
    ASSERT_LE(failures, kSubmissions);
    control_.fail_in[0] = failures;
    const std::string outcome = Outcome(*session);
    if (outcome == "OK") break;
    EXPECT_THAT(outcome, AllOf(StartsWith("EP_FAIL"), HasSubstr("'test_device'"),
                               HasSubstr("failed on device 'test 0', as it was asked to"), Not(HasSubstr("\n"))));
    control_.fail_in[0] = -1;
    EXPECT_EQ(Outcome(*session), "OK") << "after submission " << failures << " had failed";
    EXPECT_EQ(control_.violations, 0u) << Complaints();
  }
  EXPECT_EQ(failures, kSubmissions);
}

TEST_F(FailureTest, FailuresInBodiesAndOnTheOtherPluginAreReported) {
  constexpr std::string_view kGraph = R"(g (int64 n, bool c, float[4] x) => (float[4] y) {
    p = Mul(x, x)
    last = Loop <body = step (int64 i, bool go, float[4] v) => (bool on, float[4] w) {
      on = Identity(go)
      k = Neg(v)
      w = Add(k, p)
    }> (n, c, x)
    y = Neg(last)
  })";
  const auto session = Open(kGraph, OnTwoPlugins({{"claims", "Mul,Add"}, {"state", "1"}}, {{"claims", "Neg"}}));
  const Values inputs = {Int64s({}, {3}), Bools({}, {true}), inputs_[0]};
  const std::vector<std::vector<float>> expected = Read(OnCpu(kGraph, inputs));
  for (const int device : {0, 2}) {
    int64_t failures = 0;
    for (;; ++failures) {
      ASSERT_LT(failures, 100);
      control_.fail_in[device] = failures;
      const std::string outcome = FailureOf([&] { session->Run(inputs); });
      control_.fail_in[device] = -1;
      EXPECT_EQ(Read(session->Run(inputs)), expected);
      if (outcome == "OK") break;
      EXPECT_THAT(outcome, AllOf(StartsWith("EP_FAIL"), HasSubstr(device == 0 ? "'test_device'" : "'test_device_b'"),
                                 HasSubstr("as it was asked to")));
    }
    EXPECT_GT(failures, 8);
  }
}

TEST_F(FailureTest, AFailedRunDoesNotDisturbTheOthers) {
  const auto session = Open(kThereAndBack, OnDevice({{"state", "1"}}));
  std::vector<std::thread> threads;
  std::atomic<int> failed = 0;
  std::atomic<int> wrong = 0;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 20; ++round) {
        if (thread == 0) control_.fail_in[0] = 3;
        try {
          if (FloatsOf(*session->Run(inputs_)[0]) != std::vector<float>{-1, 0, -3, 0}) ++wrong;
        } catch (const core::Error& error) {
          if (error.code() != core::StatusCode::kEpFail) ++wrong;
          ++failed;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  control_.fail_in[0] = -1;
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(failed, 1);
  EXPECT_LE(failed, 20) << "one run for each that was asked for";
  EXPECT_EQ(Outcome(*session), "OK");
}

TEST_F(FailureTest, CopiesOutsideOfRunsFailAndWorkAgain) {
  control_.fail_in[0] = 0;
  EXPECT_THAT(FailureOf([&] { InMemory(inputs_[0]); }), AllOf(StartsWith("EP_FAIL"), HasSubstr("'test_device'")));
  EXPECT_THAT(Read(InMemory(inputs_[0])), ElementsAre(1, -2, 3, -4));
}

// --- a device that is lost

TEST_F(FailureTest, WheneverTheDeviceIsLostOnlyANewSessionHelps) {
  int64_t losses = 0;
  for (;; ++losses) {
    ASSERT_LE(losses, kSubmissions);
    const auto session = Open(kThereAndBack, OnDevice({{"state", "1"}}));
    control_.lose_in[0] = losses;
    const std::string outcome = Outcome(*session);
    if (outcome == "OK") break;
    EXPECT_THAT(outcome, AllOf(StartsWith("DEVICE_RESET"), HasSubstr("test_device"), Not(HasSubstr("\n"))));
    control_.lose_in[0] = -1;
    for (int again = 0; again < 2; ++again) {
      EXPECT_THAT(Outcome(*session),
                  AllOf(StartsWith("DEVICE_RESET"), HasSubstr("test_device"), HasSubstr("new session")));
    }
    EXPECT_EQ(Outcome(*Open(kThereAndBack, OnDevice({{"state", "1"}}))), "OK");
    EXPECT_EQ(control_.violations, 0u) << Complaints();
  }
  EXPECT_EQ(losses, kSubmissions);
}

TEST_F(FailureTest, ALossInABodyIsOneOfTheSession) {
  constexpr std::string_view kGraph = R"(g (bool c, float[4] x) => (float[4] y) {
    y = If (c) <then_branch = t () => (float[4] a) { a = Neg(x) }, else_branch = e () => (float[4] b) { b = Abs(x) }>
  })";
  const auto session = Open(kGraph, OnDevice());
  control_.lose_in[0] = 1;
  const auto run = [&](bool condition) {
    return FailureOf([&] { session->Run(Values{Bools({}, {condition}), inputs_[0]}); });
  };
  EXPECT_THAT(run(true), StartsWith("DEVICE_RESET"));
  EXPECT_THAT(run(true), AllOf(StartsWith("DEVICE_RESET"), HasSubstr("new session")));
}

TEST_F(FailureTest, SessionsOnOtherDevicesGoOn) {
  const auto both = Open("g (float[4] x) => (float[4] y) { a = Relu(x) y = Neg(a) }", OnTwoDevices("Neg"));
  const auto first = Open(kThereAndBack, OnDevice());
  const auto other = Open(kThereAndBack, OnTwoPlugins({{"claims", "MatMul"}}, {}));
  control_.lose_in[1] = 1;
  EXPECT_THAT(Outcome(*both), StartsWith("DEVICE_RESET"));
  EXPECT_EQ(Outcome(*first), "OK");
  EXPECT_EQ(Outcome(*other), "OK");
  EXPECT_THAT(Outcome(*both), StartsWith("DEVICE_RESET"));
}

TEST_F(FailureTest, ADeviceThatDoesNotComeBackFailsNewSessionsUntilItDoes) {
  const auto session = Open(kThereAndBack, OnDevice());
  control_.return_on_new_stream = 0;
  control_.lose_in[0] = 0;
  EXPECT_THAT(Outcome(*session), StartsWith("DEVICE_RESET"));
  EXPECT_THAT(FailureOf([&] { Open(kThereAndBack, OnDevice())->Run(inputs_); }), StartsWith("DEVICE_RESET"));
  EXPECT_THAT(FailureOf([&] { InMemory(inputs_[0]); }), StartsWith("DEVICE_RESET"));
  control_.return_on_new_stream = 1;
  EXPECT_EQ(Outcome(*Open(kThereAndBack, OnDevice())), "OK");
  EXPECT_THAT(Outcome(*session), AllOf(StartsWith("DEVICE_RESET"), HasSubstr("new session")));
}

TEST_F(FailureTest, ValuesFromBeforeALossFailAndAreReleasedWithoutErrors) {
  const auto session = Open("g (float[4] x) => (float[4] y) { y = Neg(x) }", OnDevice());
  const ValuePtr old = InMemory(inputs_[0]);
  control_.lose_in[0] = 1;
  EXPECT_THAT(FailureOf([&] { session->Run(inputs_); }), StartsWith("DEVICE_RESET"));
  const auto next = Open("g (float[4] x) => (float[4] y) { y = Neg(x) }", OnDevice());
  EXPECT_THAT(FloatsOf(*next->Run(inputs_)[0]), ElementsAre(-1, 2, -3, 4)) << "which brings the device back";
  const ValuePtr young = InMemory(inputs_[0]);
  EXPECT_THAT(FloatsOf(*next->Run(Values{young})[0]), ElementsAre(-1, 2, -3, 4));
  EXPECT_THAT(FailureOf([&] { next->Run(Values{old}); }), StartsWith("DEVICE_RESET"));
  EXPECT_THAT(FailureOf([&] { Read(old); }), StartsWith("DEVICE_RESET"));
  EXPECT_THAT(FloatsOf(*Open("g (float[4] x) => (float[4] y) { y = Neg(x) }", OnDevice())->Run(Values{young})[0]),
              ElementsAre(-1, 2, -3, 4))
      << "an old value is no new loss";
}

TEST_F(FailureTest, ALossWhileOthersRunLeavesNothingBehind) {
  const auto session = Open(kThereAndBack, OnDevice({{"state", "1"}}));
  std::vector<std::future<std::string>> runs;
  {
    const Hold hold(0);
    for (int i = 0; i < 4; ++i) runs.push_back(std::async(std::launch::async, [&] { return Outcome(*session); }));
    EXPECT_TRUE(WaitUntil([&] { return control_.executes == 4u; }));
    control_.lose_in[0] = 0;  // counted from the submissions that follow
  }
  int lost = 0;
  for (auto& run : runs) {
    const std::string outcome = run.get();
    if (outcome != "OK") {
      EXPECT_THAT(outcome, StartsWith("DEVICE_RESET"));
      ++lost;
    }
  }
  EXPECT_GE(lost, 1);
  EXPECT_EQ(Outcome(*Open(kThereAndBack, OnDevice())), "OK");
}

// --- memory that runs short

TEST_F(FailureTest, WhatThePoolKeepsIsGivenBackWhenTheDeviceHasNoMore) {
  control_.capacity[0] = uint64_t{9} << 20;
  const auto session = Open("g (float[N] x) => (float[N] y) { y = Neg(x) }", OnDevice());
  const auto run = [&](int64_t size) {
    return FailureOf([&] { EXPECT_EQ(FloatsOf(*session->Run(Values{Mebibytes(size)})[0]).back(), -1); });
  };
  EXPECT_EQ(run(2), "OK");
  EXPECT_EQ(control_.trims, 0u);
  EXPECT_GE(Memory(0)->use().kept_bytes, uint64_t{2} << 20);
  EXPECT_EQ(run(4), "OK");
  EXPECT_GE(control_.trims, 1u);
  EXPECT_GE(control_.frees, 1u);
  EXPECT_EQ(run(2), "OK");
}

TEST_F(FailureTest, AnErrorForWantOfMemoryNamesWhatIsInUse) {
  control_.capacity[0] = uint64_t{9} << 20;
  const auto session = Open("g (float[N] x) => (float[N] y) { y = Neg(x) }", OnDevice());
  const Values inputs = {Mebibytes(4)};
  {
    const ValuePtr held = InMemory(Mebibytes(6));
    EXPECT_THAT(FailureOf([&] { session->Run(inputs); }),
                AllOf(StartsWith("OUT_OF_MEMORY"), HasSubstr("test_device"), HasSubstr("'arena'"),
                      HasSubstr("needs 4194304 bytes"), HasSubstr("values have 6291456 bytes"), Not(HasSubstr("\n"))));
    EXPECT_GE(control_.trims, 1u) << "the host had not tried everything";
  }
  EXPECT_EQ(FailureOf([&] { session->Run(inputs); }), "OK") << "once the value is gone";
}

TEST_F(FailureTest, ValuesOfARunThatAreDoneWithMakeRoomForItsOthers) {
  // x and a take 4 MiB each, b and y a quarter of that, so b and y can't reuse the memory of x.
  control_.capacity[0] = uint64_t{17} << 19;
  const auto session = Open(R"(g (float[N, 4] x, float[4, 1] w, float[1, 1] v) => (float[N, 1] y) {
    a = Relu(x)
    b = MatMul(a, w)
    y = MatMul(b, v)
  })",
                            OnDevice());
  const int64_t rows = int64_t{1} << 18;
  const Values inputs = {Floats({rows, 4}, std::vector<float>(static_cast<size_t>(rows) * 4, 1)),
                         Floats({4, 1}, {1, 2, 3, 4}), Floats({1, 1}, {2})};
  for (int run = 0; run < 2; ++run) {
    const std::vector<float> y = FloatsOf(*session->Run(inputs)[0]);
    EXPECT_EQ(y.front(), 20);
    EXPECT_EQ(y.back(), 20);
  }
}

TEST_F(FailureTest, ASessionHasNoMoreDeviceMemoryThanItMay) {
  SessionOptions options = OnDevice();
  options.Set("session.max_device_bytes", "5000000");
  const auto session = Open("g (float[N] x) => (float[N] y) { y = Neg(x) }", options);
  const auto unlimited = Open("g (float[N] x) => (float[N] y) { y = Neg(x) }", OnDevice());
  EXPECT_EQ(FailureOf([&] { session->Run(Values{Mebibytes(2)}); }), "OK");
  EXPECT_THAT(FailureOf([&] { session->Run(Values{Mebibytes(3)}); }),
              AllOf(StartsWith("OUT_OF_MEMORY"), HasSubstr("'test_device'"),
                    HasSubstr("session.max_device_bytes allows 5000000"), Not(HasSubstr("\n"))));
  EXPECT_EQ(FailureOf([&] { unlimited->Run(Values{Mebibytes(3)}); }), "OK") << "others may have more";
  EXPECT_EQ(FailureOf([&] { session->Run(Values{Mebibytes(2)}); }), "OK") << "the failed run gave back what it had";
  EXPECT_EQ(session->memories().at(0).account->used(), 0u);
}

TEST_F(FailureTest, AdoptedBuffersCountForTheLimitToo) {
  SessionOptions options = OnDevice({{"adopt", "1"}});
  options.Set("session.max_device_bytes", "5000000");
  const auto session = Open("g (float[N] x) => (float[N] y) { y = Neg(x) }", options);
  EXPECT_EQ(FailureOf([&] { session->Run(Values{Mebibytes(2)}); }), "OK");
  EXPECT_THAT(FailureOf([&] { session->Run(Values{Mebibytes(3)}); }),
              AllOf(StartsWith("OUT_OF_MEMORY"), HasSubstr("session.max_device_bytes allows 5000000")));
  EXPECT_EQ(FailureOf([&] { session->Run(Values{Mebibytes(2)}); }), "OK");
}

// --- runs that are cancelled

TEST_F(FailureTest, ARunThatIsCancelledBeforeItBeginsSubmitsNothing) {
  const auto session = Open(kThereAndBack, OnDevice());
  std::stop_source source;
  source.request_stop();
  source.request_stop();
  core::RunSettings settings;
  settings.stop = source.get_token();
  EXPECT_EQ(FailureOf([&] { session->Run(inputs_, settings); }), "CANCELED: the run was cancelled");
  EXPECT_EQ(control_.executes, 0u);
  EXPECT_EQ(control_.copies, 0u);
  EXPECT_EQ(Outcome(*session), "OK");
}

TEST_F(FailureTest, ARunIsCancelledBetweenStepsAndWaitsForWhatIsUnderWay) {
  const auto session = Open(kThereAndBack, OnDevice({{"state", "1"}}));
  std::stop_source source;
  core::RunSettings settings;
  settings.stop = source.get_token();
  std::future<std::string> outcome;
  {
    const Hold hold(0);
    outcome = std::async(std::launch::async, [&] { return FailureOf([&] { session->Run(inputs_, settings); }); });
    EXPECT_TRUE(WaitUntil([&] { return control_.synchronizes == 1u; })) << "for what Abs reads";
    EXPECT_TRUE(source.request_stop());
    EXPECT_FALSE(source.request_stop()) << "twice is harmless";
  }
  EXPECT_EQ(outcome.get(), "CANCELED: the run was cancelled");
  EXPECT_EQ(control_.executes, 1u);
  EXPECT_EQ(Outcome(*session), "OK");
}

TEST_F(FailureTest, ARunThatIsCancelledWhenAllIsSubmittedEndsEitherWay) {
  const auto session = Open("g (float[4] x) => (float[4] y) { a = Relu(x) y = Neg(a) }", OnDevice());
  std::stop_source source;
  core::RunSettings settings;
  settings.stop = source.get_token();
  std::future<std::string> outcome;
  {
    const Hold hold(0);
    outcome = std::async(std::launch::async, [&] { return FailureOf([&] { session->Run(inputs_, settings); }); });
    EXPECT_TRUE(WaitUntil([&] { return control_.executes == 2u; }));
    source.request_stop();
  }
  EXPECT_THAT(outcome.get(), AnyOf("OK", "CANCELED: the run was cancelled"));
  EXPECT_EQ(Outcome(*session), "OK");
}

// --- plugins that break the rules

struct Fault {
  std::string says;         // expected part of the error
  ProviderOptions options;  // options that expose the fault
};

const std::map<std::string, Fault>& Faults() {
  static const auto& faults = *new std::map<std::string, Fault>{
      {"points_go_back", {"points that go back", {}}},
      {"point_zero", {"at least 1", {}}},
      {"null_stream", {"CreateStream", {}}},
      {"same_stream", {"a stream that is in use", {}}},
      {"null_buffer", {"no buffer", {}}},
      {"same_buffer", {"a buffer that is in use", {}}},
      {"adopt_foreign", {"the host's already", {{"adopt", "1"}}}},
      {"adopt_null", {"null", {{"adopt", "1"}}}},
      {"adopt_short", {"bytes", {{"adopt", "1"}}}},
      {"adopt_other_memory", {"memory", {{"adopt", "1"}}}},
      {"unknown_memory", {"memory 7", {}}},
      {"unknown_device", {"device 9", {}}},
      {"bad_alias", {"input 99", {}}},
      {"other_type", {"tensor(float)[4]", {}}},
      {"output_missing", {"did not set output", {}}},
      {"output_twice", {"set twice", {}}},
      {"map_null", {"no address", {{"memory", "shared"}}}},
      {"no_memories", {"0 memories", {}}},
      {"many_memories", {"4000 memories", {}}},
      {"bad_alignment", {"alignment of 3", {}}},
      {"throws", {"exception", {}}},
      {"status_of_other", {"Signal", {}}},
  };
  return faults;
}

class FaultTest : public FailureTest, public testing::WithParamInterface<const char*> {
 protected:
  SessionOptions Faulty() {
    const std::string fault = GetParam();
    ProviderOptions options = Faults().at(fault).options;
    if (fault != "no_memories" && fault != "many_memories" && fault != "bad_alignment") {
      options["fault"] = fault;
      return OnDevice(std::move(options));
    }
    // The host asks for these before it creates a provider, so the manifest names the fault.
    manifest_ = std::make_unique<FaultyManifest>(fault);
    environment_ = DeviceEnvironment({manifest_->path()});
    return OnDevice(std::move(options));
  }
  // Does everything that a host does with a device. The caller expects that some call fails.
  void UseAll(const SessionOptions& options) {
    const auto session = Open(kThereAndBack, options);
    session->Run(inputs_);
    // The value needs a second stream and, because of its size, a second buffer.
    const ValuePtr hundred = InMemory(Floats({100}, std::vector<float>(100, 1)));
    session->Run(inputs_);
    EXPECT_NE(core::PieceOf(*InMemory(inputs_[0], 0, 1))->Map(), nullptr);
    EXPECT_EQ(Read(hundred), std::vector<float>(100, 1));
    EXPECT_EQ(Outcome(*session), "OK");
  }

  std::unique_ptr<FaultyManifest> manifest_;
};

INSTANTIATE_TEST_SUITE_P(Plugin, FaultTest, testing::ValuesIn(kTestDeviceFaults),
                         [](const auto& info) { return info.param; });

TEST_P(FaultTest, IsAnErrorThatNamesTheProviderAndWhatWasFound) {
  const auto found = Faults().find(GetParam());
  ASSERT_NE(found, Faults().end()) << "no test knows this fault";
  const SessionOptions options = Faulty();
  EXPECT_THAT(FailureOf([&] { UseAll(options); }),
              AllOf(AnyOf(StartsWith("EP_FAIL: "), StartsWith("INVALID_ARGUMENT: ")), HasSubstr("'test_device'"),
                    HasSubstr(found->second.says), Not(HasSubstr("\n"))));
  EXPECT_EQ(control_.violations, 0u) << Complaints();

  environment_ = DeviceEnvironment();
  EXPECT_EQ(FailureOf([&] { UseAll(OnDevice(found->second.options)); }), "OK") << "without the fault";
}

TEST_P(FaultTest, LeavesNothingBehindWhenItComesAgainAndAgain) {
  const SessionOptions options = Faulty();
  for (int i = 0; i < 5; ++i) EXPECT_NE(FailureOf([&] { UseAll(options); }), "OK");
  std::unique_ptr<Session> session;
  if (FailureOf([&] { session = Open(kThereAndBack, options); }) != "OK") return;
  for (int i = 0; i < 5; ++i) FailureOf([&] { session->Run(inputs_); });
}

}  // namespace
}  // namespace epiphyte::test
