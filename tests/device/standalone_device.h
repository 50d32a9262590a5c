// Fixture for the test device without a session: a plugin of the library, and a host that only makes statuses.
//
//   TEST_F(StandaloneDeviceTest, …) {
//     EpStream* stream = plugin->Stream(0);
//     …
//     EXPECT_THAT(NewComplaint(), HasSubstr("overlap"));   // one that isn't expected fails the test
//   }
#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "epiphyte/draft/ep_device.h"
#include "epiphyte/ep_plugin.h"
#include "tests/device/test_device.h"

namespace epiphyte::test::standalone {

struct Answer {
  EpStatusCode code = EP_STATUS_OK;
  std::string message;
};

inline constexpr EpStatusApi kStatusApi = {
    sizeof(EpStatusApi),
    0,
    [](EpStatusCode code, const char* message) {
      return reinterpret_cast<EpStatus*>(new Answer{code, message});
    },
    [](const EpStatus* status) {
      return status == nullptr ? EP_STATUS_OK : reinterpret_cast<const Answer*>(status)->code;
    },
    [](const EpStatus* status) { return reinterpret_cast<const Answer*>(status)->message.c_str(); },
    [](EpStatus* status) { delete reinterpret_cast<Answer*>(status); }};

inline constexpr EpHostInfo kStandaloneHost = [] {
  EpHostInfo host = {};
  host.struct_size = sizeof host;
  host.abi_min = host.abi_max = EP_ABI_VERSION;
  host.host_name = "tests";
  host.host_version = "1";
  host.status = &kStatusApi;
  return host;
}();

inline EpStatusCode CodeOf(EpStatus* status) {
  const EpStatusCode code = kStatusApi.GetCode(status);
  kStatusApi.Release(status);
  return code;
}
#define EXPECT_OK(call) EXPECT_EQ(CodeOf(call), EP_STATUS_OK)

class Plugin {
 public:
  explicit Plugin(const char* name, const EpHostInfo& host = kStandaloneHost) {
    void* library = dlopen(EPIPHYTE_TEST_DEVICE, RTLD_NOW | RTLD_LOCAL);
    const auto query = reinterpret_cast<EpPluginQueryFunction>(dlsym(library, EP_PLUGIN_QUERY_SYMBOL));
    environment_.struct_size = sizeof environment_;
    environment_.library_path = environment_.directory = environment_.manifest_path = "";
    environment_.name = name;
    descriptor_ = query(&host, &environment_);
    EXPECT_OK(descriptor_->Initialize(&host, &environment_, &plugin_));
    api = static_cast<const EpDeviceApi*>(descriptor_->GetExtension(plugin_, EP_DEVICE_EXTENSION));
  }
  ~Plugin() { descriptor_->Shutdown(plugin_); }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  EpPlugin* get() const { return plugin_; }
  const EpPluginDescriptor& descriptor() const { return *descriptor_; }

  EpBuffer* Allocate(uint32_t device, uint32_t memory, uint64_t size) const {
    EpBuffer* buffer = nullptr;
    EXPECT_OK(api->Allocate(plugin_, device, memory, size, &buffer));
    return buffer;
  }
  EpStream* Stream(uint32_t device) const {
    EpStream* stream = nullptr;
    EXPECT_OK(api->CreateStream(plugin_, device, &stream));
    return stream;
  }
  uint64_t Signal(EpStream* stream) const {
    uint64_t point = 0;
    EXPECT_OK(api->Signal(stream, &point));
    return point;
  }
  EpStatusCode Copy(EpStream* stream, EpCopyEnd from, EpCopyEnd to, uint64_t size) const {
    const EpCopy copy = {from, to, size};
    return CodeOf(api->Copy(stream, &copy, 1));
  }
  EpStatusCode Finish(EpStream* stream) const {
    uint64_t point = 0;
    const EpStatusCode code = CodeOf(api->Signal(stream, &point));
    return code != EP_STATUS_OK ? code : CodeOf(api->Synchronize(stream, point, UINT64_MAX));
  }
  // Returns the numbers in a buffer.
  std::vector<int> Read(EpBuffer* buffer, size_t count) const {
    std::vector<int> numbers(count, -1);
    EpStream* stream = Stream(0);
    EXPECT_EQ(Copy(stream, {buffer, nullptr, 0}, {nullptr, numbers.data(), 0}, count * sizeof(int)), EP_STATUS_OK);
    EXPECT_EQ(Finish(stream), EP_STATUS_OK);
    api->DestroyStream(stream);
    return numbers;
  }
  void Free(EpBuffer* buffer) const { api->Free(plugin_, buffer); }

  const EpDeviceApi* api = nullptr;

 private:
  EpPluginEnvironment environment_ = {};
  const EpPluginDescriptor* descriptor_ = nullptr;
  EpPlugin* plugin_ = nullptr;
};

inline EpCopyEnd Host(void* data) { return {nullptr, data, 0}; }
inline EpCopyEnd In(EpBuffer* buffer, uint64_t offset = 0) { return {buffer, nullptr, offset}; }

class StandaloneDeviceTest : public ::testing::Test {
 protected:
  explicit StandaloneDeviceTest(const EpHostInfo& host = kStandaloneHost)
      : plugin(std::make_unique<Plugin>("test_device", host)) {
    control.Reset();
  }
  ~StandaloneDeviceTest() override {
    for (auto& hold : control.hold) hold = 0;
    plugin.reset();
    EXPECT_EQ(control.violations, expected_violations) << ::testing::PrintToString(control.complaints);
    EXPECT_EQ(Live(), before);
  }
  std::vector<int64_t> Live() const { return {control.live_buffers, control.live_bytes, control.live_streams}; }
  // Returns the newest complaint, and expects that exactly one was added since the last call.
  std::string NewComplaint() {
    ++expected_violations;
    const std::lock_guard lock(control.mutex);
    EXPECT_EQ(control.complaints.size(), expected_violations);
    return control.complaints.empty() ? "" : control.complaints.back();
  }

  TestDeviceControl& control = TestDevice();
  const std::vector<int64_t> before = Live();
  std::unique_ptr<Plugin> plugin;
  const EpDeviceApi& api = *plugin->api;
  uint64_t expected_violations = 0;
  std::vector<int> one_to_four = {1, 2, 3, 4};
};

}  // namespace epiphyte::test::standalone
