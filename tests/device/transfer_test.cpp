// Copies of tensors between host memory and devices outside of runs.
#include "core/device/transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "core/device/device_stream.h"
#include "core/graph/run_state.h"
#include "tests/device/device_faults.h"

namespace epiphyte::test {
namespace {

using core::DataType;
using core::PieceOf;
using core::Value;
using core::ValuePtr;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Transfer : public FaultyDeviceTest {
 protected:
  core::Devices& devices() { return environment_->devices(); }
  static ValuePtr Numbers(int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    std::iota(values.begin(), values.end(), 1.0f);
    return Floats({count}, values);
  }
};

TEST_F(Transfer, GoesThereAndBackByOneCopyEach) {
  for (const int64_t count : {1, 100, 1'000'000}) {
    const ValuePtr x = Numbers(count);
    ValuePtr there;
    const auto bytes = static_cast<uint64_t>(count) * sizeof(float);
    EXPECT_EQ(CopiesOf([&] { there = InMemory(x); }), (Copies{1, bytes, 1}));
    EXPECT_TRUE(there->IsOnDevice());
    EXPECT_EQ(there->data(), nullptr);
    EXPECT_EQ(there->type(), DataType::kFloat);
    EXPECT_EQ(there->dims().size(), 1u);
    EXPECT_EQ(PieceOf(*there)->pool(), Memory(0));
    ValuePtr back;
    EXPECT_EQ(CopiesOf([&] { back = core::ToHost(there, devices()); }), (Copies{1, bytes, 1}));
    EXPECT_FALSE(back->IsOnDevice());
    EXPECT_EQ(FloatsOf(*back), FloatsOf(*x));
  }
}

TEST_F(Transfer, MappableMemoryIsWrittenAndReadByTheHost) {
  const ValuePtr x = Numbers(1000);
  EXPECT_EQ(CopiesOf([&] { EXPECT_EQ(Read(InMemory(x, 0, 1)), FloatsOf(*x)); }), Copies{});
  EXPECT_GE(control_.maps.load(), 1u);
}

TEST_F(Transfer, WhatIsInHostMemoryStaysThere) {
  const ValuePtr x = Numbers(3);
  EXPECT_EQ(core::ToHost(x, devices()).get(), x.get());
  EXPECT_EQ(core::ToHost(nullptr, devices()).get(), nullptr);
  EXPECT_EQ(PieceOf(*x), nullptr);
}

TEST_F(Transfer, ATensorWithoutElementsNeedsNoCopy) {
  EXPECT_EQ(CopiesOf([&] {
              const ValuePtr there = InMemory(Floats({0, 3}, {}));
              EXPECT_TRUE(there->IsOnDevice());
              EXPECT_TRUE(Read(there).empty());
            }),
            Copies{});
}

TEST_F(Transfer, BetweenMemoriesOfOnePluginItIsOneCopy) {
  const ValuePtr x = Numbers(500);
  struct Way {
    int from_device;
    size_t from_memory;
    int to_device;
    size_t to_memory;
  };
  for (const Way& way : {Way{0, 0, 0, 0}, Way{0, 0, 1, 0}, Way{1, 0, 0, 1}, Way{0, 1, 1, 0}}) {
    const ValuePtr from = InMemory(x, way.from_device, way.from_memory);
    ValuePtr to;
    EXPECT_EQ(CopiesOf([&] { to = InMemory(from, way.to_device, way.to_memory); }), (Copies{1, 2000, 1}));
    EXPECT_EQ(Read(to), FloatsOf(*x));
    EXPECT_EQ(Read(from), FloatsOf(*x));
  }
}

TEST_F(Transfer, BetweenPluginsItGoesThroughHostMemory) {
  const ValuePtr x = Numbers(500);
  const ValuePtr from = InMemory(x, 0);
  ValuePtr to;
  EXPECT_EQ(CopiesOf([&] { to = InMemory(from, 3); }), (Copies{2, 4000, 2}));
  EXPECT_EQ(PieceOf(*to)->pool(), Memory(3));
  EXPECT_EQ(Read(to), FloatsOf(*x));
  // To the second plugin, mappable memory of the first is host memory, so one copy is enough.
  EXPECT_EQ(CopiesOf([&] { to = InMemory(InMemory(x, 0, 1), 2); }), (Copies{1, 2000, 1}));
  EXPECT_EQ(Read(to), FloatsOf(*x));
}

TEST_F(Transfer, CopiesIntoAValueThatExists) {
  const ValuePtr to = InMemory(Numbers(4));
  const auto* const buffer = to->storage()->buffer();
  core::CopyValue(*Floats({2, 2}, {9, 8, 7, 6}), *to, devices());
  EXPECT_EQ(Read(to), (std::vector<float>{9, 8, 7, 6}));
  EXPECT_EQ(to->storage()->buffer(), buffer);
  EXPECT_EQ(CopiesOf([&] { core::CopyValue(*to, *to, devices()); }), Copies{}) << "it is there already";
  const ValuePtr host = Numbers(4);
  core::CopyValue(*to, *host, devices());
  EXPECT_EQ(FloatsOf(*host), (std::vector<float>{9, 8, 7, 6}));
  const ValuePtr other = Numbers(4);
  core::CopyValue(*host, *other, devices());
  EXPECT_EQ(FloatsOf(*other), (std::vector<float>{9, 8, 7, 6}));
}

TEST_F(Transfer, OnlyTensorsOfNumbersAndOfOneSizeCanBeCopied) {
  const int64_t one = 1;
  const ValuePtr strings = Value::Strings({&one, 1}, {"text"});
  EXPECT_THAT(FailureOf([&] { InMemory(strings); }),
              AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("a value of the test is no tensor of numbers")));
  EXPECT_THAT(FailureOf([&] { InMemory(Value::EmptyOptional()); }), StartsWith("INVALID_ARGUMENT"));
  const ValuePtr there = InMemory(Numbers(4));
  EXPECT_THAT(FailureOf([&] { core::CopyValue(*Numbers(3), *there, devices()); }),
              AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("12 and 16 bytes")));
  EXPECT_EQ(core::ToHost(strings, devices()).get(), strings.get());
}

