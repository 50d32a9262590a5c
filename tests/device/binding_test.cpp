// Bound outputs: they are written into the application's memory, without a copy if that is possible.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/device/device_fixture.h"

namespace epiphyte::test {
namespace {

using core::DataType;
using core::OutputBinding;
using core::RunBindings;
using core::RunSettings;
using core::Session;
using core::SessionOptions;
using core::Value;
using core::ValuePtr;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class BindingTest : public DeviceTest {
 protected:
  static Values RunBound(Session& session, const Values& inputs, std::vector<OutputBinding> outputs,
                         core::BindingNumbers* numbers = nullptr) {
    RunBindings bindings;
    bindings.outputs = std::move(outputs);
    bindings.numbers = numbers;
    RunSettings settings;
    settings.bindings = &bindings;
    return session.Run(inputs, settings);
  }
  static OutputBinding ToValue(ValuePtr value) { return {std::move(value), nullptr}; }
  static OutputBinding ToMemory(std::shared_ptr<core::DeviceMemory> memory) { return {nullptr, std::move(memory)}; }
  // Returns a value in device memory, filled with 77, which no run computes.
  ValuePtr Room(int number = 0, size_t memory = 0) { return InMemory(Floats({4}, {77, 77, 77, 77}), number, memory); }

  const ValuePtr x_ = Floats({4}, {1, -2, 3, -4});
};

constexpr std::string_view kNeg = "g (float[4] x) => (float[4] y) { y = Neg(x) }";

// --- memory that outputs are written to

TEST_F(BindingTest, AnOutputIsWrittenIntoTheValueThatIsBound) {
  const auto session = Open(kNeg, OnDevice());
  const ValuePtr x = InMemory(x_);
  const ValuePtr y = Room();
  Values outputs;
  EXPECT_EQ(CopiesOf([&] { outputs = RunBound(*session, {x}, {ToValue(y)}); }), Copies{});
  EXPECT_EQ(outputs[0].get(), y.get());
  EXPECT_THAT(Read(y), ElementsAre(-1, 2, -3, 4));
  EXPECT_THAT(Read(x), ElementsAre(1, -2, 3, -4));
}

TEST_F(BindingTest, AChainEndsInTheValueThatIsBound) {
  const auto session = Open("g (float[4] x) => (float[4] y) { a = Relu(x) b = Neg(a) y = Mul(b, b) }", OnDevice());
  const ValuePtr y = Room();
  EXPECT_EQ(CopiesOf([&] { RunBound(*session, {x_}, {ToValue(y)}); }), (Copies{.ends = 1, .bytes = 16, .calls = 1}))
      << "x there";
  EXPECT_THAT(Read(y), ElementsAre(1, 0, 9, 0));
}

TEST_F(BindingTest, AnOutputBoundToAMemoryIsANewValueThereInEachRun) {
  const auto session = Open(kNeg, OnDevice());
  const ValuePtr x = InMemory(x_);
  Values first, second;
  EXPECT_EQ(CopiesOf([&] { first = RunBound(*session, {x}, {ToMemory(Memory(0))}); }), Copies{});
  EXPECT_EQ(CopiesOf([&] { second = RunBound(*session, {first[0]}, {ToMemory(Memory(0))}); }), Copies{});
  ASSERT_TRUE(first[0]->IsOnDevice());
  EXPECT_EQ(core::PieceOf(*first[0])->pool(), Memory(0));
  EXPECT_THAT(Read(first[0]), ElementsAre(-1, 2, -3, 4));
  EXPECT_THAT(Read(second[0]), ElementsAre(1, -2, 3, -4));
}

TEST_F(BindingTest, AMemoryThatTheKernelCanNotWriteIsReachedByACopy) {
  const auto session = Open(kNeg, OnTwoDevices("Relu"));
  for (const auto& [number, memory] : std::vector<std::pair<int, size_t>>{{0, 1}, {1, 0}, {1, 1}}) {
    const Values outputs = RunBound(*session, {x_}, {ToMemory(Memory(number, memory))});
    EXPECT_EQ(core::PieceOf(*outputs[0])->pool(), Memory(number, memory));
    EXPECT_THAT(Read(outputs[0]), ElementsAre(-1, 2, -3, 4));
    const ValuePtr y = Room(number, memory);
    EXPECT_EQ(RunBound(*session, {x_}, {ToValue(y)})[0].get(), y.get());
    EXPECT_THAT(Read(y), ElementsAre(-1, 2, -3, 4));
  }
}

TEST_F(BindingTest, OutputsGoToTheMemoryOfAnotherPlugin) {
  const auto session = Open(kNeg, OnTwoPlugins({{"claims", "Neg"}}, {{"claims", "Relu"}}));
  const ValuePtr y = Room(2);
  const Values outputs = RunBound(*session, {x_}, {ToValue(y)});
  EXPECT_THAT(Read(y), ElementsAre(-1, 2, -3, 4));
  EXPECT_THAT(Read(RunBound(*session, {y}, {ToMemory(Memory(2, 1))})[0]), ElementsAre(1, -2, 3, -4));
}

TEST_F(BindingTest, WhatTheHostMakesGoesToTheDeviceAndWhatTheDeviceMakesToTheHost) {
  const auto session = Open("g (float[4] x) => (float[4] y, float[4] z) { y = Abs(x) z = Neg(x) }", OnDevice());
  const ValuePtr z = Floats({4}, {77, 77, 77, 77});
  const Values outputs = RunBound(*session, {x_}, {ToMemory(Memory(0)), ToValue(z)});
  EXPECT_TRUE(outputs[0]->IsOnDevice());
  EXPECT_THAT(Read(outputs[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(outputs[1].get(), z.get());
  EXPECT_THAT(FloatsOf(*z), ElementsAre(-1, 2, -3, 4));
  const ValuePtr y = Room();
  RunBound(*session, {x_}, {ToValue(y), {}});
  EXPECT_THAT(Read(y), ElementsAre(1, 2, 3, 4));
}

TEST_F(BindingTest, KernelsThatTakeHostMemoryWriteIntoTheApplications) {
  const auto session = Open(kNeg, OnDevice({{"host_io", "1"}}));
  const ValuePtr y = Floats({4}, {77, 77, 77, 77});
  Values outputs;
  EXPECT_EQ(CopiesOf([&] { outputs = RunBound(*session, {x_}, {ToValue(y)}); }), Copies{});
  EXPECT_EQ(outputs[0].get(), y.get());
  EXPECT_THAT(FloatsOf(*y), ElementsAre(-1, 2, -3, 4));
}

TEST_F(BindingTest, OutputsThatAreNotBoundAreInHostMemory) {
  const auto session = Open("g (float[4] x) => (float[4] y, float[4] z) { y = Relu(x) z = Neg(x) }", OnDevice());
  const Values outputs = RunBound(*session, {x_}, {{}, ToMemory(Memory(0))});
  EXPECT_FALSE(outputs[0]->IsOnDevice());
  EXPECT_TRUE(outputs[1]->IsOnDevice());
  EXPECT_EQ(Read(outputs), (std::vector<std::vector<float>>{{1, 0, 3, 0}, {-1, 2, -3, 4}}));
}

TEST_F(BindingTest, ABoundOutputThatOthersReadIsReadWhereItIs) {
  const auto session = Open(
      "g (float[4] x) => (float[4] y, float[4] z, float[4] h) { y = Neg(x) z = Mul(y, y) h = Abs(y) }", OnDevice());
  const ValuePtr y = Room();
  const ValuePtr z = Room();
  Values outputs;
  EXPECT_EQ(CopiesOf([&] {
              outputs = RunBound(*session, {InMemory(x_)}, {ToValue(y), ToValue(z), {}});
            }).bytes,
            uint64_t{16 + 16})
      << "x there, outside of the run, and y for the host";
  EXPECT_THAT(Read(y), ElementsAre(-1, 2, -3, 4));
  EXPECT_THAT(Read(z), ElementsAre(1, 4, 9, 16));
  EXPECT_THAT(Read(outputs[2]), ElementsAre(1, 2, 3, 4));
}

TEST_F(BindingTest, OutputsOfBranchesAndLoopsReachWhatIsBound) {
  const auto session = Open(R"(g (int64 n, bool c, float[4] x) => (float[4] y, float[N, 4] all) {
    y, all = Loop <body = step (int64 i, bool go, float[4] v) => (bool on, float[4] w, float[4] kept) {
      on = Identity(go)
      w = Neg(v)
      kept = Relu(w)
    }> (n, c, x)
  })",
                            OnDevice());
  const ValuePtr y = Room();
  const Values inputs = {Int64s({}, {3}), Bools({}, {true}), x_};
  const Values outputs = RunBound(*session, inputs, {ToValue(y), ToMemory(Memory(0))});
  EXPECT_EQ(outputs[0].get(), y.get());
  EXPECT_THAT(Read(y), ElementsAre(-1, 2, -3, 4));
  EXPECT_TRUE(outputs[1]->IsOnDevice());
  EXPECT_THAT(Read(outputs[1]), ElementsAre(0, 2, 0, 4, 1, 0, 3, 0, 0, 2, 0, 4));
}

TEST_F(BindingTest, AnInputThatIsAnOutputIsCopiedToWhereThatIsBound) {
  const auto session = Open("g (float[4] x) => (float[4] x, float[4] y) { y = Neg(x) }", OnDevice());
  for (const ValuePtr& x : {x_, InMemory(x_)}) {
    for (const ValuePtr& same : {Room(), Floats({4}, {77, 77, 77, 77}), x}) {
      const Values outputs = RunBound(*session, {x}, {ToValue(same), ToMemory(Memory(0))});
      EXPECT_EQ(outputs[0].get(), same.get());
      EXPECT_THAT(Read(same), ElementsAre(1, -2, 3, -4));
      EXPECT_THAT(Read(outputs[1]), ElementsAre(-1, 2, -3, 4));
    }
  }
}

TEST_F(BindingTest, OneValueAsTwoOutputsInMemoryIsTwoValues) {
  const auto session = Open(
      "g (float[4] x) => (float[4] y, float[4] z, float[4] w) <float[4] w = {5, 6, 7, 8}> { y = Neg(x) z = Identity(y) "
      "}",
      OnDevice());
  Values outputs = RunBound(*session, {x_}, {ToMemory(Memory(0)), ToMemory(Memory(0)), ToMemory(Memory(0))});
  core::CopyValue(*Floats({4}, {77, 77, 77, 77}), *outputs[0], environment_->devices());
  core::CopyValue(*Floats({4}, {77, 77, 77, 77}), *outputs[2], environment_->devices());
  EXPECT_THAT(Read(outputs[1]), ElementsAre(-1, 2, -3, 4));
  outputs = RunBound(*session, {x_}, {{}, {}, ToMemory(Memory(0))});
  EXPECT_THAT(Read(outputs[2]), ElementsAre(5, 6, 7, 8));
  std::fill_n(static_cast<float*>(outputs[0]->mutable_data()), 4, 77.0f);
  EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(-1, 2, -3, 4));
}

TEST_F(BindingTest, AnInputThatWasLeftOutCantBeWrittenToWhatItsOutputIsBoundTo) {
  const auto session = Open("g (float[4] x, o) => (o, float[4] y) { y = Neg(x) }", OnDevice());
  for (const OutputBinding& binding : {ToValue(Room()), ToMemory(Memory(0))}) {
    EXPECT_THAT(FailureOf([&] {
                  RunBound(*session, {x_, nullptr}, {binding, {}});
                }),
                AllOf(StartsWith("INVALID_ARGUMENT: output 'o'"), HasSubstr("left out")));
  }
  EXPECT_EQ(RunBound(*session, {x_, nullptr}, {{}, ToMemory(Memory(0))})[0].get(), nullptr);
}

TEST_F(BindingTest, TensorsWithoutElementsCanBeBound) {
  const auto session = Open("g (float[N] x) => (float[N] y) { y = Neg(x) }", OnDevice());
  const ValuePtr none = InMemory(Floats({0}, {}));
  Values outputs;
  EXPECT_EQ(CopiesOf([&] { outputs = RunBound(*session, {none}, {ToValue(none)}); }), Copies{});
  EXPECT_EQ(outputs[0].get(), none.get());
  EXPECT_EQ(RunBound(*session, {none}, {ToMemory(Memory(0))})[0]->element_count(), 0u);
}

// --- outputs bound to an input of the same run

TEST_F(BindingTest, ACacheOfKeysAndValuesStaysInPlaceForAThousandSteps) {
  const auto session = Open(R"(g (float[1,1,1000,2] past, float[1,1,1,2] new, int64[1] at) =>
      (float[1,1,1000,2] present) { present = TensorScatter(past, new, at) })",
                            OnDevice());
  const ValuePtr cache = InMemory(Floats({1, 1, 1000, 2}, std::vector<float>(2000, 0)));
  const uint64_t allocations = control_.allocations;
  core::BindingNumbers numbers;
  const Copies copies = CopiesOf([&] {
    for (int64_t step = 0; step < 1000; ++step) {
      const auto number = static_cast<float>(step);
      const Values outputs = RunBound(*session, {cache, Floats({1, 1, 1, 2}, {number, -number}), Int64s({1}, {step})},
                                      {ToValue(cache)}, &numbers);
      ASSERT_EQ(outputs[0].get(), cache.get());
    }
  });
  EXPECT_EQ(copies, Copies{});
  EXPECT_EQ(control_.allocations, allocations);
  EXPECT_EQ(control_.executes, 1000u);
  EXPECT_EQ(control_.bindings_broken, 0u);
  const std::vector<float> content = Read(cache);
  for (size_t step = 0; step < 1000; ++step) {
    ASSERT_EQ(content[2 * step], static_cast<float>(step));
    ASSERT_EQ(content[2 * step + 1], -static_cast<float>(step));
  }
}

TEST_F(BindingTest, ACacheInPlaceIsReadByWhatComesAfterIt) {
  const auto session = Open(R"(g (float[1,1,4,1] past, float[1,1,1,1] new, int64[1] at) =>
      (float[1,1,4,1] present, float[1,1,4,1] y) {
    fresh = Neg(new)
    present = TensorScatter(past, fresh, at)
    y = Mul(present, present)
  })",
                            OnDevice());
  const ValuePtr cache = InMemory(Floats({1, 1, 4, 1}, {0, 0, 0, 0}));
  for (int64_t step = 0; step < 4; ++step) {
    Values outputs;
    const Copies copies = CopiesOf([&] {
      outputs = RunBound(*session, {cache, Floats({1, 1, 1, 1}, {static_cast<float>(step + 1)}), Int64s({1}, {step})},
                         {ToValue(cache), {}});
    });
    EXPECT_EQ(copies.bytes, 4u + 16u) << "the new key there, y back";
    const std::vector<float> content = Read(cache);
    for (size_t i = 0; i < 4; ++i) {
      const float expected = static_cast<int64_t>(i) <= step ? -static_cast<float>(i + 1) : 0;
      EXPECT_EQ(content[i], expected);
      EXPECT_EQ(FloatsOf(*outputs[1])[i], expected * expected);
    }
  }
}

