// Fixture that compiles graphs written as text for the software device.
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

// A convolution with bias and activation as separate nodes.
inline constexpr const char* kConvBiasRelu = R"(graph "g"
in x: float[1,1,2,2]
const w: float[1,1,1,1] = [2]
const b: float[1,1,1] = [1]
c = Conv@11(x, w) : float[1,1,2,2]
a = Add@14(c, b) : float[1,1,2,2]
y = Relu@14(a) : float[1,1,2,2]
out y
)";

// A quantized convolution, sum and pool, as exporters write them.
inline constexpr const char* kQdq = R"(graph "g"
in x: uint8[1,2,4,4]
const s: float[] = [0.5]
const z: uint8[] = [128]
const w: int8[2,2,1,1] = [1,2,3,4]
const wz: int8[] = [0]
dx = DequantizeLinear@13(x, s, z) : float[1,2,4,4]
dw = DequantizeLinear@13(w, s, wz) : float[2,2,1,1]
c = Conv@11(dx, dw) : float[1,2,4,4]
r = Relu@14(c) : float[1,2,4,4]
q = QuantizeLinear@13(r, s, z) : uint8[1,2,4,4]
dq = DequantizeLinear@13(q, s, z) : float[1,2,4,4]
a = Add@14(dq, dx) : float[1,2,4,4]
qa = QuantizeLinear@13(a, s, z) : uint8[1,2,4,4]
da = DequantizeLinear@13(qa, s, z) : float[1,2,4,4]
m = MaxPool@12<kernel_shape=[2,2]>(da) : float[1,2,3,3]
y = QuantizeLinear@13(m, s, z) : uint8[1,2,3,3]
out y
)";

// The fixture. Its tests are skipped when there is no software device.
class DeviceGraphTest : public testing::Test {
 protected:
  void SetUp() override;

  const std::shared_ptr<Device>& device() const { return device_; }
  CompileConfig Config() const;
  // Applies the plugin's fusions and compiles the graph. Constants are copied, so `graph` need not outlive the call.
  std::shared_ptr<CompiledGraph> Compile(std::string_view graph) const;

 private:
  std::shared_ptr<Device> device_;
};

}  // namespace epiphyte::vulkan