TEST_F(Transfer, ACopyOnTheHostCountsInTheRunsBudget) {
  core::RunState run(core::MemoryLimits{.value_bytes = 1000});
  const ValuePtr small = InMemory(Numbers(10));
  const ValuePtr large = InMemory(Numbers(1000));
  EXPECT_EQ(FloatsOf(*core::ToHost(small, devices(), &run)), FloatsOf(*Numbers(10)));
  EXPECT_THAT(FailureOf([&] { core::ToHost(large, devices(), &run); }), HasSubstr("session.max_value_bytes"));
  // The run never counted a value on a device, so dropping one changes nothing.
  const uint64_t used = run.used();
  ValuePtr dropped = InMemory(Numbers(100));
  run.Drop(dropped);
  EXPECT_EQ(run.used(), used);
}

TEST_F(Transfer, WhatIsLostIsSaidToBe) {
  const ValuePtr there = InMemory(Numbers(4));
  const ValuePtr mapped = InMemory(Numbers(4), 0, 1);
  control_.lose_in[0] = 0;
  EXPECT_THAT(FailureOf([&] { InMemory(Numbers(1)); }), StartsWith("DEVICE_RESET"));
  for (const ValuePtr& lost : {there, mapped}) {
    EXPECT_THAT(FailureOf([&] { core::ToHost(lost, devices()); }),
                AllOf(StartsWith("DEVICE_RESET"), HasSubstr("of device 'test 0' when that device was lost")));
    EXPECT_THAT(FailureOf([&] { core::CopyValue(*Numbers(4), *lost, devices()); }), StartsWith("DEVICE_RESET"));
  }
  const core::DeviceStream stream(Device(0));
  EXPECT_EQ(Read(InMemory(Numbers(4))), FloatsOf(*Numbers(4))) << "it has come back";
}

TEST_F(Transfer, AFailedCopyIsAnErrorAndTheNextOneWorks) {
  control_.fail_in[0] = 0;
  EXPECT_THAT(FailureOf([&] { InMemory(Numbers(4)); }), StartsWith("EP_FAIL"));
  EXPECT_EQ(Read(InMemory(Numbers(4))), FloatsOf(*Numbers(4)));
}

TEST_F(Transfer, ThereMustBeRoom) {
  control_.capacity[0] = 1000;
  EXPECT_THAT(FailureOf([&] { InMemory(Numbers(1000)); }),
              AllOf(StartsWith("OUT_OF_MEMORY"), HasSubstr("a value of the test")));
}

}  // namespace
}  // namespace epiphyte::test