TEST_F(BindingTest, WithoutAnAliasAnInputIsOverwrittenOnlyWhenAllIsDone) {
  for (const char* memory : {"arena", "shared", "host"}) {
    const auto session =
        Open("g (float[4] x, float[4] w) => (float[4] y) { y = Sub(w, x) }", OnDevice({{"memory", memory}}));
    const ValuePtr w = Floats({4}, {1, 1, 1, 1});
    for (const ValuePtr& x : {InMemory(x_), InMemory(x_, 0, 1), Floats({4}, {1, -2, 3, -4})}) {
      for (int run = 0; run < 5; ++run) EXPECT_EQ(RunBound(*session, {x, w}, {ToValue(x)})[0].get(), x.get());
      EXPECT_THAT(Read(x), ElementsAre(0, 3, -2, 5));
    }
  }
}

TEST_F(BindingTest, WhatAnotherKernelReadsIsNotOverwrittenBefore) {
  for (const char* aliases : {"0", "1"}) {
    for (const SessionOptions& options : {OnDevice({{"aliases", aliases}}), OnTwoDevices("Mul", {{"aliases", aliases}}),
                                          OnTwoPlugins({{"claims", "Neg"}, {"aliases", aliases}}, {{"claims", "Mul"}}),
                                          OnDevice({{"aliases", aliases}, {"claims", "Neg"}})}) {
      const auto session = Open("g (float[4] x) => (float[4] y, float[4] z) { y = Neg(x) z = Mul(x, x) }", options);
      const ValuePtr x = InMemory(x_);
      const Values outputs = RunBound(*session, {x}, {ToValue(x), {}});
      EXPECT_THAT(Read(x), ElementsAre(-1, 2, -3, 4));
      EXPECT_THAT(Read(outputs[1]), ElementsAre(1, 4, 9, 16));
    }
  }
}

