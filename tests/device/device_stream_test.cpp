// Streams: growing points, waits on the device, lasting failures, and plugins that violate these rules.
#include "core/device/device_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/device/device_faults.h"

namespace epiphyte::test {
namespace {

using core::DeviceAllocation;
using core::DeviceStream;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class DeviceStreams : public FaultyDeviceTest {
 protected:
  std::shared_ptr<DeviceAllocation> Room(int device, uint64_t bytes = 16) {
    return Memory(device)->Take(bytes, nullptr, "a value");
  }
  static EpCopyEnd At(const DeviceAllocation& piece) { return {piece.buffer(), nullptr, piece.offset()}; }
  static EpCopyEnd At(void* data) { return {nullptr, data, 0}; }
  static void Submit(DeviceStream& stream, EpCopyEnd from, EpCopyEnd to, uint64_t size = 16) {
    const EpCopy copy{from, to, size};
    stream.Copy({&copy, 1});
  }

  int numbers_[4] = {1, 2, 3, 4};
  int read_[4] = {};
};

TEST_F(DeviceStreams, PointsGrowWithWhatIsSubmitted) {
  DeviceStream stream(Device(0));
  const auto room = Room(0);
  EXPECT_EQ(stream.Signal(), 0u) << "nothing was submitted";
  Submit(stream, At(numbers_), At(*room));
  EXPECT_TRUE(stream.has_unsignalled());
  const uint64_t first = stream.Signal();
  EXPECT_FALSE(stream.has_unsignalled());
  EXPECT_GE(first, 1u);
  EXPECT_EQ(stream.Signal(), first);
  EXPECT_EQ(control_.signals.load(), 1u) << "nothing was submitted since";
  Submit(stream, At(*room), At(read_));
  const uint64_t second = stream.Signal();
  EXPECT_GT(second, first);
  stream.Synchronize(second);
  EXPECT_THAT(read_, ElementsAre(1, 2, 3, 4));
  const uint64_t synchronizes = control_.synchronizes;
  stream.Synchronize(first);
  stream.Synchronize(0);
  EXPECT_EQ(control_.synchronizes.load(), synchronizes) << "what has been reached needs no call";
}

TEST_F(DeviceStreams, CopiesOfNothingAreLeftOut) {
  DeviceStream stream(Device(0));
  const auto room = Room(0);
  stream.Copy({});
  Submit(stream, At(numbers_), At(*room), 0);
  EXPECT_EQ(control_.copy_calls.load(), 0u);
  EXPECT_FALSE(stream.has_unsignalled());
  const EpCopy copies[] = {{At(numbers_), At(*room), 0}, {At(numbers_), At(*room), 16}, {At(numbers_), At(*room), 0}};
  stream.Copy(copies);
  EXPECT_EQ(control_.copies.load(), 1u);
  stream.Drain();
}

TEST_F(DeviceStreams, AStreamWaitsForAnotherOnTheDevice) {
  DeviceStream first(Device(0));
  DeviceStream second(Device(1));
  const auto a = Room(0);
  const auto b = Room(1);
  {
    const Hold hold(0);
    Submit(first, At(numbers_), At(*a));
    second.WaitFor(first, first.Signal());
    Submit(second, At(*a), At(*b));
    Submit(second, At(*b), At(read_));
    second.Signal();
    EXPECT_TRUE(Spans(1).empty()) << "the other device can't have begun";
  }
  second.Synchronize(second.Signal());
  EXPECT_EQ(control_.waits.load(), 1u);
  EXPECT_EQ(control_.synchronizes.load(), 1u);
  EXPECT_THAT(read_, ElementsAre(1, 2, 3, 4));
  EXPECT_LE(Spans(0).at(0).end_ns, Spans(1).at(0).start_ns);
  first.Drain();
}

TEST_F(DeviceStreams, WhatIsReachedNeedsNoWait) {
  DeviceStream first(Device(0));
  DeviceStream second(Device(0));
  const auto room = Room(0);
  Submit(first, At(numbers_), At(*room));
  const uint64_t point = first.Signal();
  second.WaitFor(second, 7);
  second.WaitFor(first, 0);
  first.Synchronize(point);
  second.WaitFor(first, point);
  EXPECT_EQ(control_.waits.load(), 0u);
}

TEST_F(DeviceStreams, SeveralThreadsWaitAtOnce) {
  DeviceStream stream(Device(0));
  const auto room = Room(0);
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  {
    const Hold hold(0);
    Submit(stream, At(numbers_), At(*room));
    const uint64_t point = stream.Signal();
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, point] {
        stream.Synchronize(point);
        ++done;
      });
    }
    ASSERT_TRUE(WaitUntil([&] { return control_.synchronizes == 4; }));
    EXPECT_EQ(done, 0);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 4);
}

