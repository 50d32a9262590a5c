// Streams that fail, and streams of two devices: work submitted before a failure completes, a failed call leaves no
// pending work, and no other stream is affected.
#include <functional>
#include <thread>
#include <utility>

#include "plugins/vulkan/device/vk_device.h"
#include "plugins/vulkan/device/vk_stream.h"
#include "tests/vulkan/device/stream_fixture.h"

namespace epiphyte::vulkan {
namespace {

VkResult NoMemory(VkDevice, const VkMemoryAllocateInfo*, const VkAllocationCallbacks*, VkDeviceMemory*) {
  return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

// Calls `then` once, after the device's next wait has ended; undone by the destructor.
class AfterNextWait {
 public:
  AfterNextWait(DeviceFunctions& vk, std::function<void()> then) : vk_(vk), good_(vk) {
    good = &good_;
    next = std::move(then);
    vk.vkWaitSemaphores = [](VkDevice device, const VkSemaphoreWaitInfo* info, uint64_t timeout) {
      return Then(good->vkWaitSemaphores(device, info, timeout));
    };
    vk.vkWaitForFences = [](VkDevice device, uint32_t count, const VkFence* fences, VkBool32 all, uint64_t timeout) {
      return Then(good->vkWaitForFences(device, count, fences, all, timeout));
    };
  }
  ~AfterNextWait() {
    vk_ = good_;
    next = nullptr;
  }
  AfterNextWait(const AfterNextWait&) = delete;
  AfterNextWait& operator=(const AfterNextWait&) = delete;

 private:
  static VkResult Then(VkResult result) {
    if (const auto call = std::exchange(next, nullptr)) call();
    return result;
  }

  static inline const DeviceFunctions* good = nullptr;
  static inline std::function<void()> next;
  DeviceFunctions& vk_;
  const DeviceFunctions good_;
};

class StreamFailures : public StreamTest {
 protected:
  DeviceFunctions& vk() { return device_->handles().vk; }
  // Returns the error of a copy that runs out of memory while the stream has work to do.
  kit::Error FailBehindWork(Stream& stream, const BufferRange& a) {
    const Words numbers = Counting(1000);
    const auto good = vk().vkAllocateMemory;
    vk().vkAllocateMemory = NoMemory;
    kit::Error error = ErrorOf([&] { Copy(stream, In(numbers, a)); });
    vk().vkAllocateMemory = good;
    return error;
  }
};

// --- batches

TEST_P(StreamFailures, ABatchBringsToTheHostWhatItReachesAndWhatItDoesNot) {
  const BufferRange a = Numbers(1000);
  const BufferRange mapped = {device_->Allocate(4000, "mapped", MemoryUse::kDownload), 0, 4000};
  const Words one = Counting(1000, 1), two = Counting(1000, 5000);
  Words out1(1000), out2(1000);
  Stream stream(device_);
  KeepBusy(stream);
  stream.Copy(std::vector<StreamCopy>{In(one, a), In(two, mapped)});
  stream.Copy(std::vector<StreamCopy>{Out(mapped, out2), Out(a, out1)});
  Finish(stream);
  EXPECT_EQ(out1, one);
  EXPECT_EQ(out2, two);
}

TEST_P(StreamFailures, StagingMemoryIsUsedUntilTheLastPartOfABatchIsDone) {
  const BufferRange a = Numbers(100), b = Numbers(100), c = Numbers(100), d = Numbers(1000);
  const Words one = Counting(100, 1), two = Counting(100, 5000), three = Counting(1000, 9000);
  Words out(100);
  Stream stream(device_), other(device_);
  KeepBusy(stream);
  {
    // The copy that reads mapped memory divides the batch. The second part is queued behind another stream's work.
    const AfterNextWait busy(vk(), [&] { KeepBusy(other); });
    stream.Copy(std::vector<StreamCopy>{In(one, a), Out(b, out), In(two, c)});
  }
  Copy(stream, In(three, d));
  EXPECT_EQ(Read(stream, a), one);
  EXPECT_EQ(Read(stream, c), two);
  EXPECT_EQ(Read(stream, d), three);
}

// --- failures

TEST_P(StreamFailures, FailedBatchLeavesNoPendingWork) {
  const BufferRange a = Numbers(1000);
  Stream stream(device_);
  KeepBusy(stream);
  EXPECT_THAT(FailBehindWork(stream, a), IsError(EP_STATUS_OUT_OF_MEMORY, "staging buffer"));
  EXPECT_EQ(stream.parts().timeline->Reached(), stream.parts().timeline->submitted());
  EXPECT_THAT(ErrorOf([&] { stream.Signal(); }), IsError(EP_STATUS_OUT_OF_MEMORY, "staging buffer"));
}

TEST_P(StreamFailures, WaitingForAFailedStreamReportsItAndWritesNoMoreMemory) {
  const BufferRange a = Numbers(1000);
  Stream stream(device_);
  const Words numbers = Counting(1000, 1);
  Copy(stream, In(numbers, a));
  Finish(stream);
  KeepBusy(stream);
  Words out(1000, 7);
  Copy(stream, Out(a, out));  // the host does this copy when the point is reached
  const uint64_t point = stream.Signal();
  kit::Error heard(EP_STATUS_OK, "");
  std::thread waiting([&] { heard = ErrorOf([&] { stream.Synchronize(point); }); });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const BufferRange b = Numbers(1u << 20);  // larger than the existing staging buffer
  const Words many(1u << 20);
  const auto good = vk().vkAllocateMemory;
  vk().vkAllocateMemory = NoMemory;
  EXPECT_THAT(ErrorOf([&] { Copy(stream, In(many, b)); }), IsError(EP_STATUS_OUT_OF_MEMORY, ""));
  vk().vkAllocateMemory = good;
  const Words then = out;
  waiting.join();
  EXPECT_EQ(out, then);
  EXPECT_THAT(heard, IsError(then == numbers ? EP_STATUS_OK : EP_STATUS_OUT_OF_MEMORY, ""));
}

TEST_P(StreamFailures, OtherStreamsOfTheDeviceContinue) {
  const BufferRange a = Numbers(1000);
  const Words numbers = Counting(1000);
  const HostToDevice upload = {a, numbers.data()};
  const auto good = vk().vkAllocateMemory;
  vk().vkAllocateMemory = NoMemory;
  const kit::Error error = ErrorOf([&] { device_->Upload({&upload, 1}); });
  vk().vkAllocateMemory = good;
  if (!GetParam().unified) {
    EXPECT_THAT(error, IsError(EP_STATUS_OUT_OF_MEMORY, "staging buffer"));
  }
  EXPECT_THAT(ErrorOf([&] { device_->Upload({&upload, 1}); }), IsError(EP_STATUS_OK, ""));
  Stream stream(device_);
  EXPECT_EQ(Read(stream, a), numbers);
}

TEST_P(StreamFailures, DestroyedStreamFinishesItsWork) {
  device_ = OpenAs(GetParam().unified, GetParam().timeline, {.core = true});
  const BufferRange a = Numbers(1000);
  const Words numbers = Counting(1000);
  {
    Stream stream(device_);
    KeepBusy(stream);
    Copy(stream, In(numbers, a));
  }
  Stream stream(device_);
  EXPECT_EQ(Read(stream, a), numbers);
  busy_.clear();
}

TEST_P(StreamFailures, AlsoWhenTheDriverDoesNotSayHowFarItIs) {
  bool waited = false;
  {
    auto stream = std::make_unique<Stream>(device_);
    KeepBusy(*stream);
    const AfterNextWait wait(vk(), [&] { waited = true; });
    vk().vkGetSemaphoreCounterValue = [](VkDevice, VkSemaphore, uint64_t*) { return VK_ERROR_UNKNOWN; };
    vk().vkGetFenceStatus = [](VkDevice, VkFence) { return VK_ERROR_UNKNOWN; };
    stream.reset();
  }
  EXPECT_TRUE(waited);
}

// --- other devices

TEST_P(StreamFailures, WhatGoesToAnotherDeviceIsTakenWhenItIsThere) {
  const auto other = OpenAs(GetParam().unified, GetParam().timeline);
  const BufferRange here = Numbers(1000), there = DeviceTest::Numbers(*other, 1000);
  const Words numbers = Counting(1000);
  Words between(1000);
  Stream stream(device_), theirs(other);
  KeepBusy(stream);
  Copy(stream, In(numbers, here));
  Copy(stream, Out(here, between));
  Copy(stream, In(between, there));
  EXPECT_EQ(Read(theirs, there), numbers);
}

TEST_P(StreamFailures, MoreThanOnePartGoesToAnotherDevice) {
  const auto other = OpenAs(GetParam().unified, GetParam().timeline);
  const uint32_t count = (9u << 20) + 5;  // 36 MiB and 20 bytes
  const BufferRange here = Numbers(count), there = DeviceTest::Numbers(*other, count);
  const Words numbers = Counting(count);
  Stream stream(device_), theirs(other);
  Copy(stream, In(numbers, here));
  Copy(stream, On(here, there));
  EXPECT_TRUE(Read(theirs, there) == numbers);
}

TEST_P(StreamFailures, ACopyToAnotherDeviceThatFailsHalfWayFailsTheStream) {
  const auto other = OpenAs(false, GetParam().timeline);
  const BufferRange here = Numbers(1000), there = DeviceTest::Numbers(*other, 1000);
  Stream stream(device_);
  other->handles().vk.vkBeginCommandBuffer = [](VkCommandBuffer, const VkCommandBufferBeginInfo*) {
    return VK_ERROR_UNKNOWN;
  };
  EXPECT_THAT(ErrorOf([&] { Copy(stream, On(here, there)); }), IsError(EP_STATUS_ENGINE_ERROR, "vkBeginCommandBuffer"));
  EXPECT_THAT(ErrorOf([&] { stream.Signal(); }), IsError(EP_STATUS_ENGINE_ERROR, "vkBeginCommandBuffer"));
}

TEST_P(StreamFailures, BuffersOfAnotherDeviceAreReachedThroughTheHost) {
  const auto other = OpenAs(GetParam().unified, GetParam().timeline);
  const BufferRange here = Numbers(1000), there = DeviceTest::Numbers(*other, 1000);
  const Words numbers = Counting(1000);
  Stream stream(device_), theirs(other);
  KeepBusy(stream);
  Copy(stream, In(numbers, here));
  Copy(stream, On(here, there));
  theirs.WaitFor(stream, stream.Signal());
  EXPECT_EQ(Read(theirs, there), numbers);
  const Words fours(1000, 4);
  Copy(theirs, In(fours, there));
  stream.WaitFor(theirs, theirs.Signal());
  Copy(stream, On(there, here));
  EXPECT_EQ(Read(stream, here), Words(1000, 4));
}

TEST_P(StreamFailures, AStreamOfALostDeviceHasFailedForGood) {
  const BufferRange a = Numbers(1000);
  Words out(1000);
  Stream stream(device_), other(device_);
  const uint64_t point = stream.Signal();
  const auto good = vk().vkQueueSubmit;
  vk().vkQueueSubmit = [](VkQueue, uint32_t, const VkSubmitInfo*, VkFence) { return VK_ERROR_DEVICE_LOST; };
  EXPECT_THAT(ErrorOf([&] { Copy(stream, On(a, Numbers(1000))); }),
              IsError(EP_STATUS_DEVICE_RESET, "vkQueueSubmit failed with VK_ERROR_DEVICE_LOST"));
  vk().vkQueueSubmit = good;
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(ErrorOf([&] { Copy(stream, Out(a, out)); }), IsError(EP_STATUS_DEVICE_RESET, ""));
    EXPECT_THAT(ErrorOf([&] { stream.Signal(); }), IsError(EP_STATUS_DEVICE_RESET, "VK_ERROR_DEVICE_LOST"));
    EXPECT_THAT(ErrorOf([&] { stream.Synchronize(point); }), IsError(EP_STATUS_DEVICE_RESET, ""));
    EXPECT_THAT(ErrorOf([&] { other.WaitFor(stream, point); }), IsError(EP_STATUS_DEVICE_RESET, ""));
    EXPECT_THAT(ErrorOf([&] { other.Signal(); }), IsError(EP_STATUS_DEVICE_RESET, ""));
  }
  EXPECT_THAT(ErrorOf([&] { Stream another(device_); }), IsError(EP_STATUS_DEVICE_RESET, ""));
}

INSTANTIATE_TEST_SUITE_P(Kinds, StreamFailures, testing::ValuesIn(kStreamKinds), NameOfKind);

}  // namespace
}  // namespace epiphyte::vulkan
