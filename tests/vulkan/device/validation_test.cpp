// Each kind of validation (core, synchronization, GPU-assisted, best practices) finds programs clean and reports a
// planted defect.
#include <algorithm>

#include "plugins/vulkan/device/vk_pipelines.h"
#include "tests/vulkan/device/test_device.h"
#include "tests/vulkan/lavapipe.h"

namespace epiphyte::vulkan {
namespace {

struct Lane {
  const char* name;
  Validation validation;
};
void PrintTo(const Lane& lane, std::ostream* out) { *out << lane.name; }

constexpr Lane kCore = {"core", {.core = true}};
constexpr Lane kSynchronization = {"sync", {.synchronization = true}};
constexpr Lane kGpuAssisted = {"gpu", {.gpu_assisted = true}};
constexpr Lane kBestPractices = {"best", {.best_practices = true}};

class ValidationTest : public DeviceTest {};

class LaneTest : public DeviceTest, public testing::WithParamInterface<Lane> {};

TEST_P(LaneTest, ProgramsAreClean) {
  const auto device = Open(GetParam().validation);
  const BufferRange a = Numbers(*device, 1000);
  const BufferRange b = Numbers(*device, 1000);
  const BufferRange none = {a.buffer, 0, 0};
  HostList list;
  list.commands = {Add(a, b, 1), Double(b), Add(none, none, 1), Add(none, none, 1), Add(b, a, 1)};
  list.inputs = {a};
  list.outputs = {a};
  EXPECT_EQ(UseDevice(device, list, std::vector<uint32_t>(1000, 4), 2000), std::vector<uint32_t>(1000, 11));
  EXPECT_EQ(device->instance().validation_errors(), 0u);
  EXPECT_THAT(device->instance().TakeValidationMessages(), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Lanes, LaneTest, testing::Values(kCore, kSynchronization, kGpuAssisted, kBestPractices),
                         [](const auto& lane) { return std::string(lane.param.name); });

TEST_F(ValidationTest, CoreReportsABindingThatIsNotAligned) {
  const OpenedInstance opened = OpenInstance({.validation = kCore.validation});
  DeviceInfo info = ChooseDevice(opened.instance->devices(), {.device = TestDevice()});
  info.capabilities.buffer_offset_alignment = 4;  // smaller than the driver requires
  const auto device = Device::Open(opened.instance, info, {&TestKernels()});
  BufferRange a = Numbers(*device, 100);
  a.offset = 4;
  a.size = 4;
  HostList list;
  list.commands = {Double(a)};
  EXPECT_THAT(ErrorOf([&] { HostProgram(device, list); }), IsError(EP_STATUS_EP_FAIL, "VUID-VkWriteDescriptorSet"));
}

TEST_F(ValidationTest, SynchronizationReportsAWriteThatWasNotSaid) {
  const auto device = Open(kSynchronization.validation);
  const BufferRange a = Numbers(*device, 1000);
  const BufferRange b = Numbers(*device, 1000);
  HostList list;
  list.commands = {Add(a, b, 1), Add(b, a, 1)};
  // The writes are declared as reads, so no barrier is recorded.
  for (Command& command : list.commands) command.bindings[1].access = Access::kRead;
  EXPECT_THAT(ErrorOf([&] { HostProgram(device, list); }), IsError(EP_STATUS_EP_FAIL, "SYNC-HAZARD"));
}

// Copies and shaders are different pipeline stages. A barrier from a shader to a copy also covers later shaders.
TEST_F(ValidationTest, ABarrierBeforeACopyIsOneForLaterShaders) {
  const auto device = Open(kSynchronization.validation);
  const BufferRange x = Numbers(*device, 1000), a = Numbers(*device, 1000), b = Numbers(*device, 1000),
                    c = Numbers(*device, 1000), d = Numbers(*device, 1000);
  const Command copy = {.bindings = {{a, Access::kRead}, {c, Access::kWrite}}};
  HostList list;
  list.commands = {Add(x, a, 1), Add(x, b, 2), copy, Add(b, d, 3)};
  EXPECT_THAT(ErrorOf([&] { HostProgram(device, list); }), IsError(EP_STATUS_OK, ""));
}

TEST_F(ValidationTest, GpuAssistedReportsAnElementOutOfBoundsOfItsRange) {
  const auto device = Open(kGpuAssisted.validation);
  BufferRange a = Numbers(*device, 1000);
  a.size = 400;
  HostList list;
  list.commands = {
      {.shader = "unchecked.u32", .parameters = {100}, .bindings = {{a, Access::kWrite}}, .groups = {1, 1, 1}}};
  HostProgram program(device, list);
  EXPECT_THAT(ErrorOf([&] { program.Run({}, {}); }), IsError(EP_STATUS_EP_FAIL, "out of bounds"));
}

TEST_F(ValidationTest, BestPracticesReportsACommandPoolForResettingEachBuffer) {
  const auto device = Open(kBestPractices.validation);
  DeviceHandles& vk = device->handles();
  VkCommandPoolCreateInfo info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  info.queueFamilyIndex = vk.family;
  const Owned<VkCommandPool> pool =
      Make<VkCommandPool>(vk, vk.vk.vkCreateCommandPool, vk.vk.vkDestroyCommandPool, info, "vkCreateCommandPool");
  EXPECT_THAT(ErrorOf([&] { device->instance().ThrowIfInvalid(); }), IsError(EP_STATUS_EP_FAIL, "BestPractices"));
}

// Returns the number of bindings of a module: one more than the largest operand of its Binding decorations.
uint32_t BindingsOf(const Shader& shader) {
  constexpr uint32_t kOpDecorate = 71;
  constexpr uint32_t kBinding = 33;
  uint32_t count = 0;
  for (size_t at = 5; at < shader.words.size(); at += shader.words[at] >> 16)
    if ((shader.words[at] & 0xffff) == kOpDecorate && shader.words[at + 2] == kBinding)
      count = std::max(count, shader.words[at + 3] + 1);
  return count;
}

// Modules that no other test runs are covered, too: drivers may fail on the loops that the layer's instrumentation
// adds.
TEST_F(ValidationTest, EveryModuleOfThePluginMakesAPipelineWhenItIsInstrumented) {
  const auto device = Open({.core = true, .gpu_assisted = true}, {&BuiltInKernels()});
  for (const Shader& shader : BuiltInKernels().shaders()) {
    if (IsCooperative(shader) && !device->info().capabilities.CanUse(Capability::kCoopMatrix)) continue;
    EXPECT_THAT(ErrorOf([&] {
                  device->handles().pipelines->Get({&shader, BindingsOf(shader), {}});
                  device->instance().ThrowIfInvalid();
                }),
                IsError(EP_STATUS_OK, ""))
        << shader.name;
  }
}

TEST_F(ValidationTest, AnErrorIsThrownOnceAndCountedForEver) {
  const auto device = Open(kCore.validation);
  device->instance().Report(true, "something is wrong");
  EXPECT_THAT(ErrorOf([&] { device->instance().ThrowIfInvalid(); }),
              IsError(EP_STATUS_EP_FAIL, "something is wrong"));
  EXPECT_NO_THROW(device->instance().ThrowIfInvalid());
  EXPECT_EQ(device->instance().validation_errors(), 1u);
}

}  // namespace
}  // namespace epiphyte::vulkan
