#include "tests/vulkan/device/test_device.h"

#include "tests/vulkan/lavapipe.h"

namespace epiphyte::vulkan {

void DeviceTest::SetUp() {
  if (!PinLavapipe()) GTEST_SKIP() << kNoLavapipe;
}

std::shared_ptr<Device> DeviceTest::Open(const Validation& validation, const DeviceOptions& options) {
  const OpenedInstance opened = OpenInstance({.validation = validation});
  if (opened.instance == nullptr) throw kit::Error(EP_STATUS_EP_FAIL, opened.why_not);
  return Device::Open(opened.instance, ChooseDevice(opened.instance->devices(), {.device = TestDevice()}), options);
}

std::shared_ptr<Device> DeviceTest::OpenAs(bool unified, bool timeline, const Validation& validation) {
  const OpenedInstance opened = OpenInstance({.validation = validation});
  if (opened.instance == nullptr) throw kit::Error(EP_STATUS_EP_FAIL, opened.why_not);
  DeviceInfo info = ChooseDevice(opened.instance->devices(), {.device = TestDevice()});
  info.unified_memory = unified;
  if (!timeline) info.capabilities.Disable(Capability::kTimeline);
  return Device::Open(opened.instance, info, {&TestKernels()});
}

BufferRange DeviceTest::Numbers(Device& device, uint32_t count) {
  return {device.Allocate(count * sizeof(uint32_t), "numbers"), 0, count * sizeof(uint32_t)};
}

Command DeviceTest::Add(const BufferRange& from, const BufferRange& to, uint32_t summand, uint32_t factor) {
  const uint32_t count = static_cast<uint32_t>(to.size / sizeof(uint32_t));
  return {.shader = "add.u32",
          .specialization = {factor},
          .parameters = {count, summand},
          .bindings = {{from, Access::kRead}, {to, Access::kWrite}},
          .groups = {(count + 63) / 64, 1, 1},
          .work = count};
}

Command DeviceTest::Double(const BufferRange& x, uint32_t turns) {
  const uint32_t count = static_cast<uint32_t>(x.size / sizeof(uint32_t));
  return {.shader = "double.u32",
          .parameters = {count, turns},
          .bindings = {{x, Access::kReadWrite}},
          .groups = {(count + 63) / 64, 1, 1},
          .work = uint64_t{count} * turns};
}

std::vector<uint32_t> DeviceTest::UseDevice(const std::shared_ptr<Device>& device, const HostList& list,
                                            const std::vector<uint32_t>& input, uint64_t submission_work) {
  CompileOptions options;
  options.profile = true;
  options.submission_work = submission_work;
  HostProgram program(device, list, options);
  std::vector<CommandTime> times;
  std::vector<uint32_t> output;
  for (int i = 0; i < 3; ++i) output = Run(program, input, {.times = &times});
  EXPECT_EQ(times.size(), list.commands.size());
  if (const std::vector<std::byte> data = device->PipelineCacheData(); !data.empty()) {
    EXPECT_EQ(device->UsePipelineCacheData(data), "");
  }
  return output;
}

std::vector<uint32_t> DeviceTest::Run(HostProgram& program, const std::vector<uint32_t>& input,
                                      const RunOptions& options) {
  std::vector<uint32_t> output(input.size());
  const void* in = input.data();
  void* out = output.data();
  program.Run({&in, 1}, {&out, 1}, options);
  return output;
}

bool IsCooperative(const Shader& shader) {
  constexpr uint32_t kOpCapability = 17, kCooperativeMatrixKhr = 6022;
  for (size_t at = 5; at < shader.words.size(); at += shader.words[at] >> 16)
    if ((shader.words[at] & 0xffff) == kOpCapability && shader.words[at + 1] == kCooperativeMatrixKhr) return true;
  return false;
}

kit::Error ErrorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const kit::Error& error) {
    return error;
  }
  return {EP_STATUS_OK, "no error"};
}

}  // namespace epiphyte::vulkan
