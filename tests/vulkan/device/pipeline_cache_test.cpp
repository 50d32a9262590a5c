// Pipeline caches: a driver gets back the data that it made. It gets no other data, even if their digests match.
#include <cstring>

#include "epiphyte/kit/memory/digest.hpp"
#include "plugins/vulkan/device/vk_device.h"
#include "tests/vulkan/device/test_device.h"
#include "tests/vulkan/lavapipe.h"

namespace epiphyte::vulkan {
namespace {

class PipelineCacheTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    device_ = Open();
    const size_t own_bytes = device_->PipelineCacheData().size();
    if (own_bytes == 0) GTEST_SKIP() << kNoCacheData;
    // Mesa's software device keeps nothing but the header, so the test appends 40 bytes to it.
    if (own_bytes > kHeaderBytes + 32) GTEST_SKIP() << "this driver takes what it made alone";
    get_ = device_->handles().vk.vkGetPipelineCacheData;
    device_->handles().vk.vkGetPipelineCacheData = [](VkDevice device, VkPipelineCache cache, size_t* size,
                                                      void* data) {
      constexpr size_t kMore = 40;
      size_t own = data == nullptr ? 0 : *size - kMore;
      const VkResult result = get_(device, cache, &own, data);
      if (data != nullptr) std::memset(static_cast<std::byte*>(data) + own, 7, kMore);
      *size = own + kMore;
      return result;
    };
    data_ = device_->PipelineCacheData();
    // From here on, `given_` counts the pipeline caches that the driver is asked to create from data.
    given_ = 0;
    real_ = device_->handles().vk.vkCreatePipelineCache;
    device_->handles().vk.vkCreatePipelineCache = [](VkDevice device, const VkPipelineCacheCreateInfo* info,
                                                     const VkAllocationCallbacks* callbacks, VkPipelineCache* cache) {
      if (info->initialDataSize > 0) ++given_;
      return real_(device, info, callbacks, cache);
    };
  }

  // Returns the reason why a cache with `number` at offset `at` is refused; "" if it is used. The digests are
  // recomputed, as an attacker who knows the format would do.
  template <typename T>
  std::string WhyNotWith(size_t at, T number) {
    std::vector<std::byte> forged = data_;
    std::memcpy(forged.data() + at, &number, sizeof number);
    if (at >= kHeaderBytes)
      Put(forged, kDataDigest, kit::Digest(forged.data() + kHeaderBytes, forged.size() - kHeaderBytes));
    Put(forged, kHeaderDigest, kit::Digest(forged.data(), kHeaderDigest));
    return device_->UsePipelineCacheData(forged);
  }
  static void Put(std::vector<std::byte>& bytes, size_t at, uint64_t number) {
    std::memcpy(bytes.data() + at, &number, sizeof number);
  }

  // Offsets and size in bytes of the header that pipeline_cache.cpp writes.
  static constexpr size_t kHeaderBytes = 128, kDataBytes = 104, kDataDigest = 112, kHeaderDigest = 120;

  std::shared_ptr<Device> device_;
  std::vector<std::byte> data_;
  static inline int given_ = 0;
  static inline PFN_vkCreatePipelineCache real_ = nullptr;
  static inline PFN_vkGetPipelineCacheData get_ = nullptr;
};

TEST_F(PipelineCacheTest, WhatADriverMadeItTakes) {
  ASSERT_EQ(data_.size(), 128u + 32u + 40u);
  EXPECT_EQ(device_->UsePipelineCacheData(data_), "");
  EXPECT_EQ(given_, 1);
  const auto another = Open();
  EXPECT_EQ(another->UsePipelineCacheData(data_), "");
}

TEST_F(PipelineCacheTest, EqualCachesAreEqualBytes) {
  EXPECT_EQ(Open()->PipelineCacheData(), Open()->PipelineCacheData());
}

TEST_F(PipelineCacheTest, NoBitMayDiffer) {
  for (size_t i = 0; i < data_.size(); ++i)
    for (const uint8_t flip : {0x01, 0x80}) {
      std::vector<std::byte> changed = data_;
      changed[i] ^= std::byte{flip};
      EXPECT_NE(device_->UsePipelineCacheData(changed), "") << "byte " << i;
    }
  EXPECT_EQ(given_, 0);
}

TEST_F(PipelineCacheTest, NoByteMayBeMissingOrTooMuch) {
  for (size_t size = 0; size < data_.size(); ++size)
    EXPECT_NE(device_->UsePipelineCacheData(std::span(data_).first(size)), "") << size;
  data_.push_back(std::byte{0});
  EXPECT_NE(device_->UsePipelineCacheData(data_), "");
  EXPECT_EQ(given_, 0);
}