TEST_F(DeviceStreams, DrainingWaitsForAllThatWasSubmitted) {
  const auto room = Room(0);
  std::thread later;
  {
    DeviceStream stream(Device(0));
    control_.hold[0] = 1;
    for (int i = 0; i < 5; ++i) Submit(stream, At(numbers_), At(*room));
    later = std::thread([this] {
      WaitUntil([this] { return control_.synchronizes > 0; });
      control_.hold[0] = 0;
    });
    stream.Drain();
    EXPECT_EQ(Spans(0).size(), 5u);
  }
  later.join();
}

// --- failures

TEST_F(DeviceStreams, AFailureLasts) {
  DeviceStream stream(Device(0));
  const auto room = Room(0);
  control_.fail_in[0] = 1;
  Submit(stream, At(numbers_), At(*room));
  Submit(stream, At(numbers_), At(*room));
  EXPECT_FALSE(stream.failed());
  EXPECT_THAT(FailureOf([&] { stream.Synchronize(stream.Signal()); }),
              AllOf(StartsWith("EP_FAIL"), HasSubstr("provider 'test_device'"), HasSubstr("as it was asked to")));
  EXPECT_TRUE(stream.failed());
  const uint64_t calls = control_.copy_calls;
  EXPECT_THAT(FailureOf([&] { Submit(stream, At(numbers_), At(*room)); }),
              AllOf(StartsWith("EP_FAIL"), HasSubstr("Copy on a stream of device 'test 0' that has failed before")));
  EXPECT_THAT(FailureOf([&] { stream.Signal(); }), HasSubstr("has failed before"));
  EXPECT_EQ(control_.copy_calls.load(), calls);
  stream.Drain();
  DeviceStream next(Device(0));
  Submit(next, At(numbers_), At(*room));
  Submit(next, At(*room), At(read_));
  next.Synchronize(next.Signal());
  EXPECT_THAT(read_, ElementsAre(1, 2, 3, 4));
}

TEST_F(DeviceStreams, WhoWaitsForAStreamThatFailsFailsToo) {
  DeviceStream first(Device(0));
  DeviceStream second(Device(1));
  const auto a = Room(0);
  const auto b = Room(1);
  {
    const Hold hold(0);
    control_.fail_in[0] = 0;
    Submit(first, At(numbers_), At(*a));
    second.WaitFor(first, first.Signal());
    Submit(second, At(*a), At(*b));
  }
  EXPECT_THAT(FailureOf([&] { second.Synchronize(second.Signal()); }), StartsWith("EP_FAIL"));
  first.Drain();
  second.Drain();
  EXPECT_TRUE(first.failed());
}

TEST_F(DeviceStreams, LostDeviceIsReportedToItsPools) {
  DeviceStream stream(Device(0));
  const auto room = Room(0);
  const auto shared = Memory(0, 1)->Take(16, nullptr, "a value");
  control_.lose_in[0] = 0;
  Submit(stream, At(numbers_), At(*room));
  EXPECT_THAT(FailureOf([&] { stream.Synchronize(stream.Signal()); }),
              AllOf(StartsWith("DEVICE_RESET"), HasSubstr("'test 0'")));
  EXPECT_TRUE(room->IsLost());
  EXPECT_TRUE(shared->IsLost());
  EXPECT_THAT(FailureOf([&] { stream.Signal(); }), StartsWith("DEVICE_RESET")) << "and stays one";
  stream.Drain();
}

// --- plugins that misbehave

TEST_F(DeviceStreams, CreateStreamMustGiveAStream) {
  Break("null_stream");
  EXPECT_THAT(FailureOf([&] { DeviceStream stream(Device(0)); }),
              AllOf(StartsWith("EP_FAIL"), HasSubstr("CreateStream for device 'test 0' succeeded but gave no stream")));
}

TEST_F(DeviceStreams, CreateStreamMustGiveEachStreamOnce) {
  Break("same_stream");
  DeviceStream first(Device(0));
  EXPECT_THAT(FailureOf([&] { DeviceStream second(Device(0)); }),
              AllOf(StartsWith("EP_FAIL"), HasSubstr("gave a stream that is in use")));
  EXPECT_EQ(control_.live_streams.load(), 1);
}

TEST_F(DeviceStreams, PointsMustNotGoBack) {
  Break("points_go_back");
  DeviceStream stream(Device(0));
  const auto room = Room(0);
  Submit(stream, At(numbers_), At(*room));
  const uint64_t first = stream.Signal();
  Submit(stream, At(numbers_), At(*room));
  EXPECT_THAT(FailureOf([&] { stream.Signal(); }),
              AllOf(StartsWith("EP_FAIL"), HasSubstr("points that go back"), HasSubstr(std::to_string(first))));
  EXPECT_TRUE(stream.failed());
  stream.Drain();
}

TEST_F(DeviceStreams, NoPointIsZero) {
  Break("point_zero");
  DeviceStream stream(Device(0));
  const auto room = Room(0);
  Submit(stream, At(numbers_), At(*room));
  EXPECT_THAT(FailureOf([&] { stream.Signal(); }), AllOf(StartsWith("EP_FAIL"), HasSubstr("points that go back: 0")));
  stream.Drain();
}

