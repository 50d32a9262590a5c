// Streams: copies between any two places keep their order, points are reached when the work before them is done, and
// other streams wait for them. Each test runs with timeline semaphores and with fences, with and without host-visible
// memory.
#include "plugins/vulkan/device/stream.h"

#include <atomic>
#include <thread>

#include "plugins/vulkan/device/vk_device.h"
#include "tests/vulkan/device/stream_fixture.h"

namespace epiphyte::vulkan {
namespace {

TEST_P(StreamTest, CopiesAreDoneInOrder) {
  const BufferRange a = Numbers(1000), b = Numbers(1000);
  const Words first = Counting(1000), second = Counting(1000, 5000);
  Words out1(1000), out2(1000);
  Stream stream(device_);
  Copy(stream, In(first, a));
  Copy(stream, On(a, b));
  Copy(stream, Out(a, out1));
  Copy(stream, In(second, a));
  Copy(stream, Out(a, out2));
  EXPECT_EQ(Read(stream, b), first);
  EXPECT_EQ(out1, first);
  EXPECT_EQ(out2, second);
}

TEST_P(StreamTest, CopiesWaitForTheProgramsBeforeThem) {
  const BufferRange x = Numbers(1000);
  CommandList list;
  list.commands = {Double(x)};
  CompiledProgram program(device_, list);
  Stream stream(device_);
  Words seen[3];
  const Words given[] = {Words(1000, 1), Words(1000, 2), Words(1000, 3)};
  for (uint32_t i = 0; i < 3; ++i) {
    seen[i].resize(1000);
    KeepBusy(stream);
    Copy(stream, In(given[i], x));
    program.Submit(stream);
    Copy(stream, Out(x, seen[i]));
  }
  Finish(stream);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(seen[i], Words(1000, 2 * (i + 1)));
}

TEST_P(StreamTest, WhatAnEarlierCopyBringsToTheHostALaterOneTakesFromThere) {
  const BufferRange a = Numbers(1000), b = Numbers(1000);
  const Words numbers = Counting(1000);
  Words between(1000);
  Stream stream(device_);
  KeepBusy(stream);
  Copy(stream, In(numbers, a));
  Copy(stream, Out(a, between));
  Copy(stream, In(between, b));
  EXPECT_EQ(Read(stream, b), numbers);
}

TEST_P(StreamTest, OneBatchHasManyCopies) {
  const BufferRange a = Numbers(3000);
  const auto part = [&](uint64_t at, uint64_t count) { return BufferRange{a.buffer, 4 * at, 4 * count}; };
  const Words one = Counting(1000, 1), two = Counting(1000, 5000), three = Counting(1000, 9000);
  Stream stream(device_);
  KeepBusy(stream);
  stream.Copy(std::vector<StreamCopy>{In(two, part(1000, 1000)), In(one, part(0, 1000)), In(three, part(2000, 1000))});
  const Words out = Read(stream, a);
  EXPECT_EQ(Words(out.begin(), out.begin() + 1000), one);
  EXPECT_EQ(Words(out.begin() + 1000, out.begin() + 2000), two);
  EXPECT_EQ(Words(out.begin() + 2000, out.end()), three);
}

TEST_P(StreamTest, MoreThanTheStagingBuffersHoldArrivesToo) {
  const uint32_t count = 20u << 20;  // 80 MiB
  const BufferRange a = Numbers(count);
  const Words numbers = Counting(count);
  Stream stream(device_);
  KeepBusy(stream);
  Copy(stream, In(numbers, a));
  EXPECT_TRUE(Read(stream, a) == numbers);
}

TEST_P(StreamTest, PointsGrowAndAreReachedInOrder) {
  Stream stream(device_);
  uint64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    const uint64_t point = stream.Signal();
    EXPECT_GT(point, last);
    last = point;
  }
  stream.Synchronize(last, 0);  // returns at once, because nothing was submitted
  KeepBusy(stream);
  const uint64_t early = stream.Signal();
  KeepBusy(stream);
  const uint64_t late = stream.Signal();
  EXPECT_GT(early, last);
  EXPECT_GT(late, early);
  stream.Synchronize(early);
  stream.Synchronize(late);
  stream.Synchronize(early, 0);
  EXPECT_THAT(ErrorOf([&] { stream.Synchronize(late + 1); }),
              IsError(EP_STATUS_INVALID_ARGUMENT, "Signal gives points"));
}

TEST_P(StreamTest, ASubmissionHasAsManyPointsAsAreAskedFor) {
  Stream stream(device_);
  KeepBusy(stream);
  uint64_t last = 0;
  for (int i = 0; i < (1 << 20) + 10; ++i) {
    const uint64_t point = stream.Signal();
    ASSERT_GT(point, last);
    last = point;
  }
  stream.Synchronize(last);
}

TEST_P(StreamTest, SynchronizeGivesUpWhenTimeIsOver) {
  Stream stream(device_);
  for (int i = 0; i < 4; ++i) KeepBusy(stream);
  const uint64_t point = stream.Signal();
  EXPECT_THAT(ErrorOf([&] { stream.Synchronize(point, 0); }), IsError(EP_STATUS_TIMEOUT, "not reached"));
  EXPECT_THAT(ErrorOf([&] { stream.Synchronize(point, 1000); }), IsError(EP_STATUS_TIMEOUT, "1000 ns"));
  stream.Synchronize(point);
}

TEST_P(StreamTest, ManyThreadsWaitForTheSamePoints) {
  const BufferRange a = Numbers(1000);
  const Words numbers = Counting(1000);
  for (int round = 0; round < 20; ++round) {
    Words out(1000);
    Stream stream(device_);
    if (round % 5 == 0) KeepBusy(stream);
    const uint64_t early = stream.Signal();
    Copy(stream, In(numbers, a));
    Copy(stream, Out(a, out));
    const uint64_t late = stream.Signal();
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        stream.Synchronize(t % 2 == 0 ? late : early);
        if (t % 2 == 0 && out != numbers) ++wrong;
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST_P(StreamTest, AnotherStreamBeginsAfterThePointThatItWaitsFor) {
  const BufferRange a = Numbers(1000), b = Numbers(1000);
  const Words numbers = Counting(1000);
  for (int round = 0; round < 3; ++round) {
    Words between(1000), out(1000), direct(1000);
    Stream maker(device_), taker(device_);
    KeepBusy(maker);
    Copy(maker, In(numbers, a));
    Copy(maker, Out(a, between));  // the host does this copy
    const uint64_t point = maker.Signal();
    taker.WaitFor(maker, point);
    Copy(taker, In(between, b));
    Copy(taker, Out(b, out));
    Copy(taker, Out(a, direct));
    Finish(taker);
    EXPECT_EQ(out, numbers);
    EXPECT_EQ(direct, numbers);
    // The second stream's write waits until the first stream has read the memory.
    KeepBusy(maker);
    Copy(maker, On(a, b));
    taker.WaitFor(maker, maker.Signal());
    const Words threes(1000, 3);
    Copy(taker, In(threes, a));
    Copy(taker, Out(b, out));
    Finish(taker);
    EXPECT_EQ(out, numbers);
    Finish(maker);
  }
}

TEST_P(StreamTest, WhatIsToBeCalledIsCalledOnceBehindTheWork) {
  Stream stream(device_);
  int called = 0;
  KeepBusy(stream);
  stream.Then([&] { ++called; });
  const uint64_t point = stream.Signal();
  stream.Synchronize(point);
  EXPECT_EQ(called, 1);
  stream.Synchronize(point);
  Finish(stream);
  EXPECT_EQ(called, 1);
}

TEST_P(StreamTest, SteadyWorkMakesNoVulkanObject) {
  const BufferRange a = Numbers(1000), b = Numbers(1000);
  CommandList list;
  list.slots = {a.size, b.size};
  list.commands = {{.shader = "add.u32",
                    .specialization = {1},
                    .parameters = {1000, 5},
                    .bindings = {{{}, Access::kRead, 0}, {{}, Access::kWrite, 1}},
                    .groups = {16, 1, 1}}};
  CompiledProgram program(device_, list);
  Stream stream(device_);
  const Words numbers = Counting(1000);
  Words out(1000);
  const auto run = [&] {
    Copy(stream, In(numbers, a));
    program.Submit(stream, std::vector<BufferRange>{a, b});
    Copy(stream, Out(b, out));
    Finish(stream);
  };
  KeepBusy(stream);  // all commands of the first run are pending at the same time
  run();
  const DeviceCounters before = device_->counters();
  for (int i = 0; i < 100; ++i) run();
  const DeviceCounters after = device_->counters();
  EXPECT_EQ(out[7], 12u);
  EXPECT_EQ(after.vulkan_objects, before.vulkan_objects);
  EXPECT_EQ(after.allocated_bytes, before.allocated_bytes);
  EXPECT_EQ(after.used_bytes, before.used_bytes);
}

TEST_P(StreamTest, StagingMemoryIsGivenBackWhenAskedFor) {
  const BufferRange a = Numbers(1u << 20);
  const Words numbers = Counting(1u << 20);
  Stream stream(device_);
  KeepBusy(stream);
  const uint64_t busy = device_->counters().allocated_bytes;
  Copy(stream, In(numbers, a));
  if (!GetParam().unified) {
    EXPECT_GT(device_->counters().allocated_bytes, busy);
  }
  device_->Trim();  // keeps the staging buffer, which is in use
  Finish(stream);
  device_->Trim();
  EXPECT_LE(device_->counters().allocated_bytes, busy);
  EXPECT_TRUE(Read(stream, a) == numbers);
}

TEST_P(StreamTest, WhatMakesNoSenseIsRefusedAndDoesNothing) {
  const BufferRange a = Numbers(10);
  Words numbers(11, 7);
  Stream stream(device_);
  const Words ones(10, 1), twos(10, 2);
  Copy(stream, In(ones, a));
  const BufferRange beyond = {a.buffer, 8, 40};
  EXPECT_THAT(ErrorOf([&] {
                stream.Copy(std::vector<StreamCopy>{In(twos, a), In(numbers, beyond)});
              }),
              IsError(EP_STATUS_INVALID_ARGUMENT, "40 bytes at 8 leaves a buffer of 40"));
  EXPECT_THAT(ErrorOf([&] {
                Copy(stream, {{nullptr, 0, numbers.data()}, {nullptr, 0, numbers.data()}, 4});
              }),
              IsError(EP_STATUS_INVALID_ARGUMENT, "host"));
  EXPECT_THAT(ErrorOf([&] {
                Copy(stream, {{nullptr, 0, nullptr}, {a.buffer.get(), 0}, 4});
              }),
              IsError(EP_STATUS_INVALID_ARGUMENT, "neither"));
  EXPECT_EQ(Read(stream, a), Words(10, 1)) << "all of a batch or none";
}

INSTANTIATE_TEST_SUITE_P(Kinds, StreamTest, testing::ValuesIn(kStreamKinds), NameOfKind);

class TimelineTest : public DeviceTest {};

TEST_F(TimelineTest, WithoutTheCapabilityThereIsNoSemaphoreAndWithItNoFence) {
  for (const bool timeline : {true, false}) {
    const auto device = OpenAs(true, timeline);
    DeviceFunctions& vk = device->handles().vk;
    if (timeline) {
      vk.vkCreateFence = [](VkDevice, const VkFenceCreateInfo*, const VkAllocationCallbacks*, VkFence*) {
        return VK_ERROR_UNKNOWN;
      };
    } else {
      vk.vkCreateSemaphore = [](VkDevice, const VkSemaphoreCreateInfo*, const VkAllocationCallbacks*, VkSemaphore*) {
        return VK_ERROR_UNKNOWN;
      };
    }
    const BufferRange a = Numbers(*device, 10);
    HostList list;
    list.commands = {Double(a)};
    list.inputs = list.outputs = {a};
    HostProgram program(device, list);
    EXPECT_EQ(Run(program, Words(10, 4)), Words(10, 8));
  }
}

}  // namespace
}  // namespace epiphyte::vulkan
