// Graphs as text, compiled for the software device.
//
//     class X : public DeviceGraphTest {};
//     TEST_F(X, …) { const auto compiled = Compile(R"(graph "g" …)"); … }
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/vulkan/exec/compiled_graph.h"

namespace epiphyte::vulkan {

// Skips when there is no software device.
class DeviceGraphTest : public testing::Test {
 protected:
  void SetUp() override;

  const std::shared_ptr<Device>& device() const { return device_; }
  CompileConfig Config() const;
  // After the plugin's fusions. Constants are copied.
  std::shared_ptr<CompiledGraph> Compile(std::string_view graph) const;

 private:
  std::shared_ptr<Device> device_;
};

}  // namespace epiphyte::vulkan
