// Bindings: bound values are read and written in place, in device memory and in host memory.
#include <algorithm>
#include <functional>
#include <thread>

#include "tests/host/device_values.h"

namespace epiphyte {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DeviceBinding : public DeviceValues {};

std::string InvalidArgument(const std::function<void()>& call) {
  const Error error = ErrorOf(call);
  EXPECT_EQ(error.code(), StatusCode::kInvalidArgument) << error.what();
  return error.what();
}

TEST_F(DeviceBinding, AnOutputIsANewValueInTheMemoryInEachRun) {
  const Session session = Open(test::ChainModel({"Neg"}), OnDevice());
  const Memory arena = session.MemoryOf("test_device");
  IoBinding binding(session);
  binding.BindInput("x", Floats({1, 2}, {2}).CopyTo(arena));
  binding.BindOutput("y", arena);
  Value first;
  EXPECT_EQ(BytesCopied([&] {
              binding.Run();
              first = binding.Output("y");
              binding.Run();
            }),
            0u);
  EXPECT_EQ(first.memory(), arena);
  const Value second = binding.Output("y");
  binding.BindInput("x", Floats({5, 6}, {2}).CopyTo(arena));
  binding.Run();
  EXPECT_THAT(Read(first), ElementsAre(-1, -2));
  EXPECT_THAT(Read(second), ElementsAre(-1, -2));
  EXPECT_THAT(Read(binding.Output("y")), ElementsAre(-5, -6));
  binding.BindOutput("y", Memory());
  binding.Run();
  EXPECT_FALSE(binding.Output("y").memory()) << "the binding was taken back";
}

TEST_F(DeviceBinding, AnOutputGoesToAnyMemoryOfTheSession) {
  const Session session = Open(test::ChainModel({"Neg", "Relu"}), OnDevice());
  for (const Memory& memory : session.memories()) {
    IoBinding binding(session);
    binding.BindInput("x", Floats({-1, 2}, {2}));
    binding.BindOutput("y", memory);
    binding.Run();
    EXPECT_EQ(binding.Output("y").memory(), memory);
    EXPECT_THAT(Read(binding.Output("y")), ElementsAre(1, 0));
  }
}

TEST_F(DeviceBinding, AHostKernelsOutputGoesThereToo) {
  // The device does not support Abs.
  const Session session = Open(test::ChainModel({"Neg", "Abs"}), OnDevice());
  IoBinding binding(session);
  binding.BindInput("x", Floats({-1, 2}, {2}));
  binding.BindOutput("y", session.MemoryOf("test_device"));
  binding.Run();
  EXPECT_TRUE(binding.Output("y").memory());
  EXPECT_THAT(Read(binding.Output("y")), ElementsAre(1, 2));
}

TEST_F(DeviceBinding, ABoundTensorIsWrittenWhereItIs) {
  const Session session = Open(test::AddModel(), OnDevice());
  const Memory arena = session.MemoryOf("test_device");
  Value a = Counting({100, 3}).CopyTo(arena);
  const Value c = Value::In(arena, ElementType::kFloat, {100, 3});
  IoBinding binding(session);
  binding.BindInput("a", a);
  binding.BindInput("b", a);
  binding.BindOutput("c", c);
  for (float by = 1; by < 6; ++by) {
    a.CopyFrom(Value::Copy<float>(std::vector<float>(300, by), {100, 3}));
    EXPECT_EQ(BytesCopied([&] { binding.Run(); }), 0u);
    EXPECT_THAT(Read(c), Each(2 * by)) << "the bound value, whoever has it";
    EXPECT_EQ(Read(binding.Output("c")), Read(c));
  }
  EXPECT_GT(control_.bindings_seen, 0u) << "the same addresses come again";
  EXPECT_EQ(control_.bindings_broken, 0u);
  const Value other = Counting({200, 3}).CopyTo(arena);
  binding.BindInput("a", other);
  binding.BindInput("b", other);
  binding.BindOutput("c", arena);
  binding.Run();
  binding.Run();
  EXPECT_EQ(Read(binding.Output("c"))[599], 1198);
  EXPECT_EQ(control_.bindings_broken, 0u) << "what is bound has changed, and so has the number";
}

TEST_F(DeviceBinding, AKeyValueCacheStaysWhereItIs) {
  constexpr int64_t kSteps = 1000;
  const Session session = Open(test::CacheModel(), OnDevice());
  const Value cache = Value::Copy<float>(std::vector<float>(2 * kSteps * 4, 0), {1, 2, kSteps, 4})
                          .CopyTo(session.MemoryOf("test_device"));
  Value update = Value::Tensor(ElementType::kFloat, {1, 2, 1, 4});
  Value at = Value::Tensor(ElementType::kInt64, {1});
  IoBinding binding(session);
  binding.BindInput("past", cache);
  binding.BindInput("update", update);
  binding.BindInput("at", at);
  binding.BindOutput("present", cache);
  const uint64_t allocations = control_.allocations;
  EXPECT_EQ(BytesCopied([&] {
              for (int64_t step = 0; step < kSteps; ++step) {
                at.MutableData<int64_t>()[0] = step;
                std::ranges::fill(update.MutableData<float>(), static_cast<float>(step + 1));
                binding.Run();
              }
            }),
            0u);
  EXPECT_EQ(control_.allocations, allocations);
  const std::vector<float> found = Read(cache);
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i], static_cast<float>(i / 4 % kSteps + 1)) << "element " << i;
  }
}