TEST_F(DeviceStreams, AStatusThatWasReleasedIsAFailure) {
  Break("status_of_other");
  DeviceStream stream(Device(0));
  const auto room = Room(0);
  Submit(stream, At(numbers_), At(*room));
  EXPECT_THAT(FailureOf([&] { stream.Signal(); }),
              AllOf(StartsWith("EP_FAIL"), HasSubstr("Signal"), HasSubstr("a status that the host doesn't know")));
  stream.Drain();
}

TEST_F(DeviceStreams, AnExceptionIsAFailure) {
  Break("throws");
  DeviceStream stream(Device(0));
  const auto room = Room(0);
  EXPECT_THAT(FailureOf([&] { Submit(stream, At(numbers_), At(*room)); }),
              AllOf(StartsWith("EP_FAIL"), HasSubstr("Copy let an exception escape"), HasSubstr("thrown by Copy")));
  EXPECT_TRUE(stream.failed());
  stream.Drain();
}

EpStatus* EP_CALL NeverInTime(EpStream*, uint64_t, uint64_t) {
  return core::HostInfo()->status->Create(EP_STATUS_TIMEOUT, "too long");
}
const EpDeviceApi* real_api = nullptr;
// Refuses every copy to host memory.
EpStatus* EP_CALL RefuseCopiesToTheHost(EpStream* stream, const EpCopy* copies, uint64_t count) {
  if (copies[0].to.buffer == nullptr)
    return core::HostInfo()->status->Create(EP_STATUS_NOT_IMPLEMENTED, "not this way");
  return real_api->Copy(stream, copies, count);
}

TEST_F(DeviceStreams, ACallThatIsRefusedDoesNotEndWhatIsUnderWay) {
  real_api = &Device(0).api();
  EpDeviceApi api = *real_api;
  api.Copy = RefuseCopiesToTheHost;
  core::PluginDevice device(Device(0).plugin(), api, 0, {});
  const auto room = device.memories()[0]->Take(16, nullptr, "a value");
  DeviceStream stream(device);
  control_.hold[0] = 1;
  Submit(stream, At(numbers_), At(*room));
  EXPECT_THAT(FailureOf([&] { Submit(stream, At(*room), At(read_)); }),
              AllOf(StartsWith("NOT_IMPLEMENTED"), HasSubstr("not this way")));
  EXPECT_TRUE(stream.failed());
  std::thread later([this] {
    WaitUntil([this] { return control_.synchronizes > 0; });
    control_.hold[0] = 0;
  });
  stream.Drain();
  later.join();
  EXPECT_EQ(Spans(0).size(), 1u);
}

TEST_F(DeviceStreams, AWaitWithoutATimeoutMustNotTimeOut) {
  real_api = &Device(0).api();
  EpDeviceApi api = *real_api;
  api.Synchronize = NeverInTime;
  core::PluginDevice device(Device(0).plugin(), api, 0, {});
  const auto room = device.memories()[0]->Take(16, nullptr, "a value");
  DeviceStream stream(device);
  Submit(stream, At(numbers_), At(*room));
  const uint64_t point = stream.Signal();
  EXPECT_THAT(FailureOf([&] { stream.Synchronize(point); }), AllOf(StartsWith("EP_FAIL"), HasSubstr("no timeout")));
  core::ThrowIfFailed(real_api->Synchronize(stream.handle(), point, UINT64_MAX), "Synchronize");
}

TEST_F(DeviceStreams, ATableWithoutAFunctionThatIsNeededIsRefused) {
  EpDeviceApi api = Device(0).api();
  static EpDeviceApi given;
  given = api;
  given.Wait = nullptr;
  EpPluginDescriptor descriptor = *Device(0).plugin().descriptor;
  descriptor.GetExtension = [](EpPlugin*, const char*) -> const void* { return &given; };
  core::LoadedPlugin plugin = Device(0).plugin();
  plugin.descriptor = &descriptor;
  EXPECT_THAT(FailureOf([&] { core::Devices::ApiOf(plugin); }),
              AllOf(StartsWith("EP_FAIL"), HasSubstr("EpDeviceApi::Wait is null")));
  given = api;
  given.OnReached = nullptr;
  given.Trim = nullptr;
  EXPECT_EQ(core::Devices::ApiOf(plugin), &given);
  given.struct_size -= 8;
  EXPECT_THAT(FailureOf([&] { core::Devices::ApiOf(plugin); }), HasSubstr("EpDeviceApi::struct_size is"));
  given = api;
  given.reserved = 1;
  EXPECT_THAT(FailureOf([&] { core::Devices::ApiOf(plugin); }), HasSubstr("EpDeviceApi::reserved is 1"));
  given = api;
  given.Map = nullptr;
  EXPECT_THAT(FailureOf([&] { core::PluginDevice(plugin, given, 0, {}); }),
              HasSubstr("('shared') is mappable, but EpDeviceApi::Map is null"));
  given = api;
  given.Export = nullptr;
  EXPECT_THAT(FailureOf([&] { core::PluginDevice(plugin, given, 0, {}); }), HasSubstr("EpDeviceApi::Export is null"));
}

}  // namespace
}  // namespace epiphyte::test