TEST_F(BindingTest, AliasIsWrittenInPlaceWhenItHasNoOtherReader) {
  const auto session = Open(kNeg, OnDevice({{"aliases", "1"}}));
  const ValuePtr x = InMemory(x_);
  const uint64_t allocations = control_.allocations;
  EXPECT_EQ(CopiesOf([&] {
              for (int run = 0; run < 3; ++run) RunBound(*session, {x}, {ToValue(x)});
            }),
            Copies{});
  EXPECT_EQ(control_.allocations, allocations);
  EXPECT_THAT(Read(x), ElementsAre(-1, 2, -3, 4));
}

TEST_F(BindingTest, AnAliasIsNotUsedWhereTheInputIsReadTwiceByTheKernel) {
  // The output may be written over the first input, but the second input is the same value.
  const auto session = Open("g (float[4] x) => (float[4] y) { y = Add(x, x) }", OnDevice({{"aliases", "1"}}));
  const ValuePtr x = InMemory(x_);
  for (int run = 0; run < 3; ++run) RunBound(*session, {x}, {ToValue(x)});
  EXPECT_THAT(Read(x), ElementsAre(8, -16, 24, -32));
}

TEST_F(BindingTest, AliasesInsideOfARunNeverChangeWhatTheApplicationGave) {
  const auto session = Open("g (float[4] x) => (float[4] y) { a = Neg(x) y = Relu(a) }", OnDevice({{"aliases", "1"}}));
  const ValuePtr x = InMemory(x_);
  EXPECT_THAT(FloatsOf(*session->Run(Values{x})[0]), ElementsAre(0, 2, 0, 4));
  EXPECT_THAT(Read(x), ElementsAre(1, -2, 3, -4));
}

