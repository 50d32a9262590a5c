// Fixture for the tests of operators: it makes a program of a graph written as text, and runs it on the software
// device.
//
//     class MyOps : public OpTest {};
//     TEST_F(MyOps, …) {
//       const Tensors y = Run("in a: float[2,3]\nin b: float[3]\ny = Add(a, b) : float[2,3]\nout y\n",
//                             {Of<float>({2, 3}, {…}), Of<float>({3}, {…})});
//       EXPECT_THAT(y[0].As<float>(), …);
//     }
//
// Each program runs twice and must give the same outputs. EPIPHYTE_VULKAN_VALIDATION (device/instance.h) turns on the
// validation layer, and its findings fail the test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/vulkan/device/compiled_program.h"
#include "plugins/vulkan/ops/operator.h"
#include "plugins/vulkan/program/program.h"

namespace epiphyte::vulkan {

struct OpTensor {
  EpElementType type = EP_TYPE_UNDEFINED;
  Dims dims;
  std::vector<std::byte> bytes;
  bool on_host = false;  // the host knows the elements when it makes the program

  template <typename T>
  std::vector<T> As() const {
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
};
using Tensors = std::vector<OpTensor>;

// Element type of a C++ type. There is none for float16; Halves makes such tensors.
template <typename T>
constexpr EpElementType kTypeOf = EP_TYPE_UNDEFINED;
template <>
inline constexpr EpElementType kTypeOf<float> = EP_TYPE_FLOAT;
template <>
inline constexpr EpElementType kTypeOf<int32_t> = EP_TYPE_INT32;
template <>
inline constexpr EpElementType kTypeOf<uint32_t> = EP_TYPE_UINT32;
template <>
inline constexpr EpElementType kTypeOf<int64_t> = EP_TYPE_INT64;
template <>
inline constexpr EpElementType kTypeOf<uint8_t> = EP_TYPE_UINT8;
template <>
inline constexpr EpElementType kTypeOf<int8_t> = EP_TYPE_INT8;

template <typename T>
OpTensor Of(const Dims& dims, const std::vector<T>& values) {
  OpTensor tensor{kTypeOf<T>, dims, std::vector<std::byte>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}
OpTensor Bools(const Dims& dims, const std::vector<uint8_t>& values);
OpTensor Halves(const Dims& dims, const std::vector<float>& values);
std::vector<float> FromHalves(const OpTensor& tensor);
OpTensor OnHost(OpTensor tensor);

// The fixture. Its tests are skipped when there is no software device.
class OpTest : public testing::Test {
 protected:
  void SetUp() override;

  // Runs a graph (kit/graph/text.hpp) and returns its outputs. Throws kit::Error with the reason when the plugin
  // doesn't take an operator.
  Tensors Run(std::string_view graph, const Tensors& inputs);
  // The program of the last Run.
  const Program& program() const { return program_; }
  // Turns a capability off for the following runs.
  void Disable(Capability capability) { capabilities_.Disable(capability); }
  // Turns a capability on for the following runs if the device has it, even if the device is faster without it.
  // PreferNothing turns it off again.
  void Prefer(Capability capability) { capabilities_.Prefer(capability); }
  void PreferNothing();
  // Turns a capability on for the following runs even if the device's table says no because it computes it without
  // being faster.
  void Force(Capability capability) { capabilities_.has[static_cast<size_t>(capability)] = true; }
  // Applied to each program before it runs; empty for no change.
  std::function<void(Program&)> change;
  const Capabilities& capabilities() const { return capabilities_; }

 private:
  std::shared_ptr<Device> device_;
  Capabilities capabilities_;
  Program program_;
};

// Returns the message of the error that `body` throws; "" when it throws none.
std::string ReasonOf(const std::function<void()>& body);

}  // namespace epiphyte::vulkan
