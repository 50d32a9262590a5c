// A kit plugin's descriptions of its kernels and its tables reach the host unchanged.
#include <gtest/gtest.h>

#include <cstddef>
#include <string_view>

#include "core/abi/host_tables.h"
#include "epiphyte/draft/ep_device.h"
#include "epiphyte/kit/plugin/handles.hpp"
#include "epiphyte/kit/plugin/plugin.hpp"

namespace epiphyte::test {
namespace {

constexpr uint32_t kMemories[] = {EP_MEMORIES_HOST | 2, 2};
constexpr int32_t kAliases[] = {1};
constexpr EpDeviceApi kDeviceApi = {};

class SubmittingKernel : public kit::Kernel {
 public:
  void Execute(const kit::Run&) override {}
  bool IsExclusive() const override { return true; }
  void Describe(EpKernelInfo* info) const override {
    info->flags = EP_KERNEL_ASYNC;
    info->device = 2;
    info->input_count = 2;
    info->input_memories = kMemories;
    info->output_count = 1;
    info->output_aliases = kAliases;
  }
};

class PlainKernel : public kit::Kernel {
 public:
  void Execute(const kit::Run&) override {}
};

class DeviceProvider : public kit::Provider {
 public:
  explicit DeviceProvider(const kit::ProviderConfig&) {}
  bool Supports(const kit::NodeView&, std::string*) override { return false; }
  std::unique_ptr<kit::Kernel> Compile(const kit::Partition&) override { return nullptr; }
  static const void* Extension(std::string_view id) { return id == EP_DEVICE_EXTENSION ? &kDeviceApi : nullptr; }
};

class PlainProvider : public kit::Provider {
 public:
  explicit PlainProvider(const kit::ProviderConfig&) {}
  bool Supports(const kit::NodeView&, std::string*) override { return false; }
  std::unique_ptr<kit::Kernel> Compile(const kit::Partition&) override { return nullptr; }
};

constexpr EpPluginEnvironment kEnvironment = {sizeof(EpPluginEnvironment), 0, "", "", "", "", nullptr};

// A plugin in this host; the destructor destroys it.
class InHost {
 public:
  explicit InHost(const EpPluginDescriptor* descriptor) : descriptor_(descriptor) {
    EXPECT_EQ(descriptor->Initialize(core::HostInfo(), &kEnvironment, &plugin_), nullptr);
  }
  ~InHost() { descriptor_->Shutdown(plugin_); }
  const void* Extension(const char* id) const { return descriptor_->GetExtension(plugin_, id); }

 private:
  const EpPluginDescriptor* descriptor_;
  EpPlugin* plugin_ = nullptr;
};

const EpPluginDescriptor* OnDevice() {
  return EPIPHYTE_KIT_DESCRIPTOR(DeviceProvider, "on_device", "tests", "1", "OnDevice");
}
const EpPluginDescriptor* Plain() { return EPIPHYTE_KIT_DESCRIPTOR(PlainProvider, "plain", "tests", "1"); }

EpKernelInfo Described(std::unique_ptr<kit::Kernel> kernel, uint32_t room = sizeof(EpKernelInfo)) {
  EpKernelInfo info = {};
  info.struct_size = room;
  EpKernel* handle = kit::ToHandle(*core::HostInfo(), std::move(kernel));
  EXPECT_EQ(OnDevice()->provider->DescribeKernel(handle, &info), nullptr);
  OnDevice()->provider->ReleaseKernel(handle);
  return info;
}

TEST(KitDevice, AKernelSaysWhereItsValuesCanBe) {
  const EpKernelInfo info = Described(std::make_unique<SubmittingKernel>());
  EXPECT_EQ(info.struct_size, sizeof(EpKernelInfo));
  EXPECT_EQ(info.flags, EP_KERNEL_ASYNC | EP_KERNEL_EXCLUSIVE);
  EXPECT_EQ(info.device, 2u);
  EXPECT_EQ(info.input_count, 2u);
  EXPECT_EQ(info.input_memories, kMemories);
  EXPECT_EQ(info.output_memories, nullptr);
  EXPECT_EQ(info.output_aliases, kAliases);
}

TEST(KitDevice, AKernelThatSaysNothingIsInHostMemory) {
  const EpKernelInfo info = Described(std::make_unique<PlainKernel>());
  EXPECT_EQ(info.struct_size, sizeof(EpKernelInfo));
  EXPECT_EQ(info.flags, 0u);
  EXPECT_EQ(info.input_count, 0u);
  EXPECT_EQ(info.input_memories, nullptr);
}

TEST(KitDevice, AHostWithLessRoomGetsLess) {
  const EpKernelInfo info = Described(std::make_unique<SubmittingKernel>(), offsetof(EpKernelInfo, device));
  EXPECT_EQ(info.struct_size, offsetof(EpKernelInfo, device));
  EXPECT_EQ(info.flags, EP_KERNEL_ASYNC | EP_KERNEL_EXCLUSIVE);
  EXPECT_EQ(info.device, 0u);
  EXPECT_EQ(info.output_aliases, nullptr);
}

TEST(KitDevice, TablesAreFoundByTheirIds) {
  EXPECT_EQ(InHost(OnDevice()).Extension(EP_DEVICE_EXTENSION), &kDeviceApi);
  EXPECT_EQ(InHost(OnDevice()).Extension("ep.device/draft0"), nullptr);
  EXPECT_EQ(InHost(Plain()).Extension(EP_DEVICE_EXTENSION), nullptr);
}

}  // namespace
}  // namespace epiphyte::test
