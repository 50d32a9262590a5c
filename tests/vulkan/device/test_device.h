// Fixture for the tests of devices: it opens a device with the tests' kernels and makes commands for it.
//
//     class X : public DeviceTest {};
//     TEST_F(X, …) { const auto a = Numbers(1000); … Add(a, b, 7); … }
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "epiphyte/kit/abi/error.hpp"
#include "tests/vulkan/host_program.h"

namespace epiphyte::vulkan {

const KernelSet& TestKernels();

// Reason for skipping. Mesa 26's software device returns 20 bytes of cache data, less than the header that Vulkan
// requires, so there is no data to read back.
inline constexpr const char* kNoCacheData = "this driver gives no data of pipeline caches";

// The fixture. Its tests are skipped when there is no software device.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override;

  // Opens the device with these validation checks turned on.
  std::shared_ptr<Device> Open(const Validation& validation = {}, const DeviceOptions& options = {&TestKernels()});
  // Opens the device as one without host-visible memory (`unified` false), or without timeline semaphores.
  std::shared_ptr<Device> OpenAs(bool unified, bool timeline, const Validation& validation = {});

  // Allocates memory for `count` 32-bit numbers.
  static BufferRange Numbers(Device& device, uint32_t count);
  // Returns the command to = from * factor + summand.
  static Command Add(const BufferRange& from, const BufferRange& to, uint32_t summand, uint32_t factor = 1);
  // Returns the command x = x * 2 ^ turns.
  static Command Double(const BufferRange& x, uint32_t turns = 1);
  // Uses a device as a session does: runs the list a few times, with profiling and in submissions of limited work, and
  // saves and reads its pipelines. Returns the last output.
  static std::vector<uint32_t> UseDevice(const std::shared_ptr<Device>& device, const HostList& list,
                                         const std::vector<uint32_t>& input, uint64_t submission_work);
  // Runs a program with one input and one output, and returns the output.
  static std::vector<uint32_t> Run(HostProgram& program, const std::vector<uint32_t>& input,
                                   const RunOptions& options = {});
};

// True if the shader needs cooperative matrices. Some devices and all old tools do not support them.
bool IsCooperative(const Shader& shader);

// Returns the error that `body` throws, or one with code EP_STATUS_OK when it throws none.
kit::Error ErrorOf(const std::function<void()>& body);

MATCHER_P2(IsError, code, words, "") {
  *result_listener << "code " << arg.code() << ": " << arg.what();
  return arg.code() == code && std::string(arg.what()).find(words) != std::string::npos;
}

}  // namespace epiphyte::vulkan
