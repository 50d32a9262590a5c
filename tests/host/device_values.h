// Sessions on the test device through the public API. After each test, the device must have no complaint about the
// host, and no object that the test made may exist on the device.
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "epiphyte/epiphyte.hpp"
#include "tests/device/test_device.h"
#include "tests/host/bundled_plugins.h"
#include "tests/host/small_models.h"

namespace epiphyte {

using ProviderOptions = std::map<std::string, std::string>;

inline SessionOptions OnDevice(ProviderOptions options = {}) {
  return SessionOptions().AddProvider("test_device", std::move(options));
}

inline Value Floats(std::vector<float> data, const Shape& shape) { return Value::Copy<float>(data, shape); }

// Returns the tensor 0, 1, 2, …
inline Value Counting(const Shape& shape) {
  Value value = Value::Tensor(ElementType::kFloat, shape);
  float next = 0;
  for (float& element : value.MutableData<float>()) element = next++;
  return value;
}

// Returns the numbers of a tensor in any memory.
inline std::vector<float> Read(const Value& value) {
  const Value here = value.ToHost();
  return {here.Data<float>().begin(), here.Data<float>().end()};
}

// Returns the Error that `call` throws. Its message must be one line.
template <typename Call>
Error ErrorOf(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::Not(::testing::HasSubstr("\n")));
    return error;
  }
  return Error(StatusCode::kOk, "nothing was thrown");
}

class DeviceValues : public ::testing::Test {
 protected:
  DeviceValues() {
    control_.Reset();
    live_before_ = Live();
    environment_.emplace(test::BundledPlugins({.plugin_folders = {Folder()}}));
  }
  void TearDown() override {
    environment_.reset();
    EXPECT_EQ(control_.violations.load(), 0u) << Complaints();
    EXPECT_EQ(Live(), live_before_) << "buffers, streams and states that nobody released";
  }

  // Returns the folder of the test device and its manifests.
  static std::filesystem::path Folder() { return std::filesystem::path(EPIPHYTE_TEST_DEVICE).parent_path(); }
  Session Open(const std::string& model, const SessionOptions& options) {
    return Session(*environment_, std::as_bytes(std::span(model)), options);
  }
  // The memories of the two plugins, through sessions that no longer exist.
  Memory Arena() { return Open(test::AddModel(), OnDevice()).MemoryOf("test_device"); }
  Memory Shared() { return Open(test::AddModel(), OnDevice()).MemoryOf("test_device", "shared"); }
  Memory ArenaOfOther() {
    return Open(test::AddModel(), SessionOptions().AddProvider("test_device_b")).MemoryOf("test_device_b");
  }
  template <typename Body>
  uint64_t BytesCopied(Body&& body) {
    const uint64_t before = control_.copied_bytes;
    body();
    return control_.copied_bytes - before;
  }

  test::TestDeviceControl& control_ = test::TestDevice();
  std::optional<Environment> environment_;

 private:
  std::vector<int64_t> Live() const {
    return {control_.live_buffers, control_.live_bytes, control_.live_streams, control_.live_states};
  }
  std::string Complaints() {
    const std::lock_guard lock(control_.mutex);
    std::string text = "the device complains:";
    for (const std::string& complaint : control_.complaints) text += "\n  " + complaint;
    return text;
  }

  std::vector<int64_t> live_before_;
};

}  // namespace epiphyte