TEST_F(BindingTest, TwoOutputsThatChangePlacesWithTheirInputsAreBothRight) {
  for (const char* aliases : {"0", "1"}) {
    const auto session = Open("g (float[4] p, float[4] q) => (float[4] y, float[4] z) { y = Neg(p) z = Relu(q) }",
                              OnDevice({{"aliases", aliases}}));
    const ValuePtr p = InMemory(x_);
    const ValuePtr q = InMemory(Floats({4}, {10, -20, 30, -40}));
    RunBound(*session, {p, q}, {ToValue(q), ToValue(p)});
    EXPECT_THAT(Read(q), ElementsAre(-1, 2, -3, 4));
    EXPECT_THAT(Read(p), ElementsAre(10, 0, 30, 0));
  }
}

// --- on the CPU

TEST_F(BindingTest, TheCpuWritesWhereItIsBoundAndNeedsNoOtherMemoryForIt) {
  SessionOptions options = OptionsFor({"cpu"});
  options.Set("session.max_run_bytes", "2000");
  const auto session = Open("g (float[N] x) => (float[N] y) { y = Neg(x) }", options);
  const Values inputs = {Floats({1000}, std::vector<float>(1000, 3))};
  EXPECT_THAT(FailureOf([&] { session->Run(inputs); }), HasSubstr("session.max_run_bytes"));
  const ValuePtr y = Floats({1000}, std::vector<float>(1000, 77));
  EXPECT_EQ(RunBound(*session, inputs, {ToValue(y)})[0].get(), y.get());
  EXPECT_EQ(FloatsOf(*y), std::vector<float>(1000, -3));
}

