#include <cstring>
#include <numeric>
#include <set>

#include "plugins/vulkan/device/vk_memory.h"
#include "tests/vulkan/device/test_device.h"
#include "tests/vulkan/lavapipe.h"

namespace epiphyte::vulkan {
namespace {

class MemoryTest : public DeviceTest {};

constexpr uint64_t kMiB = 1 << 20;

TEST_F(MemoryTest, ManyBuffersLieInFewAllocationsWithoutTouching) {
  const auto device = Open();
  std::vector<std::shared_ptr<Buffer>> buffers;
  for (uint64_t i = 0; i < 1000; ++i) buffers.push_back(device->Allocate(1 + i * 7, "a buffer"));
  EXPECT_LE(device->counters().allocations, 2u);
  for (size_t i = 0; i < buffers.size(); ++i) std::memset(buffers[i]->mapped(), static_cast<int>(i % 251), buffers[i]->size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(buffers[i]->offset_in_block() % 256, 0u);
    EXPECT_EQ(static_cast<size_t>(buffers[i]->mapped()[buffers[i]->size() - 1]), i % 251);
  }
}

TEST_F(MemoryTest, WhatIsFreedIsUsedAgainAndGivenBackWithTheLastBuffer) {
  const auto device = Open();
  const uint64_t objects = device->counters().vulkan_objects;
  auto first = device->Allocate(kMiB, "first");
  auto second = device->Allocate(kMiB, "second");
  auto third = device->Allocate(kMiB, "third");
  EXPECT_EQ(device->counters().used_bytes, 3 * kMiB);
  const std::byte* place = first->mapped();
  for (const bool forwards : {true, false}) {  // freed in either order, the two gaps are merged
    (forwards ? first : second).reset();
    (forwards ? second : first).reset();
    auto both = device->Allocate(2 * kMiB, "both");
    EXPECT_EQ(both->mapped(), place);
    both.reset();
    first = device->Allocate(kMiB, "first");
    second = device->Allocate(kMiB, "second");
  }
  EXPECT_EQ(device->counters().vulkan_objects, objects + 2) << "one allocation and its VkBuffer";
  first.reset();
  second.reset();
  third.reset();
  EXPECT_EQ(device->counters().used_bytes, 0u);
  EXPECT_EQ(device->counters().allocated_bytes, 0u);
  EXPECT_EQ(device->counters().allocations, 0u);
}

TEST_F(MemoryTest, ABufferOutlivesItsDevice) {
  auto device = Open();
  const std::weak_ptr<Device> weak = device;
  auto buffer = device->Allocate(100, "a buffer");
  device.reset();
  EXPECT_FALSE(weak.expired());
  buffer->mapped()[99] = std::byte{1};
  buffer.reset();
  EXPECT_TRUE(weak.expired());
}

TEST_F(MemoryTest, NoBytesGiveABufferAsWell) {
  const auto device = Open();
  const auto buffer = device->Allocate(0, "nothing");
  EXPECT_EQ(buffer->size(), 0u);
}

TEST_F(MemoryTest, MoreThanThereIsIsAnErrorWithSizes) {
  const auto device = Open();
  const auto held = device->Allocate(kMiB, "held");
  const std::string bytes = std::to_string(device->info().local_memory + 1);
  const kit::Error error = ErrorOf([&] { device->Allocate(device->info().local_memory + 1, "the arena"); });
  EXPECT_THAT(error, IsError(EP_STATUS_OUT_OF_MEMORY, "the arena: " + bytes + " bytes of memory of llvmpipe"));
  EXPECT_THAT(error, IsError(EP_STATUS_OUT_OF_MEMORY, "4194304 bytes are in use, in 1 allocations"));
  EXPECT_THAT(ErrorOf([&] { device->Allocate(UINT64_MAX, "the arena"); }), IsError(EP_STATUS_OUT_OF_MEMORY, "the arena"));
  EXPECT_EQ(device->counters().allocations, 1u);
}

TEST_F(MemoryTest, ALimitIsKeptByThoseThatTakeFromIt) {
  const auto device = Open();
  const auto limit = std::make_shared<MemoryLimit>(64 * kMiB);
  const auto take = [&] { return device->Allocate(40 * kMiB, "weights", MemoryUse::kDevice, limit); };
  auto buffer = take();
  EXPECT_THAT(ErrorOf(take), IsError(EP_STATUS_OUT_OF_MEMORY, "the limit is 67108864 bytes, 41943040 are taken"));
  EXPECT_NO_THROW(device->Allocate(40 * kMiB, "of another session"));
  buffer.reset();
  EXPECT_NO_THROW(take());
  EXPECT_THAT(ErrorOf([&] { device->Allocate(UINT64_MAX, "weights", MemoryUse::kDevice, limit); }),
              IsError(EP_STATUS_OUT_OF_MEMORY, "the limit is"));
  EXPECT_EQ(limit->used(), 0u);
}

TEST_F(MemoryTest, UnderASmallLimitSmallBuffersStillLieTogether) {
  const auto device = Open();
  const auto limit = std::make_shared<MemoryLimit>(kMiB);
  std::vector<std::shared_ptr<Buffer>> buffers;
  for (int i = 0; i < 60; ++i) buffers.push_back(device->Allocate(16 << 10, "a buffer", MemoryUse::kDevice, limit));
  EXPECT_LE(device->counters().allocations, 2u);
  EXPECT_THAT(ErrorOf([&] { device->Allocate(kMiB / 2, "the arena", MemoryUse::kDevice, limit); }),
              IsError(EP_STATUS_OUT_OF_MEMORY, "the limit is 1048576 bytes"));
}

TEST_F(MemoryTest, WhatTheDriverRefusesIsAnErrorAndLeavesNothingBehind) {
  const auto device = Open();
  auto& vk = device->handles().vk;
  const auto allocate = vk.vkAllocateMemory;
  vk.vkAllocateMemory = [](VkDevice, const VkMemoryAllocateInfo*, const VkAllocationCallbacks*, VkDeviceMemory*) {
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  };
  EXPECT_THAT(ErrorOf([&] { device->Allocate(32 * kMiB, "weights"); }),
              IsError(EP_STATUS_OUT_OF_MEMORY, "vkAllocateMemory failed with VK_ERROR_OUT_OF_DEVICE_MEMORY"));
  vk.vkAllocateMemory = allocate;
  EXPECT_EQ(device->counters().allocations, 0u);
  EXPECT_EQ(device->counters().allocated_bytes, 0u);
  EXPECT_NO_THROW(device->Allocate(32 * kMiB, "weights"));
}

// Simulates a device without host-visible memory: everything goes through the staging buffer.
class StagedTest : public DeviceTest {
 protected:
  std::shared_ptr<Device> OpenStaged(const Validation& validation = {}) { return OpenAs(false, true, validation); }
};

TEST_F(StagedTest, UploadsAndDownloadsOfAnySizeArrive) {
  const auto device = OpenStaged();
  std::vector<BufferRange> ranges;
  std::vector<std::vector<uint32_t>> data;
  std::vector<HostToDevice> uploads;
  // The uploads together, and the one of 36 MiB alone, exceed the staging buffer.
  for (const uint32_t count : {1u, 1000u, 3u << 20, 17u, 9u << 20, 100u}) {
    ranges.push_back(Numbers(*device, count));
    data.emplace_back(count);
    std::iota(data.back().begin(), data.back().end(), count);
  }
  ASSERT_EQ(ranges[0].buffer->mapped(), nullptr);
  for (size_t i = 0; i < ranges.size(); ++i) uploads.push_back({ranges[i], data[i].data()});
  device->Upload(uploads);
  std::vector<std::vector<uint32_t>> back;
  std::vector<DeviceToHost> downloads;
  for (size_t i = 0; i < ranges.size(); ++i) {
    back.emplace_back(data[i].size());
    downloads.push_back({ranges[i], back.back().data()});
  }
  device->Download(downloads);
  for (size_t i = 0; i < ranges.size(); ++i) EXPECT_EQ(back[i], data[i]) << i;
}

TEST_F(StagedTest, ProgramsCopyTheirInputsAndOutputs) {
  const auto device = OpenStaged();
  const BufferRange a = Numbers(*device, 1000);
  const BufferRange b = Numbers(*device, 1000);
  HostList list;
  list.commands = {Add(a, b, 5)};
  list.inputs = {a};
  list.outputs = {b};
  HostProgram program(device, list);
  for (const uint32_t value : {1u, 2u})
    EXPECT_EQ(Run(program, std::vector<uint32_t>(1000, value)), std::vector<uint32_t>(1000, value + 5));
}

TEST_F(StagedTest, TransfersAreCleanUnderValidation) {
  const auto device = OpenStaged({.core = true, .synchronization = true});
  const BufferRange a = Numbers(*device, 1000);
  const BufferRange b = Numbers(*device, 1000);
  const std::vector<uint32_t> ones(1000, 1);
  const HostToDevice upload = {a, ones.data()};
  device->Upload({&upload, 1});
  HostList list;
  list.commands = {Add(a, b, 5), Double(b)};
  list.inputs = {a};
  list.outputs = {b};
  HostProgram program(device, list);
  EXPECT_EQ(Run(program, ones), std::vector<uint32_t>(1000, 12));
  std::vector<uint32_t> back(1000);
  const DeviceToHost download = {b, back.data()};
  device->Download({&download, 1});
  EXPECT_EQ(back, std::vector<uint32_t>(1000, 12));
  EXPECT_EQ(Run(program, ones), std::vector<uint32_t>(1000, 12));
  EXPECT_THAT(device->instance().TakeValidationMessages(), testing::IsEmpty());
}

TEST_F(StagedTest, ACopyThatLeavesItsBufferIsRefused) {
  const auto device = OpenStaged();
  BufferRange range = Numbers(*device, 10);
  const std::vector<uint32_t> data(11);
  range.offset = 4;
  const HostToDevice upload = {range, data.data()};
  EXPECT_THAT(ErrorOf([&] { device->Upload({&upload, 1}); }), IsError(EP_STATUS_INVALID_ARGUMENT, "40 bytes at 4 leaves a buffer of 40"));
}

}  // namespace
}  // namespace epiphyte::vulkan