TEST_F(PipelineCacheTest, AnotherDeviceDriverOrKernelSetIsNamed) {
  const auto reason = [&](const std::function<void(DeviceInfo&)>& change, const KernelSet& kernels) {
    const OpenedInstance opened = OpenInstance();
    DeviceInfo info = ChooseDevice(opened.instance->devices(), {.device = TestDevice()});
    change(info);
    return Device::Open(opened.instance, info, {&kernels})->UsePipelineCacheData(data_);
  };
  const std::string device = "the pipeline cache is of another device";
  const std::string driver = "the pipeline cache is of another driver, or of another version of it";
  EXPECT_EQ(reason([](DeviceInfo&) {}, TestKernels()), "");
  EXPECT_EQ(reason([](DeviceInfo& info) { ++info.vendor_id; }, TestKernels()), device);
  EXPECT_EQ(reason([](DeviceInfo& info) { ++info.device_id; }, TestKernels()), device);
  EXPECT_EQ(reason([](DeviceInfo& info) { ++info.device_uuid[3]; }, TestKernels()), device);
  EXPECT_EQ(reason([](DeviceInfo& info) { ++info.api_version; }, TestKernels()), driver);
  EXPECT_EQ(reason([](DeviceInfo& info) { ++info.driver_version; }, TestKernels()), driver);
  EXPECT_EQ(reason([](DeviceInfo& info) { ++info.driver_id; }, TestKernels()), driver);
  EXPECT_EQ(reason([](DeviceInfo& info) { info.driver_info += "!"; }, TestKernels()), driver);
  EXPECT_EQ(reason([](DeviceInfo& info) { info.driver_name += "!"; }, TestKernels()), driver);
  EXPECT_EQ(reason([](DeviceInfo& info) { ++info.driver_uuid[15]; }, TestKernels()), driver);
  EXPECT_EQ(reason([](DeviceInfo& info) { ++info.pipeline_cache_uuid[0]; }, TestKernels()), driver);
  const KernelSet fewer(TestKernels().shaders().first(1));
  EXPECT_EQ(reason([](DeviceInfo&) {}, fewer), "the pipeline cache is of another version of the kernels");
}

TEST_F(PipelineCacheTest, EveryFieldIsLookedAtThoughTheDigestsFit) {
  const std::string device = "the pipeline cache is of another device";
  const std::string driver = "the pipeline cache is of another driver, or of another version of it";
  EXPECT_EQ(WhyNotWith<uint8_t>(0, 'e'), "the pipeline cache is none");
  for (const size_t version_or_size : {8, 12})
    EXPECT_EQ(WhyNotWith<uint32_t>(version_or_size, 200), "the pipeline cache has another format");
  for (const size_t of_device : {16, 20, 40, 52})
    EXPECT_EQ(WhyNotWith<uint32_t>(of_device, 0x5EED), device) << of_device;
  for (const size_t of_driver : {24, 28, 32, 36, 56, 68, 72, 84, 88})
    EXPECT_EQ(WhyNotWith<uint32_t>(of_driver, 0x5EED), driver) << of_driver;
  EXPECT_EQ(WhyNotWith<uint64_t>(96, 1), "the pipeline cache is of another version of the kernels");
  for (const uint64_t size : {uint64_t{0}, uint64_t{71}, uint64_t{73}, ~uint64_t{0}})
    EXPECT_EQ(WhyNotWith<uint64_t>(kDataBytes, size), "the pipeline cache is cut off, or too long") << size;
  EXPECT_EQ(WhyNotWith<uint64_t>(kDataDigest, 1), "the pipeline cache is damaged");
  EXPECT_EQ(given_, 0);
}

// Vulkan's own header precedes the driver's data: size, version, vendor, device and UUID. A mismatch in any is refused.
TEST_F(PipelineCacheTest, DataThatAreAnotherDriversAreNotGivenToThisOne) {
  for (const uint32_t size : {0u, 31u, 73u, ~0u})
    EXPECT_EQ(WhyNotWith<uint32_t>(kHeaderBytes, size), "the pipeline cache holds another driver's data") << size;
  for (const size_t at : {4, 8, 12, 16, 28})
    EXPECT_EQ(WhyNotWith<uint32_t>(kHeaderBytes + at, 0x5EED), "the pipeline cache holds another driver's data") << at;
  EXPECT_EQ(given_, 0);
  // The bytes behind the header are the driver's own format and are passed on unchecked.
  EXPECT_EQ(WhyNotWith<uint32_t>(kHeaderBytes + 32, 0x5EED), "");
  EXPECT_EQ(given_, 1);
}

TEST_F(PipelineCacheTest, ADriverThatGivesWhatIsNotItsOwnGivesNothing) {
  device_->handles().vk.vkGetPipelineCacheData = [](VkDevice, VkPipelineCache, size_t* size, void* data) {
    *size = 32;
    if (data != nullptr) std::memset(data, 0, 32);
    return VK_SUCCESS;
  };
  EXPECT_TRUE(device_->PipelineCacheData().empty());
}

}  // namespace
}  // namespace epiphyte::vulkan
