// External memory: buffers over the application's host memory and descriptors, and descriptors that buffers export.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "plugins/vulkan/device/vk_device.h"
#include "plugins/vulkan/device/vk_instance.h"
#include "tests/vulkan/device/test_device.h"

namespace epiphyte::vulkan {
namespace {

class ExternalMemoryTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped()) device_ = Open(ValidationOfEnvironment());
  }
  void TearDown() override {
    if (device_ == nullptr) return;
    EXPECT_THAT(device_->instance().TakeValidationMessages(), testing::IsEmpty());
  }
  // Runs x = 2x on the device.
  void DoubleOnDevice(const std::shared_ptr<Device>& device, const BufferRange& x) {
    CommandList list;
    list.commands = {Double(x)};
    CompiledProgram program(device, list);
    Stream stream(device);
    program.Submit(stream);
    stream.Synchronize(stream.Signal());
  }

  std::shared_ptr<Device> device_;
};

struct Pages {
  explicit Pages(size_t count) : size(4096 * count) {
    data = static_cast<uint32_t*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  ~Pages() { munmap(data, size); }
  uint32_t* data;
  size_t size;
};

TEST_F(ExternalMemoryTest, ABufferOverHostMemoryIsThatMemory) {
  if (!device_->info().imports_host_pointers) GTEST_SKIP() << "the driver imports no host memory";
  Pages pages(3);
  for (const uint64_t offset : {uint64_t{0}, uint64_t{4096}, uint64_t{256}}) {
    std::fill_n(pages.data, pages.size / 4, 21u);
    const std::shared_ptr<Buffer> buffer =
        device_->Import({ExternalHandle::kHostPointer, pages.data, -1, offset, 4096});
    EXPECT_EQ(reinterpret_cast<std::byte*>(pages.data) + offset, buffer->mapped());
    DoubleOnDevice(device_, {buffer, 0, 4096});
    for (size_t i = 0; i < pages.size / 4; ++i) {
      const bool inside = 4 * i >= offset && 4 * i < offset + 4096;
      ASSERT_EQ(pages.data[i], inside ? 42u : 21u) << i << " with offset " << offset;
    }
  }
}

TEST_F(ExternalMemoryTest, WhatADeviceCantHaveIsRefusedWithWhatItWants) {
  Pages pages(2);
  const auto failure = [&](const ExternalMemory& external) { return ErrorOf([&] { device_->Import(external); }); };
  EXPECT_THAT(failure({ExternalHandle::kHostPointer, pages.data, -1, 4, 4096}),
              IsError(EP_STATUS_INVALID_ARGUMENT, "wants multiples of"));
  EXPECT_THAT(failure({ExternalHandle::kHostPointer, nullptr, -1, 0, 4096}),
              IsError(EP_STATUS_INVALID_ARGUMENT, "null"));
  EXPECT_THAT(failure({ExternalHandle::kHostPointer, pages.data, -1, 0, 0}),
              IsError(EP_STATUS_INVALID_ARGUMENT, "0 bytes"));
  EXPECT_THAT(failure({ExternalHandle::kHostPointer, pages.data, -1, UINT64_MAX - 1, 4096}),
              IsError(EP_STATUS_INVALID_ARGUMENT, "more than any memory has"));
  EXPECT_THAT(failure({ExternalHandle::kOpaqueFd, nullptr, 1000000, 0, 4096}),
              IsError(EP_STATUS_INVALID_ARGUMENT, "isn't open"));
  if (!device_->info().imports_dma_buf) {
    EXPECT_THAT(failure({ExternalHandle::kDmaBuf, nullptr, 0, 0, 4096}),
                IsError(EP_STATUS_INVALID_ARGUMENT, "imports no dma-bufs"));
  }
  EXPECT_EQ(device_->counters().used_bytes, 0u);
}

TEST_F(ExternalMemoryTest, WhatTheDriverHasConditionsForIsLeftOutOrRefused) {
  InstanceHandles& instance = device_->instance().handles();
  const InstanceFunctions good = instance.vk;
  if (device_->info().exports_opaque_fd) {
    instance.vk.vkGetPhysicalDeviceExternalBufferProperties =
        [](VkPhysicalDevice, const VkPhysicalDeviceExternalBufferInfo*, VkExternalBufferProperties* found) {
          found->externalMemoryProperties.externalMemoryFeatures = VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT |
                                                                   VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT |
                                                                   VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
        };
    const DeviceInfo info = DescribeDevice(instance.vk, device_->handles().physical);
    EXPECT_FALSE(info.exports_opaque_fd) << "a buffer's memory of its own would have to be said";
    EXPECT_FALSE(info.imports_opaque_fd);
    instance.vk = good;
  }
  if (device_->info().imports_host_pointers) {
    // Simulates a device with a single memory type, which is not host-coherent.
    instance.vk.vkGetPhysicalDeviceMemoryProperties = [](VkPhysicalDevice, VkPhysicalDeviceMemoryProperties* memory) {
      *memory = {};
      memory->memoryTypeCount = memory->memoryHeapCount = 1;
      memory->memoryTypes[0] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, 0};
      memory->memoryHeaps[0] = {uint64_t{1} << 30, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
    };
    const auto device = Device::Open(device_->instance().shared_from_this(), device_->info(), {&TestKernels()});
    instance.vk = good;
    Pages pages(1);
    EXPECT_THAT(ErrorOf([&] {
                  device->Import({ExternalHandle::kHostPointer, pages.data, -1, 0, 4096});
                }),
                IsError(EP_STATUS_INVALID_ARGUMENT, "doesn't see what the host writes"));
  }
}

TEST_F(ExternalMemoryTest, AnExportedBufferIsTheSameMemoryInAnotherDevice) {
  if (!device_->info().exports_opaque_fd || !device_->info().imports_opaque_fd)
    GTEST_SKIP() << "the driver exports no descriptors";
  const auto other = Open();
  const BufferRange mine = {device_->AllocateExportable(8000, ExternalHandle::kOpaqueFd), 0, 8000};
  std::vector<uint32_t> numbers(2000, 3);
  const HostToDevice upload = {mine, numbers.data()};
  device_->Upload({&upload, 1});
  ExternalMemory external = mine.buffer->Export(ExternalHandle::kOpaqueFd);
  EXPECT_GE(external.size, 8000u);
  const BufferRange theirs = {other->Import(external), 0, 8000};
  close(external.descriptor);
  DoubleOnDevice(other, theirs);
  const DeviceToHost download = {mine, numbers.data()};
  device_->Download({&download, 1});
  EXPECT_EQ(numbers, std::vector<uint32_t>(2000, 6));
}

TEST_F(ExternalMemoryTest, OnlyWhatWasMadeForItIsExported) {
  const auto buffer = device_->Allocate(4096, "a buffer");
  EXPECT_THAT(ErrorOf([&] { buffer->Export(ExternalHandle::kOpaqueFd); }),
              IsError(EP_STATUS_INVALID_ARGUMENT, "not allocated for such a handle"));
}

TEST_F(ExternalMemoryTest, BuffersThatAreGoneAreCountedNoMore) {
  Pages pages(1);
  for (int i = 0; i < 3; ++i) {
    if (device_->info().imports_host_pointers) device_->Import({ExternalHandle::kHostPointer, pages.data, -1, 0, 4096});
    if (!device_->info().exports_opaque_fd) continue;
    device_->AllocateExportable(5000, ExternalHandle::kOpaqueFd);
    device_->AllocateExportable(0, ExternalHandle::kOpaqueFd);
  }
  EXPECT_EQ(device_->counters().used_bytes, 0u);
  EXPECT_EQ(device_->counters().allocated_bytes, 0u);
  EXPECT_EQ(device_->counters().allocations, 0u);
}

}  // namespace
}  // namespace epiphyte::vulkan
