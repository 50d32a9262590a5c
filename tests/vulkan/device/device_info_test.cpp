#include "plugins/vulkan/device/device_info.h"

#include <cstdlib>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/device/coop_matrices.h"
#include "tests/vulkan/device/test_device.h"
#include "tests/vulkan/lavapipe.h"

namespace epiphyte::vulkan {
namespace {

using testing::HasSubstr;

std::vector<DeviceInfo> Devices() {
  std::vector<DeviceInfo> devices(3);
  for (uint32_t i = 0; i < 3; ++i) {
    devices[i].index = i;
    devices[i].device_uuid = {static_cast<uint8_t>(0xa0 + i)};
  }
  devices[0].name = "llvmpipe";
  devices[0].type = DeviceType::kSoftware;
  devices[1].name = "Small Graphics 1";
  devices[1].type = DeviceType::kIntegrated;
  devices[2].name = "BIG Graphics 2";
  devices[2].type = DeviceType::kDiscrete;
  return devices;
}

uint32_t Chosen(const std::vector<DeviceInfo>& devices, std::string device, bool allow_software = false) {
  return ChooseDevice(devices, {std::move(device), allow_software}).index;
}

TEST(ChooseDeviceTest, TheBestIsTakenWhenNothingIsSaid) { EXPECT_EQ(Chosen(Devices(), ""), 2u); }

TEST(ChooseDeviceTest, ByIndexNameTypeAndUuid) {
  EXPECT_EQ(Chosen(Devices(), "1"), 1u);
  EXPECT_EQ(Chosen(Devices(), "small"), 1u);
  EXPECT_EQ(Chosen(Devices(), "big graphics"), 2u);
  EXPECT_EQ(Chosen(Devices(), "Integrated"), 1u);
  EXPECT_EQ(Chosen(Devices(), "a1000000-0000-0000-0000-000000000000"), 1u);
  EXPECT_EQ(Chosen(Devices(), "A1000000000000000000000000000000"), 1u);
}

TEST(ChooseDeviceTest, ASoftwareDeviceIsTakenOnlyWhenItIsAskedFor) {
  std::vector<DeviceInfo> devices = Devices();
  devices.resize(1);
  EXPECT_THAT(ErrorOf([&] { Chosen(devices, ""); }), IsError(EP_STATUS_NOT_FOUND, "only a software device fits"));
  EXPECT_THAT(ErrorOf([&] { Chosen(devices, "llvm"); }), IsError(EP_STATUS_NOT_FOUND, "only a software device fits"));
  EXPECT_EQ(Chosen(devices, "", true), 0u);
  EXPECT_EQ(Chosen(devices, "llvm", true), 0u);
  EXPECT_EQ(Chosen(devices, "software"), 0u);
  EXPECT_EQ(Chosen(devices, "0"), 0u);
  EXPECT_EQ(Chosen(devices, "a0000000-0000-0000-0000-000000000000"), 0u);
}

TEST(ChooseDeviceTest, WhatFitsNothingIsAnErrorThatListsTheDevices) {
  EXPECT_THAT(ErrorOf([] { Chosen(Devices(), "3"); }),
              IsError(EP_STATUS_NOT_FOUND, "0 'llvmpipe' (software), 1 'Small Graphics 1' (integrated)"));
  EXPECT_THAT(ErrorOf([] { Chosen(Devices(), "huge"); }), IsError(EP_STATUS_NOT_FOUND, "'huge': none fits"));
  EXPECT_THAT(ErrorOf([] { Chosen(Devices(), "virtual"); }), IsError(EP_STATUS_NOT_FOUND, "none fits"));
  EXPECT_THAT(ErrorOf([] { Chosen({}, ""); }), IsError(EP_STATUS_NOT_FOUND, "there are: none"));
}

TEST(DeviceInfoTest, VersionsAndUuidsHaveTexts) {
  EXPECT_EQ(VersionText((1u << 22) | (3u << 12) | 230u), "1.3.230");
  EXPECT_EQ(TextOf(Uuid{0x12, 0xab}), "12ab0000-0000-0000-0000-000000000000");
}

TEST(CapabilitiesTest, WhatIsDisabledByNameIsGoneAndSaysWhy) {
  Capabilities can;
  can.has[static_cast<size_t>(Capability::kFp16)] = true;
  const std::string names[] = {"fp16", "coopmat"};
  can.Disable(names);
  EXPECT_FALSE(can.Has(Capability::kFp16));
  EXPECT_EQ(can.WhyNot(Capability::kFp16), "fp16 is turned off by option 'disable'");
  EXPECT_EQ(can.WhyNot(Capability::kCoopMatrix), "the device has no coopmat");
  const std::string wrong[] = {"fp17"};
  EXPECT_THAT(ErrorOf([&] { can.Disable(wrong); }),
              IsError(EP_STATUS_INVALID_ARGUMENT, "known are storage16, storage8"));
}

TEST(CapabilitiesTest, WhatIsSlowIsUsedWhenItIsPreferred) {
  Capabilities can;
  can.slow[static_cast<size_t>(Capability::kSubgroup)] = true;
  EXPECT_FALSE(can.Has(Capability::kSubgroup));
  EXPECT_EQ(can.WhyNot(Capability::kSubgroup), "the device does better without subgroup");
  Capabilities preferred = can;
  preferred.Prefer(Capability::kSubgroup);
  EXPECT_TRUE(preferred.Has(Capability::kSubgroup) && preferred.IsPreferred(Capability::kSubgroup));
  preferred.Prefer(Capability::kCoopMatrix);
  EXPECT_FALSE(preferred.Has(Capability::kCoopMatrix)) << "the device hasn't got it";
}

TEST(CapabilitiesTest, WhatIsDisabledStaysOffWhenItIsPreferred) {
  for (const bool slow : {false, true}) {
    Capabilities can;
    (slow ? can.slow : can.has)[static_cast<size_t>(Capability::kSubgroup)] = true;
    can.Disable(Capability::kSubgroup);
    can.Prefer(Capability::kSubgroup);
    EXPECT_FALSE(can.Has(Capability::kSubgroup));
    EXPECT_EQ(can.WhyNot(Capability::kSubgroup), "subgroup is turned off by option 'disable'");
  }
}

VkCooperativeMatrixPropertiesKHR Matrix(const MatrixShape& shape, VkComponentTypeKHR operands, VkComponentTypeKHR sums,
                                        VkScopeKHR scope = VK_SCOPE_SUBGROUP_KHR) {
  return {VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR, nullptr, shape.m, shape.n, shape.k, operands, operands,
          sums, sums, VK_FALSE, scope};
}
constexpr VkComponentTypeKHR kF16 = VK_COMPONENT_TYPE_FLOAT16_KHR, kF32 = VK_COMPONENT_TYPE_FLOAT32_KHR;

std::string UsableOf(const std::vector<VkCooperativeMatrixPropertiesKHR>& matrices) {
  const MatrixShape shape = UsableShape(matrices);
  return kit::TextOf(shape.m, 'x', shape.n, 'x', shape.k);
}

TEST(CoopMatricesTest, TheLargestOfFloat16WithFloatSumsIsUsed) {
  EXPECT_EQ(UsableOf({Matrix({16, 8, 8}, kF16, kF32), Matrix({16, 16, 16}, kF16, kF32), Matrix({16, 8, 16}, kF16, kF32)}),
            "16x16x16");
  EXPECT_EQ(UsableOf({Matrix({8, 16, 16}, kF16, kF32)}), "8x16x16");
}

TEST(CoopMatricesTest, OthersAreNot) {
  EXPECT_EQ(UsableOf({}), "0x0x0");
  EXPECT_EQ(UsableOf({Matrix({16, 16, 16}, kF16, kF16)}), "0x0x0") << "float16 can't hold long sums";
  EXPECT_EQ(UsableOf({Matrix({16, 16, 32}, VK_COMPONENT_TYPE_SINT8_KHR, VK_COMPONENT_TYPE_SINT32_KHR)}), "0x0x0");
  EXPECT_EQ(UsableOf({Matrix({64, 64, 16}, kF16, kF32, VK_SCOPE_WORKGROUP_KHR)}), "0x0x0");
  for (const MatrixShape& odd : {MatrixShape{12, 16, 16}, {16, 4, 16}, {16, 16, 64}})
    EXPECT_EQ(UsableOf({Matrix(odd, kF16, kF32)}), "0x0x0") << "tiles are no multiples";
}

TEST(CoopMatricesTest, AllHaveATextInOrder) {
  EXPECT_EQ(TextOf(std::vector{Matrix({8, 8, 32}, VK_COMPONENT_TYPE_UINT8_KHR, VK_COMPONENT_TYPE_UINT32_KHR),
                               Matrix({16, 16, 16}, kF16, kF32), Matrix({16, 16, 16}, kF16, kF16),
                               Matrix({16, 16, 16}, kF16, kF16), Matrix({64, 64, 64}, kF16, kF32, VK_SCOPE_WORKGROUP_KHR),
                               Matrix({16, 16, 16}, static_cast<VkComponentTypeKHR>(1000141000), kF32)}),
            "16x16x16 f16 f16 f16; 16x16x16 f16 f16 f32; 16x16x16 type 1000141000 type 1000141000 f32; 8x8x32 u8 u8 u32");
  EXPECT_EQ(TextOf(std::vector<VkCooperativeMatrixPropertiesKHR>{}), "");
}

class InstanceTest : public DeviceTest {};

TEST_F(InstanceTest, TheSoftwareDeviceDescribesItself) {
  const OpenedInstance opened = OpenInstance();
  ASSERT_NE(opened.instance, nullptr) << opened.why_not;
  EXPECT_EQ(opened.why_not, "");
  ASSERT_EQ(opened.instance->devices().size(), 1u);
  const DeviceInfo& device = opened.instance->devices()[0];
  EXPECT_THAT(device.name, HasSubstr("llvmpipe"));
  EXPECT_EQ(device.type, DeviceType::kSoftware);
  EXPECT_EQ(device.driver_name, "llvmpipe");
  EXPECT_THAT(device.driver_info, HasSubstr("Mesa"));
  EXPECT_NE(device.driver_id, 0u);
  EXPECT_NE(device.device_uuid, Uuid{});
  EXPECT_GE(device.api_version, (1u << 22) | (1u << 12));
  EXPECT_TRUE(device.unified_memory);
  EXPECT_TRUE(device.timestamps);
  EXPECT_GT(device.local_memory, 0u);
  EXPECT_GT(device.max_allocation, 0u);
  EXPECT_GE(device.subgroup_size, 4u);

  const Capabilities& can = device.capabilities;
  for (const Capability capability :
       {Capability::kStorage16, Capability::kStorage8, Capability::kInt64, Capability::kFp16, Capability::kInt8})
    EXPECT_TRUE(can.Has(capability)) << NameOf(capability);
  for (const Capability emulated : {Capability::kSharedMemory, Capability::kSubgroup}) {
    EXPECT_FALSE(can.Has(emulated)) << NameOf(emulated);
    EXPECT_TRUE(can.IsSlow(emulated)) << NameOf(emulated);
  }
  EXPECT_FALSE(can.Has(Capability::kCoopMatrix)) << "it is slow where there is one";
  if (can.IsSlow(Capability::kCoopMatrix)) {
    EXPECT_THAT(device.coop_matrix_shapes,
                HasSubstr(kit::TextOf(can.coop_matrix.m, 'x', can.coop_matrix.n, 'x', can.coop_matrix.k, " f16 f16 f32")));
  }
  EXPECT_EQ(can.subgroup_size, device.subgroup_size);
  EXPECT_LT(can.max_passes, 65'535u) << "llvmpipe makes no more";
  EXPECT_GE(can.max_bindings, 8u);
  EXPECT_GE(can.max_buffer_range, 128u << 20);
}

TEST_F(InstanceTest, OneIsKeptForAllThatWantTheSame) {
  const std::weak_ptr<Instance> first = OpenKeptInstance({}, "").instance;
  ASSERT_FALSE(first.expired()) << "nobody has it, and it is still there";
  const OpenedInstance again = OpenKeptInstance({}, "");
  EXPECT_EQ(again.instance, first.lock());
  EXPECT_EQ(again.why_not, "");
  InstanceOptions without;
  without.adjust = [](Capabilities& can) { can.Disable(Capability::kFp16); };
  const OpenedInstance other = OpenKeptInstance(without, "fp16");
  EXPECT_NE(other.instance, again.instance);
  EXPECT_FALSE(other.instance->devices().at(0).capabilities.Has(Capability::kFp16));
  EXPECT_NE(OpenKeptInstance({.validation = {.core = true}}, "").instance, again.instance)
      << "its messages are its user's";
}

TEST_F(InstanceTest, OtherDriversAreLookedForAnew) {
  ASSERT_NE(OpenKeptInstance({}, "").instance, nullptr);
  const std::string driver = std::getenv("VK_DRIVER_FILES");
  PinDriver("/nonexistent.json");
  EXPECT_THAT(OpenKeptInstance({}, "").why_not, HasSubstr("no Vulkan device was found"));
  PinDriver(driver.c_str());
  EXPECT_EQ(OpenKeptInstance({}, "").why_not, "");
}

TEST_F(InstanceTest, WithoutADriverThereAreNoDevicesAndAReason) {
  setenv("VK_DRIVER_FILES", "/nonexistent.json", 1);
  setenv("VK_ICD_FILENAMES", "/nonexistent.json", 1);
  const OpenedInstance opened = OpenInstance();
  EXPECT_THAT(opened.why_not, HasSubstr("no Vulkan device was found"));
  EXPECT_THAT(opened.why_not, HasSubstr("mesa-vulkan-drivers"));
}

TEST_F(InstanceTest, TheEnvironmentSaysWhatIsValidated) {
  setenv("EPIPHYTE_VULKAN_VALIDATION", "sync,best", 1);
  const Validation validation = ValidationOfEnvironment();
  EXPECT_TRUE(validation.synchronization && validation.best_practices);
  EXPECT_FALSE(validation.core || validation.gpu_assisted);
  setenv("EPIPHYTE_VULKAN_VALIDATION", "everything", 1);
  EXPECT_THAT(ErrorOf([] { ValidationOfEnvironment(); }), IsError(EP_STATUS_INVALID_ARGUMENT, "'everything'"));
  unsetenv("EPIPHYTE_VULKAN_VALIDATION");
  EXPECT_FALSE(ValidationOfEnvironment().Any());
}

}  // namespace
}  // namespace epiphyte::vulkan