TEST_F(BindingTest, OnTheCpuAnInputCanBeBoundToo) {
  const auto session = Open("g (float[4] x, float[4] w) => (float[4] y, float[4] z) { y = Sub(w, x) z = Mul(x, x) }",
                            OptionsFor({"cpu"}));
  const ValuePtr x = Floats({4}, {1, -2, 3, -4});
  const Values outputs = RunBound(*session, {x, Floats({4}, {1, 1, 1, 1})}, {ToValue(x), {}});
  EXPECT_THAT(FloatsOf(*x), ElementsAre(0, 3, -2, 5));
  EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(1, 4, 9, 16));
}

TEST_F(BindingTest, MemoryThatOverlapsAnInputIsWrittenWhenAllIsDone) {
  // The output begins one element behind the input.
  for (const SessionOptions& options : {OptionsFor({"cpu"}), OnDevice({{"host_io", "1"}}), OnDevice()}) {
    const auto session = Open(kNeg, options);
    std::vector<float> memory = {1, -2, 3, -4, 77};
    const std::vector<int64_t> dims = {4};
    const ValuePtr x = Value::Wrap(DataType::kFloat, dims, memory.data(), 16, nullptr);
    const ValuePtr y = Value::Wrap(DataType::kFloat, dims, memory.data() + 1, 16, nullptr);
    RunBound(*session, {x}, {ToValue(y)});
    EXPECT_THAT(memory, ElementsAre(1, -1, 2, -3, 4));
  }
}

