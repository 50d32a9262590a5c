// The memories and streams that the plugin gives to the host: their properties, and their state after the device is
// lost.
#include "plugins/vulkan/exec/device_memories.h"

#include <gmock/gmock.h>

#include <cstring>
#include <functional>
#include <set>

#include "plugins/vulkan/device/vk_device.h"
#include "tests/vulkan/lavapipe.h"

namespace epiphyte::vulkan {
namespace {

using testing::HasSubstr;

class Memories : public testing::Test {
 protected:
  void SetUp() override {
    if (!PinLavapipe()) GTEST_SKIP() << kNoLavapipe;
    instance_ = OpenInstance().instance;
    ASSERT_NE(instance_, nullptr);
    pool_.emplace(instance_);
    memories_.emplace(*instance_, *pool_);
  }

  struct Buffers {
    explicit Buffers(std::unique_ptr<kit::DeviceBuffer> made) : buffer(std::move(made)) {}
    EpBuffer* handle() const { return kit::ToHandle(buffer.get()); }
    std::unique_ptr<kit::DeviceBuffer> buffer;
  };
  Buffers Allocate(uint64_t size = 4096) { return Buffers(memories_->Allocate(0, 0, size)); }
  static void Copy(kit::DeviceStream& stream, EpCopyEnd from, EpCopyEnd to) {
    const EpCopy copy = {from, to, 4096};
    stream.Copy({&copy, 1});
  }
  static std::string FailureOf(const std::function<void()>& body) {
    try {
      body();
    } catch (const kit::Error& error) {
      return std::to_string(error.code()) + ": " + error.what();
    }
    return "OK";
  }

  std::shared_ptr<Instance> instance_;
  std::optional<DevicePool> pool_;
  std::optional<DeviceMemories> memories_;
};

const std::string kReset = std::to_string(EP_STATUS_DEVICE_RESET) + ": ";
const std::string kInvalid = std::to_string(EP_STATUS_INVALID_ARGUMENT) + ": ";

TEST_F(Memories, TheFirstIsTheDevicesOwnAndEachHasANameOfItsOwn) {
  const std::span<const EpMemoryInfo> all = memories_->Memories(0);
  EXPECT_NE(all[0].flags & EP_MEMORY_LOCAL, 0u);
  EXPECT_EQ(all[0].export_types, 0u) << "what is exported is allocated for it";
  std::set<std::string> names;
  for (const EpMemoryInfo& memory : all) names.insert(memory.name);
  EXPECT_EQ(names.size(), all.size());
  EXPECT_EQ(memories_->SetOf(0), ((1u << all.size()) - 1) << 1);
}

TEST_F(Memories, ADeviceIsOpenAsLongAsSomethingOfItIsThere) {
  EXPECT_EQ(pool_->Opened(0), nullptr);
  EXPECT_EQ(memories_->MemoryUse(0, 0).used_bytes, 0u);
  {
    const Buffers buffer = Allocate();
    EXPECT_NE(pool_->Opened(0), nullptr);
    EXPECT_GE(memories_->MemoryUse(0, 0).used_bytes, 4096u);
  }
  EXPECT_EQ(pool_->Opened(0), nullptr);
}

TEST_F(Memories, WhatIsNotThereIsRefused) {
  EXPECT_THAT(FailureOf([&] { memories_->Memories(99); }), HasSubstr(kInvalid + "device 99"));
  EXPECT_THAT(FailureOf([&] { memories_->Allocate(0, 99, 4096); }), HasSubstr(kInvalid + "memory 99"));
  EXPECT_THAT(FailureOf([&] { memories_->Allocate(0, 0, UINT64_MAX); }),
              HasSubstr(std::to_string(EP_STATUS_OUT_OF_MEMORY) + ": "));
  EpExternalMemory external = {};
  external.type = EP_HANDLE_WIN32;
  external.size = 4096;
  EXPECT_THAT(FailureOf([&] { memories_->Import(0, 0, external); }), HasSubstr("handle type 8 found, memory 'device'"));
  external.type = EP_HANDLE_OPAQUE_FD;
  external.handle = int64_t{1} << 40;
  if ((memories_->Memories(0)[0].import_types & EP_HANDLE_OPAQUE_FD) != 0) {
    EXPECT_THAT(FailureOf([&] { memories_->Import(0, 0, external); }), HasSubstr("is no file descriptor"));
  }
}

TEST_F(Memories, AfterALossNewBuffersAndStreamsWorkAndOldOnesFail) {
  const Buffers old = Allocate(), other = Allocate();
  const std::unique_ptr<kit::DeviceStream> stream = memories_->CreateStream(0);
  const uint64_t point = stream->Signal();
  std::vector<std::byte> bytes(4096, std::byte{5}), back(4096);
  const EpCopyEnd host = {nullptr, bytes.data(), 0};
  {
    const std::shared_ptr<Device> device = pool_->Get(0);
    DeviceFunctions& vk = device->handles().vk;
    const auto good = vk.vkQueueSubmit;
    vk.vkQueueSubmit = [](VkQueue, uint32_t, const VkSubmitInfo*, VkFence) { return VK_ERROR_DEVICE_LOST; };
    EXPECT_THAT(FailureOf([&] {
                  Copy(*stream, {old.handle(), nullptr, 0}, {other.handle(), nullptr, 0});
                }),
                HasSubstr(kReset + "vkQueueSubmit failed with VK_ERROR_DEVICE_LOST"));
    vk.vkQueueSubmit = good;
  }
  EXPECT_EQ(pool_->Opened(0), nullptr);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(FailureOf([&] { Copy(*stream, host, {old.handle(), nullptr, 0}); }), HasSubstr(kReset));
    EXPECT_THAT(FailureOf([&] { stream->Signal(); }), HasSubstr(kReset));
    EXPECT_THAT(FailureOf([&] { stream->Synchronize(point, UINT64_MAX); }), HasSubstr(kReset));
  }
  const Buffers fresh = Allocate();
  const std::unique_ptr<kit::DeviceStream> again = memories_->CreateStream(0);
  Copy(*again, host, {fresh.handle(), nullptr, 0});
  Copy(*again, {fresh.handle(), nullptr, 0}, {nullptr, back.data(), 0});
  again->Synchronize(again->Signal(), UINT64_MAX);
  EXPECT_EQ(back, bytes);
  EXPECT_THAT(FailureOf([&] {
                Copy(*again, {fresh.handle(), nullptr, 0}, {old.handle(), nullptr, 0});
              }),
              HasSubstr(kReset));
}

}  // namespace
}  // namespace epiphyte::vulkan
