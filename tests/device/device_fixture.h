// Fixture for sessions on the test device, and the checks that follow each test.
//
//   class MyTest : public DeviceTest {};
//   TEST_F(MyTest, …) {
//     auto session = Open("g (float[2] x) => (float[2] y) { y = Relu(x) }", OnDevice());
//     EXPECT_EQ(CopiesOf([&] { session->Run(inputs); }), (Copies{.ends = 2, .bytes = 16, .calls = 2}));
//   }
//
// After each test, the device must have no complaint about the host, and all objects that the test made must be gone.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/abi/host_tables.h"
#include "core/device/devices.h"
#include "core/device/transfer.h"
#include "core/runtime/session.h"
#include "tests/device/test_device.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {

using ProviderOptions = std::map<std::string, std::string>;
using Values = std::vector<core::ValuePtr>;

// Returns the folder of the test device and its manifests.
inline std::filesystem::path DeviceFolder() { return std::filesystem::path(EPIPHYTE_TEST_DEVICE).parent_path(); }

// Returns an environment with the plugins of the test device and of the build tree, and without installed ones. `more`:
// folders or single manifests that take precedence.
inline std::shared_ptr<core::Environment> DeviceEnvironment(std::vector<std::filesystem::path> more = {}) {
  core::CatalogOptions options;
  options.use_environment = false;
  options.use_user_folder = false;
  options.paths = std::move(more);
  options.paths.push_back(DeviceFolder());
  return std::make_shared<core::Environment>(std::move(options));
}

// Options with each node as a partition of its own on the first plugin of the test device. Other nodes run on the CPU.
inline core::SessionOptions OnDevice(ProviderOptions options = {}) {
  core::SessionOptions session = OptionsFor({"test_device", "cpu"});
  options.try_emplace("each", "1");
  session.providers[0].options = std::move(options);
  return session;
}

// Like OnDevice, with two devices of the plugin. Partitions of the operators in `second` are on the second device.
inline core::SessionOptions OnTwoDevices(std::string second, ProviderOptions options = {}) {
  options.emplace("device", "0,1");
  options.emplace("second", std::move(second));
  return OnDevice(std::move(options));
}

// Like OnDevice, with both plugins.
inline core::SessionOptions OnTwoPlugins(ProviderOptions first, ProviderOptions second) {
  core::SessionOptions session = OptionsFor({"test_device", "test_device_b", "cpu"});
  first.try_emplace("each", "1");
  second.try_emplace("each", "1");
  session.providers[0].options = std::move(first);
  session.providers[1].options = std::move(second);
  return session;
}

// Waits until `reached` returns true. Returns false after 60 seconds, which is always enough.
inline bool WaitUntil(const std::function<bool()>& reached) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!reached()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

// Number of copies, their bytes, and the calls of Copy that the device counted during a body.
struct Copies {
  uint64_t ends = 0;
  uint64_t bytes = 0;
  uint64_t calls = 0;
  bool operator==(const Copies&) const = default;
  friend void PrintTo(const Copies& copies, std::ostream* out) {
    *out << copies.ends << " copies of " << copies.bytes << " bytes in " << copies.calls << " calls";
  }
};

class DeviceTest : public testing::Test {
 protected:
  // The device starts no work while a Hold exists. Destroy it before anything that waits for the work, or a test
  // deadlocks.
  class Hold {
   public:
    explicit Hold(int device) : hold_(TestDevice().hold[device]) { hold_ = 1; }
    ~Hold() { hold_ = 0; }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    void Release() { hold_ = 0; }

   private:
    std::atomic<int64_t>& hold_;
  };

  DeviceTest() {
    control_.Reset();
    before_ = Live();
    environment_ = DeviceEnvironment();
  }

  void TearDown() override {
    const std::weak_ptr<core::Environment> environment = environment_;
    environment_ = nullptr;
    EXPECT_TRUE(environment.expired()) << "a value in device memory is still there";
    EXPECT_EQ(control_.violations.load(), 0u) << Complaints();
    EXPECT_EQ(Live(), before_);
  }