// --- bindings that are refused

TEST_F(BindingTest, TwoOutputsCanNotHaveTheSameMemory) {
  for (const SessionOptions& options : {OnDevice(), OptionsFor({"cpu"})}) {
    const auto session = Open("g (float[4] x) => (float[4] y, float[4] z) { y = Neg(x) z = Relu(x) }", options);
    const ValuePtr same = options.providers[0].name == "cpu" ? Floats({4}, {7, 7, 7, 7}) : Room();
    EXPECT_THAT(FailureOf([&] {
                  RunBound(*session, {x_}, {ToValue(same), ToValue(same)});
                }),
                AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("'y'"), HasSubstr("'z'"), HasSubstr("same memory")));
    EXPECT_THAT(Read(RunBound(*session, {x_}, {ToValue(same), {}})[0]), ElementsAre(-1, 2, -3, 4));
  }
}

TEST_F(BindingTest, WhatIsBoundHasTheTypeAndShapeOfTheOutput) {
  for (const SessionOptions& options : {OnDevice(), OptionsFor({"cpu"})}) {
    const auto session = Open("g (float[N] x) => (float[N] y) { y = Neg(x) }", options);
    const bool on_cpu = options.providers[0].name == "cpu";
    const auto room = [&](ValuePtr value) { return on_cpu ? value : InMemory(value); };
    const auto failure = [&](ValuePtr bound) {
      return FailureOf([&] { RunBound(*session, {x_}, {ToValue(room(std::move(bound)))}); });
    };
    for (const auto& wrong : {Floats({3}, {7, 7, 7}), Floats({2, 2}, {7, 7, 7, 7}), Floats({5}, {7, 7, 7, 7, 7})}) {
      EXPECT_THAT(failure(wrong), AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("output 'y'")));
    }
    EXPECT_THAT(failure(Int64s({4}, {7, 7, 7, 7})), AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("output 'y'")));
    EXPECT_EQ(failure(Floats({4}, {7, 7, 7, 7})), "OK");
  }
}

