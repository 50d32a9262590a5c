// Drivers with a failing function: the error names the function, nothing leaks, and the device works on unless it is
// lost.
#include <functional>

#include "plugins/vulkan/device/vk_device.h"
#include "tests/vulkan/device/test_device.h"

namespace epiphyte::vulkan {
namespace {

template <VkResult kResult, typename... Args>
void FailWith(VkResult(VKAPI_PTR*& function)(Args...)) {
  function = [](Args...) -> VkResult { return kResult; };
}

struct Call {
  const char* name;
  enum { kAlways, kWithTimeline, kWithFences } when;
  void (*fail)(DeviceFunctions& vk);
  void (*lose)(DeviceFunctions& vk);
};
#define EPIPHYTE_CALL_WHEN(name, when)                                                  \
  Call {                                                                                \
    #name, Call::when, [](DeviceFunctions& vk) { FailWith<VK_ERROR_UNKNOWN>(vk.name); },            \
        [](DeviceFunctions& vk) { FailWith<VK_ERROR_DEVICE_LOST>(vk.name); }            \
  }
#define EPIPHYTE_CALL(name) EPIPHYTE_CALL_WHEN(name, kAlways)
const Call kCalls[] = {
    EPIPHYTE_CALL(vkAllocateMemory),         EPIPHYTE_CALL(vkMapMemory),
    EPIPHYTE_CALL(vkCreateBuffer),           EPIPHYTE_CALL(vkBindBufferMemory),
    EPIPHYTE_CALL(vkCreateQueryPool),        EPIPHYTE_CALL(vkGetQueryPoolResults),
    EPIPHYTE_CALL(vkCreateComputePipelines), EPIPHYTE_CALL(vkCreateDescriptorPool),
    EPIPHYTE_CALL(vkAllocateDescriptorSets), EPIPHYTE_CALL(vkCreateCommandPool),
    EPIPHYTE_CALL(vkAllocateCommandBuffers), EPIPHYTE_CALL(vkBeginCommandBuffer),
    EPIPHYTE_CALL(vkEndCommandBuffer),       EPIPHYTE_CALL(vkQueueSubmit),
    EPIPHYTE_CALL(vkGetPipelineCacheData),
    EPIPHYTE_CALL(vkCreatePipelineCache),    EPIPHYTE_CALL(vkMergePipelineCaches),
    EPIPHYTE_CALL(vkCreateShaderModule),     EPIPHYTE_CALL(vkCreateDescriptorSetLayout),
    EPIPHYTE_CALL(vkCreatePipelineLayout),   EPIPHYTE_CALL(vkResetCommandPool),
    EPIPHYTE_CALL_WHEN(vkCreateFence, kWithFences),
    EPIPHYTE_CALL_WHEN(vkResetFences, kWithFences),
    EPIPHYTE_CALL_WHEN(vkWaitForFences, kWithFences),
    EPIPHYTE_CALL_WHEN(vkGetFenceStatus, kWithFences),
    EPIPHYTE_CALL_WHEN(vkCreateSemaphore, kWithTimeline),
    EPIPHYTE_CALL_WHEN(vkWaitSemaphores, kWithTimeline),
    EPIPHYTE_CALL_WHEN(vkGetSemaphoreCounterValue, kWithTimeline),
};
#undef EPIPHYTE_CALL
#undef EPIPHYTE_CALL_WHEN

class FailingDriverTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped() && Open()->PipelineCacheData().empty()) GTEST_SKIP() << kNoCacheData;
  }
  void UseDevice(const std::shared_ptr<Device>& device) {
    const BufferRange a = Numbers(*device, 100);
    HostList list;
    list.commands = {Add(a, a, 1, ++factor_), Double(a)};
    list.inputs = {a};
    list.outputs = {a};
    DeviceTest::UseDevice(device, list, std::vector<uint32_t>(100, 7), 1);
  }

  // Opens a device with or without host-visible memory.
  std::shared_ptr<Device> OpenFor(const Call& call, bool unified) {
    return OpenAs(unified, call.when != Call::kWithFences);
  }
  // Runs `body` for each call and kind of memory.
  static void ForEach(const std::function<void(const Call& call, bool unified)>& body) {
    for (const bool unified : {true, false}) {
      for (const Call& call : kCalls) {
        SCOPED_TRACE(std::string(call.name) + (unified ? " mapped" : " staged"));
        body(call, unified);
      }
    }
  }

  uint32_t factor_ = 0;  // changes with each use, so that each use creates a pipeline
};

TEST_F(FailingDriverTest, ACallThatFailsIsNamedAndTheDeviceWorksOn) {
  ForEach([&](const Call& call, bool unified) {
    const auto device = OpenFor(call, unified);  // no pipeline or staging buffer exists yet
    DeviceFunctions& vk = device->handles().vk;
    const DeviceFunctions good = vk;
    call.fail(vk);
    EXPECT_THAT(ErrorOf([&] { UseDevice(device); }),
                IsError(EP_STATUS_ENGINE_ERROR, std::string(call.name) + " failed with VK_ERROR_UNKNOWN: llvmpipe"));
    vk = good;
    device->Trim();
    EXPECT_EQ(device->counters().allocations, 0u);
    EXPECT_FALSE(device->lost());
    EXPECT_THAT(ErrorOf([&] { UseDevice(device); }), IsError(EP_STATUS_OK, ""));
  });
}

TEST_F(FailingDriverTest, ALostDeviceStaysLostAndANewOneWorks) {
  ForEach([&](const Call& call, bool unified) {
    const auto device = OpenFor(call, unified);
    DeviceFunctions& vk = device->handles().vk;
    const DeviceFunctions good = vk;
    call.lose(vk);
    EXPECT_THAT(ErrorOf([&] { UseDevice(device); }),
                IsError(EP_STATUS_DEVICE_RESET, std::string(call.name) + " failed with VK_ERROR_DEVICE_LOST"));
    vk = good;
    EXPECT_TRUE(device->lost());
    EXPECT_THAT(ErrorOf([&] { UseDevice(device); }), IsError(EP_STATUS_DEVICE_RESET, "make a new session"));
    const auto again = Device::Open(device->instance().shared_from_this(), device->info(), {&TestKernels()});
    EXPECT_THAT(ErrorOf([&] { UseDevice(again); }), IsError(EP_STATUS_OK, ""));
  });
}

}  // namespace
}  // namespace epiphyte::vulkan
