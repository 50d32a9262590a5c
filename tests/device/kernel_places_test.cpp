// The places of kernels, as a plugin describes them. The host reads only the part that the plugin filled in, and
// refuses impossible values.
#include "core/abi/kernel_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/device/device_faults.h"

namespace epiphyte::test {
namespace {

using core::KernelPlaces;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class KernelPlacesTest : public DeviceTest {
 protected:
  EpKernelInfo Info(uint32_t flags = 0) {
    EpKernelInfo info = {};
    info.struct_size = sizeof info;
    info.flags = flags;
    info.input_count = static_cast<uint32_t>(inputs_.size());
    info.output_count = static_cast<uint32_t>(outputs_.size());
    info.input_memories = inputs_.data();
    info.output_memories = outputs_.data();
    info.output_aliases = aliases_.data();
    return info;
  }
  // Reads the places of a kernel with 3 inputs and 2 outputs.
  KernelPlaces Read(const EpKernelInfo& info, const core::LoadedPlugin* plugin = nullptr) {
    if (plugin == nullptr) plugin = &Device(0).plugin();
    return core::ReadKernelPlaces(info, {*plugin, "the kernel", devices_, 3, 2});
  }
  std::string Refusal(const EpKernelInfo& info, const core::LoadedPlugin* plugin = nullptr) {
    return FailureOf([&] { Read(info, plugin); });
  }

  std::vector<uint32_t> devices_ = {0};
  std::vector<uint32_t> inputs_ = {2, EP_MEMORIES_HOST | 4, 0};
  std::vector<uint32_t> outputs_ = {6, 0};
  std::vector<int32_t> aliases_ = {0, -1};
};

TEST_F(KernelPlacesTest, ZeroIsAKernelOnTheHost) {
  EpKernelInfo info = {};
  info.struct_size = sizeof info;
  const KernelPlaces places = Read(info);
  EXPECT_FALSE(places.on_device());
  EXPECT_EQ(places.OfInput(0), EP_MEMORIES_HOST);
  EXPECT_EQ(places.OfOutput(7), EP_MEMORIES_HOST);
  EXPECT_EQ(places.AliasOf(0), -1);
}

TEST_F(KernelPlacesTest, SetsAndAliasesAreCopied) {
  const KernelPlaces places = Read(Info(EP_KERNEL_ASYNC));
  inputs_.assign(3, 0);
  aliases_.assign(2, -1);
  EXPECT_TRUE(places.async);
  EXPECT_TRUE(places.on_device());
  EXPECT_EQ(places.device, 0u);
  EXPECT_EQ(places.OfInput(0), 2u);
  EXPECT_EQ(places.OfInput(1), EP_MEMORIES_HOST | 4);
  EXPECT_EQ(places.OfInput(2), EP_MEMORIES_HOST) << "0 means host memory";
  EXPECT_EQ(places.OfOutput(0), 6u);
  EXPECT_EQ(places.AliasOf(0), 0);
  EXPECT_EQ(places.AliasOf(1), -1);
}

TEST_F(KernelPlacesTest, ArraysMayBeNullOrShorter) {
  inputs_ = {2};
  EpKernelInfo info = Info();
  info.output_memories = nullptr;
  info.output_aliases = nullptr;
  const KernelPlaces places = Read(info);
  EXPECT_FALSE(places.async);
  EXPECT_TRUE(places.on_device());
  EXPECT_EQ(places.OfInput(0), 2u);
  EXPECT_EQ(places.OfInput(2), EP_MEMORIES_HOST);
  EXPECT_THAT(places.outputs, IsEmpty());
  EXPECT_EQ(places.AliasOf(0), -1);
}

TEST_F(KernelPlacesTest, WhatWasNotFilledIsNotRead) {
  EpKernelInfo info = Info(EP_KERNEL_ASYNC);
  info.struct_size = offsetof(EpKernelInfo, output_aliases);
  info.device = 77;
  KernelPlaces places = Read(info);
  EXPECT_TRUE(places.async);
  EXPECT_EQ(places.device, 0u);
  EXPECT_THAT(places.inputs, IsEmpty());
  info.struct_size = sizeof info.struct_size;
  places = Read(info);
  EXPECT_FALSE(places.async);
}

TEST_F(KernelPlacesTest, TheDeviceIsOneOfTheProviders) {
  devices_ = {1, 0};
  EpKernelInfo info = Info();
  info.device = 1;
  EXPECT_EQ(Read(info).device, 1u);
  devices_ = {1};
  info.device = 0;
  EXPECT_THAT(Refusal(info), AllOf(StartsWith("EP_FAIL"), HasSubstr("provider 'test_device'"),
                                   HasSubstr("DescribeKernel of 'the kernel' says that it is on device 0"),
                                   HasSubstr("its provider has device 1")));
  info.device = 9;
  EXPECT_THAT(Refusal(info), HasSubstr("says that it is on device 9"));
}

TEST_F(KernelPlacesTest, MemoriesAreTheDevices) {
  inputs_[1] = EP_MEMORIES_HOST | 1u << 8;
  EXPECT_THAT(Refusal(Info()), AllOf(StartsWith("EP_FAIL"), HasSubstr("names memory 7 for input 1"),
                                     HasSubstr("its device has memories 0 to 1")));
  inputs_[1] = 0;
  outputs_[1] = UINT32_MAX;
  EXPECT_THAT(Refusal(Info()), HasSubstr("names memory 2 for output 1"));
}

TEST_F(KernelPlacesTest, CountsAreAtMostThePartitions) {
  EpKernelInfo info = Info();
  info.input_count = UINT32_MAX;
  EXPECT_THAT(Refusal(info), AllOf(StartsWith("EP_FAIL"), HasSubstr("gives memories for 4294967295 inputs"),
                                   HasSubstr("the partition has 3")));
  info = Info();
  info.output_count = 3;
  EXPECT_THAT(Refusal(info), HasSubstr("gives memories for 3 outputs, but the partition has 2"));
}

TEST_F(KernelPlacesTest, AliasesAreInputs) {
  for (const int32_t bad : {3, 99, -2, INT32_MIN}) {
    aliases_[1] = bad;
    EXPECT_THAT(Refusal(Info()),
                AllOf(StartsWith("EP_FAIL"), HasSubstr("names input " + std::to_string(bad) + " for output 1"),
                      HasSubstr("the partition has 3 inputs")));
  }
}

TEST_F(KernelPlacesTest, ReservedIsZero) {
  EpKernelInfo info = Info();
  info.reserved = 5;
  EXPECT_THAT(Refusal(info), AllOf(StartsWith("EP_FAIL"), HasSubstr("has 5 in EpKernelInfo::reserved")));
}

TEST_F(KernelPlacesTest, WithoutTheExtensionKernelsAreOnTheHost) {
  EpPluginDescriptor descriptor = *Device(0).plugin().descriptor;
  descriptor.GetExtension = nullptr;
  core::LoadedPlugin plugin = Device(0).plugin();
  plugin.descriptor = &descriptor;
  EXPECT_THAT(Refusal(Info(EP_KERNEL_ASYNC), &plugin),
              AllOf(StartsWith("EP_FAIL"), HasSubstr("speaks of asynchronous work"),
                    HasSubstr("the plugin has no ep.device/draft1 extension")));
  EXPECT_THAT(Refusal(Info(), &plugin), HasSubstr("speaks of memories or aliases"));
  EpKernelInfo info = {};
  info.struct_size = sizeof info;
  info.output_count = 1;
  info.output_aliases = aliases_.data();
  EXPECT_THAT(Refusal(info, &plugin), HasSubstr("speaks of memories or aliases"));
  info.output_count = 0;
  info.flags = EP_KERNEL_EXCLUSIVE;
  EXPECT_EQ(Refusal(info, &plugin), "OK");
}

}  // namespace
}  // namespace epiphyte::test