TEST_F(BindingTest, MemoryOfADeviceThatTheSessionDoesNotUseCanNotBeBound) {
  const auto device = Open(kNeg, OnDevice());
  const auto cpu = Open(kNeg, OptionsFor({"cpu"}));
  for (Session* session : {device.get(), cpu.get()}) {
    EXPECT_THAT(
        FailureOf([&] { RunBound(*session, {x_}, {ToMemory(Memory(2))}); }),
        AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("'y'"), HasSubstr("'arena' of test_device_b device 0")));
    EXPECT_THAT(
        FailureOf([&] { RunBound(*session, {x_}, {ToValue(Room(2))}); }),
        AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("'y'"), HasSubstr("'arena' of test_device_b device 0")));
    EXPECT_THAT(FailureOf([&] { RunBound(*session, {x_}, {ToValue(Room(1))}); }), StartsWith("INVALID_ARGUMENT"))
        << "the plugin's other device";
  }
}

TEST_F(BindingTest, StringsAreInHostMemory) {
  const auto session = Open(R"(g (float[4] x, string[1] t) => (string[1] u, float[4] y) {
    y = Neg(x)
    u = StringConcat(t, t)
  })",
                            OnDevice());
  const std::vector<int64_t> one = {1};
  const Values inputs = {x_, Value::Strings(one, {"ab"})};
  const auto failure = [&](std::vector<OutputBinding> outputs) {
    return FailureOf([&] { RunBound(*session, inputs, std::move(outputs)); });
  };
  EXPECT_THAT(failure({ToMemory(Memory(0)), {}}), AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("'u'")));
  EXPECT_THAT(failure({ToValue(inputs[1]), {}}), AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("'u'")));
  EXPECT_THAT(failure({ToValue(Room()), {}}), AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("'u'")));
  EXPECT_EQ(failure({{}, ToMemory(Memory(0))}), "OK");
}

