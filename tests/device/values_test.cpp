// Values in device memory between runs: shared by sessions, outliving the objects that made them, and imported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/device/device_fixture.h"

namespace epiphyte::test {
namespace {

using core::DataType;
using core::DeviceAllocation;
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

constexpr std::string_view kNeg = "g (float[4] x) => (float[4] y) { y = Neg(x) }";

class ValuesTest : public DeviceTest {
 protected:
  // Runs the session and returns its first output as a new value in that memory.
  static ValuePtr RunTo(const std::shared_ptr<core::DeviceMemory>& memory, Session& session, const Values& inputs) {
    RunBindings bindings;
    bindings.outputs.resize(session.outputs().size());
    bindings.outputs[0].memory = memory;
    RunSettings settings;
    settings.bindings = &bindings;
    return session.Run(inputs, settings).at(0);
  }

  const ValuePtr x_ = Floats({4}, {1, -2, 3, -4});
};

TEST_F(ValuesTest, ASessionReadsWhatAnotherMadeWithoutACopy) {
  const auto first = Open(kNeg, OnDevice());
  const auto second = Open("g (float[4] x) => (float[4] y) { y = Mul(x, x) }", OnDevice());
  const ValuePtr made = RunTo(Memory(0), *first, {x_});
  ValuePtr result;
  EXPECT_EQ(CopiesOf([&] { result = RunTo(Memory(0), *second, {made}); }), Copies{});
  EXPECT_THAT(Read(result), ElementsAre(1, 4, 9, 16));
  EXPECT_THAT(Read(made), ElementsAre(-1, 2, -3, 4));
}

TEST_F(ValuesTest, AValueOnTheOtherDeviceIsCopiedThereDirectly) {
  const auto session = Open("g (float[4] x) => (float[4] y) { a = Relu(x) y = Neg(a) }", OnTwoDevices("Neg"));
  const ValuePtr x = InMemory(x_, 1);
  EXPECT_EQ(CopiesOf([&] { EXPECT_THAT(FloatsOf(*session->Run(Values{x})[0]), ElementsAre(-1, 0, -3, 0)); }),
            (Copies{.ends = 3, .bytes = 48, .calls = 3}));
}

TEST_F(ValuesTest, AValueOfTheOtherPluginGoesThroughTheHost) {
  const auto session = Open("g (float[4] x) => (float[4] y) { a = Relu(x) y = Neg(a) }",
                            OnTwoPlugins({{"claims", "Relu"}}, {{"claims", "Neg"}}));
  EXPECT_THAT(FloatsOf(*session->Run(Values{InMemory(x_, 2)})[0]), ElementsAre(-1, 0, -3, 0));
  EXPECT_THAT(FloatsOf(*session->Run(Values{InMemory(x_, 2, 1)})[0]), ElementsAre(-1, 0, -3, 0));
}

TEST_F(ValuesTest, HostKernelsAndBodiesReadValuesOnTheDevice) {
  constexpr std::string_view kGraph = R"(g (bool c, float[4] x) => (float[4] y, float[4] z) {
    y = Abs(x)
    z = If (c) <then_branch = t () => (float[4] a) { a = Neg(x) }, else_branch = e () => (float[4] b) { b = Exp(x) }>
  })";
  const auto session = Open(kGraph, OnDevice());
  const Values outputs = session->Run(Values{Bools({}, {true}), InMemory(x_)});
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(-1, 2, -3, 4));
}