TEST_F(DeviceBinding, AKeyValueCacheInHostMemoryIsTheSame) {
  const Session session = Open(test::CacheModel(), SessionOptions().AddProvider("cpu"));
  Value cache = Value::Copy<float>(std::vector<float>(2 * 8 * 4, 0), {1, 2, 8, 4});
  Value at = Value::Tensor(ElementType::kInt64, {1});
  IoBinding binding(session);
  binding.BindInput("past", cache);
  binding.BindInput("update", Counting({1, 2, 1, 4}));
  binding.BindInput("at", at);
  binding.BindOutput("present", cache);
  for (int64_t step = 0; step < 8; ++step) {
    at.MutableData<int64_t>()[0] = step;
    binding.Run();
  }
  EXPECT_EQ(binding.Output("present").data(), cache.data());
  for (size_t i = 0; i < 64; ++i) ASSERT_EQ(cache.Data<float>()[i], static_cast<float>(i / 32 * 4 + i % 4));
}

TEST_F(DeviceBinding, TheMemoryOfADeviceThatTheSessionDoesNotUseIsRefusedAtOnce) {
  const Session session = Open(test::ChainModel({"Neg"}), OnDevice());
  const Value foreign = Value::In(ArenaOfOther(), ElementType::kFloat, {2});
  IoBinding binding(session);
  EXPECT_EQ(InvalidArgument([&] { binding.BindInput("x", foreign); }),
            "input 'x' is in memory 'arena' of test_device_b device 0, which the session doesn't use; use host memory "
            "or one of the session's: 'arena' of test_device device 0, 'shared' of test_device device 0");
  EXPECT_THAT(InvalidArgument([&] { binding.BindOutput("y", foreign); }),
              HasSubstr("output 'y' is bound to memory 'arena' of test_device_b device 0"));
  EXPECT_THAT(InvalidArgument([&] { binding.BindOutput("y", ArenaOfOther()); }), HasSubstr("test_device_b"));
  binding.BindInput("x", Floats({1, 2}, {2}));
  binding.Run();
  EXPECT_THAT(Read(binding.Output("y")), ElementsAre(-1, -2)) << "nothing of it was bound";

  const Session second = Open(test::ChainModel({"Neg"}), OnDevice({{"device", "1"}}));
  IoBinding on_second(second);
  EXPECT_THAT(InvalidArgument([&] { on_second.BindOutput("y", session.MemoryOf("test_device")); }),
              AllOf(HasSubstr("device 0, which"), HasSubstr("'arena' of test_device device 1")));
  const Session cpu = Open(test::ChainModel({"Neg"}), SessionOptions().AddProvider("cpu"));
  IoBinding on_host(cpu);
  EXPECT_THAT(InvalidArgument([&] { on_host.BindInput("x", foreign); }), HasSubstr("no provider of the session"));
  const Error run = ErrorOf([&] { cpu.Run({{"x", foreign}}); });
  EXPECT_EQ(run.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(run.what(), AllOf(HasSubstr("'x'"), HasSubstr("'arena' of test_device_b device 0")));
}

TEST_F(DeviceBinding, AnOutputOfAnotherTypeOrShapeIsRefused) {
  for (const SessionOptions& options : {OnDevice(), SessionOptions().AddProvider("cpu")}) {
    const Session session = Open(test::AddModel(), options);
    IoBinding binding(session);
    binding.BindInput("a", Counting({1, 3}));
    binding.BindInput("b", Counting({1, 3}));
    std::vector<Memory> memories = session.memories();
    memories.emplace_back();
    for (const Memory& memory : memories) {
      binding.BindOutput("c", Value::In(memory, ElementType::kFloat, {3, 1}));
      EXPECT_EQ(
          InvalidArgument([&] { binding.Run(); }),
          "output 'c' is float[1,3], but float[3,1] is bound to it; bind a tensor of the output's type and shape");
      binding.BindOutput("c", Value::In(memory, ElementType::kDouble, {1, 3}));
      EXPECT_THAT(InvalidArgument([&] { binding.Run(); }), HasSubstr("double[1,3] is bound"));
      binding.BindOutput("c", Value::In(memory, ElementType::kFloat, {1, 3}));
      binding.Run();
      EXPECT_THAT(Read(binding.Output("c")), ElementsAre(0, 2, 4)) << "a refusal leaves nothing behind";
    }
  }
}

TEST_F(DeviceBinding, AnOutputMayBeBoundToAnInput) {
  // An element of Add's result depends only on the same element of the input. An element of MatMul's result depends on
  // others, which writing in place would overwrite.
  for (const ProviderOptions& options : {ProviderOptions{}, ProviderOptions{{"aliases", "1"}}}) {
    for (const std::string provider : {"test_device", "cpu"}) {
      const bool on_device = provider == "test_device";
      const SessionOptions session_options =
          SessionOptions().AddProvider(provider, on_device ? options : ProviderOptions{});
      const Memory memory = on_device ? Arena() : Memory();
      const Session add = Open(test::AddModel(), session_options);
      const Value sum = Counting({2, 3}).CopyTo(memory);
      IoBinding adding(add);
      adding.BindInput("a", sum);
      adding.BindInput("b", sum);
      adding.BindOutput("c", sum);
      adding.Run();
      adding.Run();
      EXPECT_THAT(Read(sum), ElementsAre(0, 4, 8, 12, 16, 20)) << provider;

      const Session square = Open(test::SquareModel(), session_options);
      const Value product = Floats({1, 1, 1, 0}, {2, 2}).CopyTo(memory);
      IoBinding squaring(square);
      squaring.BindInput("x", product);
      squaring.BindOutput("y", product);
      squaring.Run();
      EXPECT_THAT(Read(product), ElementsAre(2, 1, 1, 1)) << provider;
      squaring.Run();
      EXPECT_THAT(Read(product), ElementsAre(5, 3, 3, 2)) << provider;
    }
  }
}

TEST_F(DeviceBinding, AnOutputThatIsAnInputIsCopied) {
  for (const SessionOptions& options : {OnDevice(), SessionOptions().AddProvider("cpu")}) {
    const Session session = Open(test::ChainModel({"Identity"}), options);
    std::vector<Memory> memories = session.memories();
    memories.emplace_back();
    for (const Memory& memory : memories) {
      const Value x = Floats({1, 2}, {2}).CopyTo(memory);
      const Value y = Value::In(memory, ElementType::kFloat, {2});
      IoBinding binding(session);
      binding.BindInput("x", x);
      binding.BindOutput("y", y);
      binding.Run();
      EXPECT_THAT(Read(y), ElementsAre(1, 2));
      binding.BindOutput("y", x);
      binding.Run();
      EXPECT_THAT(Read(x), ElementsAre(1, 2));
    }
  }
}

TEST_F(DeviceBinding, OutputsThatShareMemoryAreRefused) {
  const Session session = Open(test::CacheModel(/*attends=*/true), OnDevice());
  const Memory arena = session.MemoryOf("test_device");
  const Value both = Value::In(arena, ElementType::kFloat, {1, 2, 1, 4});
  IoBinding binding(session);
  binding.BindInput("past", Counting({1, 2, 1, 4}));
  binding.BindInput("update", Counting({1, 2, 1, 4}));
  binding.BindInput("at", Value::Copy<int64_t>(std::vector<int64_t>{0}, {1}));
  binding.BindInput("weights", Counting({1, 2, 1, 1}));
  binding.BindOutput("present", both);
  binding.BindOutput("y", both);
  EXPECT_THAT(InvalidArgument([&] { binding.Run(); }), AllOf(HasSubstr("'present'"), HasSubstr("'y'")));
}

TEST_F(DeviceBinding, TheCpuWritesABoundTensorWhereItIs) {
  // The first output is ready before the second fails. The outputs of a failed run are not copied.
  const Session session = Open(test::FailingModel(), SessionOptions().AddProvider("cpu"));
  std::vector<float> y = {-1, -1};
  IoBinding binding(session);
  binding.BindInput("x", Floats({1, 2}, {2}));
  binding.BindInput("at", Value::Copy<int64_t>(std::vector<int64_t>{1}, {1}));
  binding.BindOutput("y", Value::Wrap<float>(y, {2}));
  binding.Run();
  EXPECT_THAT(y, ElementsAre(2.0f, 4.0f));
  EXPECT_THAT(Read(binding.Output("z")), ElementsAre(4));
  y = {-1, -1};
  binding.BindInput("at", Value::Copy<int64_t>(std::vector<int64_t>{7}, {1}));
  EXPECT_NE(ErrorOf([&] { binding.Run(); }).code(), StatusCode::kOk);
  EXPECT_THAT(y, ElementsAre(2.0f, 4.0f));
}

TEST_F(DeviceBinding, AnOutputMayBeBoundOverAPartOfAnInput) {
  const Session session = Open(test::AddModel(), SessionOptions().AddProvider("cpu"));
  std::vector<float> memory(3003);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
  const std::span<float> all = memory;
  IoBinding binding(session);
  binding.BindInput("a", Value::Wrap<float>(all.first(3000), {1000, 3}));
  binding.BindInput("b", Value::Wrap<float>(all.first(3000), {1000, 3}));
  binding.BindOutput("c", Value::Wrap<float>(all.last(3000), {1000, 3}));
  binding.Run();
  EXPECT_THAT(all.first(3), ElementsAre(0, 1, 2));
  for (size_t i = 0; i < 3000; ++i) ASSERT_EQ(memory[i + 3], static_cast<float>(2 * i)) << "element " << i;
}

TEST_F(DeviceBinding, BindingsOfOneSessionRunAtOnce) {
  const Session session = Open(test::AddModel(), OnDevice());
  const Memory arena = session.MemoryOf("test_device");
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      IoBinding binding(session);
      const Value total = Value::Copy<float>(std::vector<float>(30, 0), {10, 3}).CopyTo(arena);
      const Value one = Value::Copy<float>(std::vector<float>(30, static_cast<float>(t + 1)), {10, 3}).CopyTo(arena);
      binding.BindInput("a", total);
      binding.BindInput("b", one);
      binding.BindOutput("c", total);
      for (int i = 1; i <= 50; ++i) {
        binding.Run();
        const float expected = static_cast<float>(t + 1) * static_cast<float>(i);
        if (Read(binding.Output("c"))[29] != expected) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, Each(0));
}

TEST_F(DeviceBinding, WhatOneSessionLeavesOnADeviceAnotherOneTakes) {
  const Session first = Open(test::ChainModel({"Neg"}), OnDevice());
  const Session second = Open(test::ChainModel({"Relu"}), OnDevice());
  const Memory arena = first.MemoryOf("test_device");
  IoBinding producer(first);
  producer.BindInput("x", Floats({-3, 4}, {2}).CopyTo(arena));
  producer.BindOutput("y", arena);
  IoBinding consumer(second);
  consumer.BindOutput("y", second.MemoryOf("test_device"));
  EXPECT_EQ(BytesCopied([&] {
              producer.Run();
              consumer.BindInput("x", producer.Output("y"));
              consumer.Run();
            }),
            0u);
  EXPECT_THAT(Read(consumer.Output("y")), ElementsAre(3, 0));
}

}  // namespace
}  // namespace epiphyte