  static std::string Model(std::string_view graph) {
    return OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 24]> )" + std::string(graph));
  }
  std::unique_ptr<core::Session> Open(std::string_view graph, const core::SessionOptions& options) {
    const std::string bytes = Model(graph);
    return std::make_unique<core::Session>(*environment_, bytes.data(), bytes.size(), options);
  }
  // Returns the outputs of the same graph on the CPU.
  Values OnCpu(std::string_view graph, const Values& inputs) { return Open(graph, OptionsFor({"cpu"}))->Run(inputs); }

  core::PluginDevice& Device(int number) {
    const core::LoadedPlugin& plugin = environment_->catalog().Load(number < 2 ? "test_device" : "test_device_b");
    core::PluginDevice* device = environment_->devices().Find(plugin, static_cast<uint32_t>(number % 2));
    if (device == nullptr) throw std::runtime_error("the test device has no memory of its own");
    return *device;
  }
  // Returns memory 0 "arena" or 1 "shared" of device `number`; devices 2 and 3 belong to the second plugin.
  const std::shared_ptr<core::DeviceMemory>& Memory(int number, size_t memory = 0) {
    return Device(number).memories().at(memory);
  }
  core::ValuePtr InMemory(const core::ValuePtr& value, int number = 0, size_t memory = 0) {
    return core::ToDevice(*value, *Memory(number, memory), environment_->devices(), nullptr, "a value of the test");
  }
  // Returns the elements of a tensor in any memory.
  std::vector<float> Read(const core::ValuePtr& value) {
    return FloatsOf(*core::ToHost(value, environment_->devices()));
  }
  // Returns the elements of each tensor.
  std::vector<std::vector<float>> Read(const Values& values) {
    std::vector<std::vector<float>> numbers;
    for (const core::ValuePtr& value : values) numbers.push_back(Read(value));
    return numbers;
  }

  template <typename Body>
  Copies CopiesOf(Body&& body) {
    const Copies before = {control_.copies, control_.copied_bytes, control_.copy_calls};
    body();
    return {control_.copies - before.ends, control_.copied_bytes - before.bytes, control_.copy_calls - before.calls};
  }

  // Starts a run on a thread of its own.
  static std::future<Values> Start(core::Session& session, Values inputs, core::RunSettings settings = {}) {
    return std::async(std::launch::async, [&session, inputs = std::move(inputs), settings = std::move(settings)] {
      return session.Run(inputs, settings);
    });
  }

  // Returns the finished work of device `number`, in the order in which it ended.
  std::vector<TestDeviceSpan> Spans(int number) {
    const std::lock_guard lock(control_.mutex);
    std::vector<TestDeviceSpan> spans;
    for (const TestDeviceSpan& span : control_.spans) {
      if (span.plugin * 2 + span.device == number) spans.push_back(span);
    }
    return spans;
  }
  bool HasEnded(int number, std::string_view what) {
    for (const TestDeviceSpan& span : Spans(number)) {
      if (span.what == what) return true;
    }
    return false;
  }
  std::string Complaints() {
    const std::lock_guard lock(control_.mutex);
    std::string text = "the device complains:";
    for (const std::string& complaint : control_.complaints) text += "\n  " + complaint;
    return text;
  }

  // Returns the counts of all live objects that must be released by the end of the test.
  std::string Live() const {
    return fmt::format("{} buffers of {} bytes, {} streams, {} states, {} statuses", control_.live_buffers.load(),
                       control_.live_bytes.load(), control_.live_streams.load(), control_.live_states.load(),
                       core::LiveStatusCount());
  }

  TestDeviceControl& control_ = TestDevice();
  std::shared_ptr<core::Environment> environment_;

 private:
  std::string before_;
};

}  // namespace epiphyte::test