TEST_F(ValuesTest, SessionWithoutANodeOnTheDeviceReadsItsMemories) {
  const auto session = Open("g (float[4] x) => (float[4] y) { y = Abs(x) }", OnDevice());
  EXPECT_THAT(FloatsOf(*session->Run(Values{InMemory(x_)})[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(control_.executes, 0u);
  EXPECT_THAT(Read(RunTo(Memory(0), *session, {x_})), ElementsAre(1, 2, 3, 4));
}

TEST_F(ValuesTest, AValueThatIsInputAndOutputStaysWhereItIs) {
  const auto session = Open("g (float[4] x) => (float[4] x, float[4] y) { y = Neg(x) }", OnDevice());
  const ValuePtr x = InMemory(x_);
  const Values outputs = session->Run(Values{x});
  EXPECT_FALSE(outputs[0]->IsOnDevice()) << "nothing is bound";
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(1, -2, 3, -4));
  EXPECT_EQ(RunTo(Memory(0), *session, {x}).get(), x.get());
}

TEST_F(ValuesTest, MemoryOfADeviceThatTheSessionDoesNotUseIsRefused) {
  const ValuePtr other_plugin = InMemory(x_, 2);
  const ValuePtr other_device = InMemory(x_, 1);
  const auto device = Open(kNeg, OnDevice());
  const auto cpu = Open(kNeg, OptionsFor({"cpu"}));
  for (Session* session : {device.get(), cpu.get()}) {
    EXPECT_THAT(FailureOf([&] { session->Run(Values{other_plugin}); }),
                AllOf(StartsWith("INVALID_ARGUMENT: input 'x'"), HasSubstr("'arena' of test_device_b device 0")));
    EXPECT_THAT(FailureOf([&] { session->Run(Values{other_device}); }),
                AllOf(StartsWith("INVALID_ARGUMENT: input 'x'"), HasSubstr("'arena' of test_device device 1")));
    EXPECT_THAT(FloatsOf(*session->Run(Values{x_})[0]), ElementsAre(-1, 2, -3, 4));
  }
}

TEST_F(ValuesTest, TypeAndShapeAreCheckedWhereverAValueIs) {
  const auto session = Open(kNeg, OnDevice());
  EXPECT_EQ(FailureOf([&] {
              session->Run(Values{InMemory(Floats({3}, {1, 2, 3}))});
            }),
            "INVALID_ARGUMENT: input 'x' has shape [3], the model expects tensor(float)[4]");
  EXPECT_EQ(FailureOf([&] {
              session->Run(Values{InMemory(Int64s({4}, {1, 2, 3, 4}))});
            }),
            "INVALID_ARGUMENT: input 'x' is of int64, the model expects tensor(float)[4]");
}

TEST_F(ValuesTest, ManyThreadsReadOneValue) {
  const auto session = Open(kNeg, OnDevice({{"aliases", "1"}}));
  const ValuePtr x = InMemory(x_);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      for (int run = 0; run < 30; ++run) {
        if (FloatsOf(*session->Run(Values{x})[0]) != std::vector<float>{-1, 2, -3, 4}) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_THAT(Read(x), ElementsAre(1, -2, 3, -4));
}

// --- lifetime

TEST_F(ValuesTest, AValueOutlivesItsSessionAndItsEnvironment) {
  auto session = Open(kNeg, OnDevice());
  ValuePtr made = RunTo(Memory(0), *session, {x_});
  session = nullptr;
  EXPECT_THAT(Read(made), ElementsAre(-1, 2, -3, 4));
  const std::weak_ptr<core::Environment> environment = environment_;
  environment_ = nullptr;
  ASSERT_FALSE(environment.expired()) << "the value keeps it";
  EXPECT_EQ(control_.live_streams.load() + control_.live_buffers.load() > 0, true);
  EXPECT_THAT(FloatsOf(*core::ToHost(made, environment.lock()->devices())), ElementsAre(-1, 2, -3, 4));
  made = nullptr;
  EXPECT_TRUE(environment.expired());
  EXPECT_EQ(control_.live_buffers, 0);
}

TEST_F(ValuesTest, TheLastValueMayGoOnAnyThread) {
  auto session = Open(kNeg, OnDevice());
  ValuePtr made = RunTo(Memory(0), *session, {x_});
  session = nullptr;
  environment_ = nullptr;
  std::thread([made = std::move(made)]() mutable { made = nullptr; }).join();
  EXPECT_EQ(control_.live_buffers, 0);
}

TEST_F(ValuesTest, OutputsInHostMemoryKeepNothing) {
  const Values outputs = Open(kNeg, OnDevice())->Run(Values{x_});
  environment_ = nullptr;
  EXPECT_EQ(control_.live_buffers, 0);
  EXPECT_EQ(control_.live_streams, 0);
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(-1, 2, -3, 4));
}

TEST_F(ValuesTest, AValueIsCountedForTheSessionThatMadeItUntilItGoes) {
  const auto session = Open(kNeg, OnDevice());
  const core::SessionMemory& memory = session->memories().at(0);
  EXPECT_EQ(memory.memory, Memory(0)) << "the main one comes first";
  ValuePtr made = RunTo(memory.memory, *session, {x_});
  EXPECT_GE(memory.account->used(), 16u);
  EXPECT_GE(memory.memory->use().value_bytes, 16u);
  made = nullptr;
  EXPECT_EQ(memory.account->used(), 0u);
  EXPECT_EQ(memory.memory->use().value_bytes, 0u);
}

TEST_F(ValuesTest, SessionListsTheMemoriesOfItsDevices) {
  const auto names = [](const Session& session) {
    std::vector<std::string> names;
    for (const core::SessionMemory& memory : session.memories()) {
      names.push_back(
          fmt::format("{} {} {}", memory.memory->plugin().name, memory.memory->device(), memory.memory->name()));
    }
    return names;
  };
  EXPECT_THAT(names(*Open(kNeg, OnDevice())), ElementsAre("test_device 0 arena", "test_device 0 shared"));
  EXPECT_THAT(names(*Open(kNeg, OnDevice({{"device", "1"}}))),
              ElementsAre("test_device 1 arena", "test_device 1 shared"));
  EXPECT_THAT(names(*Open(kNeg, OnTwoPlugins({{"device", "1,0"}}, {}))),
              ElementsAre("test_device 1 arena", "test_device 1 shared", "test_device 0 arena", "test_device 0 shared",
                          "test_device_b 0 arena", "test_device_b 0 shared"));
  EXPECT_TRUE(Open(kNeg, OptionsFor({"cpu"}))->memories().empty());
}

// --- imported memory

TEST_F(ValuesTest, AKernelReadsTheApplicationsMemoryWhereItWasImported) {
  alignas(4096) static float numbers[1024];
  std::fill(std::begin(numbers), std::end(numbers), 3.0f);
  auto released = std::make_shared<int>(0);
  const std::weak_ptr<int> is_kept = released;
  EpExternalMemory external = {};
  external.struct_size = sizeof external;
  external.type = EP_HANDLE_HOST_POINTER;
  external.pointer = numbers;
  external.size = sizeof numbers;
  const std::vector<int64_t> dims = {1024};
  ValuePtr x = Value::OnDevice(DataType::kFloat, dims, Memory(0, 1)->Import(external, std::move(released)));
  const auto session = Open("g (float[N] x) => (float[N] y) { y = Neg(x) }", OnDevice({{"memory", "shared"}}));
  ValuePtr y;
  EXPECT_EQ(CopiesOf([&] { y = RunTo(Memory(0, 1), *session, {x}); }), Copies{});
  EXPECT_EQ(Read(y), std::vector<float>(1024, -3));
  x = nullptr;
  EXPECT_TRUE(is_kept.expired()) << "memory is released with the last value in it";
  EXPECT_EQ(control_.imports, 1u);
}

TEST_F(ValuesTest, ADescriptorTakesAValueToAnotherPluginWithoutACopy) {
  const auto first = Open("g (float[N] x) => (float[N] y) { y = Neg(x) }", OnDevice());
  const auto second =
      Open("g (float[N] x) => (float[N] y) { y = Mul(x, x) }", OnTwoPlugins({{"claims", "Neg"}}, {{"claims", "Mul"}}));
  constexpr int64_t kCount = int64_t{1} << 19;  // large values have a buffer of their own
  const ValuePtr made =
      RunTo(Memory(0), *first, {Floats({kCount}, std::vector<float>(static_cast<size_t>(kCount), 2))});
  EpExternalMemory external = Memory(0)->Export(*core::PieceOf(*made), EP_HANDLE_OPAQUE_FD);
  const std::vector<int64_t> dims = {kCount};
  const ValuePtr seen = Value::OnDevice(DataType::kFloat, dims, Memory(2)->Import(external, nullptr));
  EXPECT_EQ(close(static_cast<int>(external.handle)), 0) << "the descriptor is the caller's";
  ValuePtr result;
  EXPECT_EQ(CopiesOf([&] { result = RunTo(Memory(2), *second, {seen}); }), Copies{});
  EXPECT_EQ(Read(result), std::vector<float>(static_cast<size_t>(kCount), 4));
}

}  // namespace
}  // namespace epiphyte::test