TEST_F(BindingTest, ThereIsABindingForEachOutput) {
  const auto session = Open(kNeg, OnDevice());
  EXPECT_THAT(FailureOf([&] { RunBound(*session, {x_}, {{}, {}}); }), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(FailureOf([&] { RunBound(*session, {x_}, {}); }), StartsWith("INVALID_ARGUMENT"));
}

TEST_F(BindingTest, AFailedRunLeavesTheBoundValueUsable) {
  const auto session = Open(kNeg, OnDevice());
  const ValuePtr y = Room();
  control_.fail_in[0] = 1;
  EXPECT_THAT(FailureOf([&] { RunBound(*session, {x_}, {ToValue(y)}); }), StartsWith("EP_FAIL"));
  RunBound(*session, {x_}, {ToValue(y)});
  EXPECT_THAT(Read(y), ElementsAre(-1, 2, -3, 4));
}

// --- numbers of bindings

TEST_F(BindingTest, ANumberStaysAsLongAsAddressesAndShapesDo) {
  core::BindingNumbers numbers;
  const uint64_t first = numbers.Of(0, {1, 2, 3});
  EXPECT_NE(first, 0u);
  EXPECT_EQ(numbers.Of(0, {1, 2, 3}), first);
  const uint64_t other_step = numbers.Of(5, {1, 2, 3});
  EXPECT_NE(other_step, 0u);
  EXPECT_EQ(numbers.Of(0, {1, 2, 3}), first) << "steps have numbers of their own";
  const uint64_t second = numbers.Of(0, {1, 2, 4});
  EXPECT_NE(second, 0u);
  EXPECT_NE(second, first);
  EXPECT_EQ(numbers.Of(0, {1, 2, 4}), second);
  EXPECT_NE(numbers.Of(0, {1, 2}), second);
  core::BindingNumbers others;
  const std::set<uint64_t> theirs = {others.Of(0, {1, 2, 3}), others.Of(0, {1, 2, 4})};
  EXPECT_EQ(theirs.count(first) + theirs.count(second), 0u) << "a number is of one binding";
}

TEST_F(BindingTest, KernelsGetANumberWhenTheyHaveTheSameMemoryInEachRun) {
  const auto session = Open("g (float[N] x) => (float[N] y) { y = Neg(x) }", OnDevice());
  const ValuePtr x = InMemory(x_);
  const ValuePtr y = Room();
  core::BindingNumbers numbers;
  for (int run = 0; run < 5; ++run) RunBound(*session, {x}, {ToValue(y)}, &numbers);
  EXPECT_EQ(control_.bindings_seen, 5u);
  // Other memory, another shape, and the first binding again.
  RunBound(*session, {InMemory(Floats({4}, {5, 6, 7, 8}))}, {ToValue(y)}, &numbers);
  EXPECT_THAT(Read(y), ElementsAre(-5, -6, -7, -8));
  RunBound(*session, {InMemory(Floats({2}, {5, 6}))}, {ToValue(InMemory(Floats({2}, {7, 7})))}, &numbers);
  RunBound(*session, {x}, {ToValue(y)}, &numbers);
  EXPECT_THAT(Read(y), ElementsAre(-1, 2, -3, 4));
  EXPECT_EQ(control_.bindings_seen, 8u);
  EXPECT_EQ(control_.bindings_broken, 0u);
}

TEST_F(BindingTest, RunsWithoutABindingHaveNoNumber) {
  const auto session = Open(kNeg, OnDevice());
  session->Run(Values{InMemory(x_)});
  RunBound(*session, {InMemory(x_)}, {ToValue(Room())});
  EXPECT_EQ(control_.bindings_seen, 0u);
}

TEST_F(BindingTest, WhatMovesFromRunToRunHasNoNumberThatStays) {
  const auto session = Open("g (float[N] x) => (float[N] y) { a = Relu(x) b = Mul(a, a) y = Neg(b) }", OnDevice());
  core::BindingNumbers numbers;
  for (const int64_t size : {4, 4, 300, 4, 5000, 4}) {
    const ValuePtr x = Floats({size}, std::vector<float>(static_cast<size_t>(size), 2));
    const ValuePtr y = InMemory(x);
    RunBound(*session, {x}, {ToValue(y)}, &numbers);
    EXPECT_EQ(Read(y), std::vector<float>(static_cast<size_t>(size), -4));
  }
  EXPECT_EQ(control_.bindings_broken, 0u);
}

TEST_F(BindingTest, EightThreadsWithBindingsOfTheirOwn) {
  const auto session =
      Open("g (float[N] x, float[N] w) => (float[N] y) { a = Add(x, w) y = Neg(a) }", OnDevice({{"aliases", "1"}}));
  const ValuePtr w = InMemory(Floats({4}, {1, 1, 1, 1}));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      const auto number = static_cast<float>(thread);
      const ValuePtr x = InMemory(Floats({4}, {number, number, number, number}));
      core::BindingNumbers numbers;
      // Each run computes x = -(x + 1), so after an even number of runs x has its first value again.
      for (int run = 0; run < 30; ++run) RunBound(*session, {x, w}, {ToValue(x)}, &numbers);
      if (Read(x) != std::vector<float>(4, number)) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(control_.bindings_broken, 0u);
}

}  // namespace
}  // namespace epiphyte::test
