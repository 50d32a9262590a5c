// Models of quantized operators, run by the npu plugin with an SDK and by the CPU plugin node by node.
//
//   class Pools : public NpuTest {};
//   TEST_P(Pools, OfEveryType) { ExpectOneQuantum(model, {Bytes(DataType::kInt8, {1, 2, 5, 5})}); }
//
// Models are ONNX's textual form without the header.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/runtime/session.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {

using core::DataType;
using core::ValuePtr;

// Libraries of the SDKs: the simulator, and the minimal SDK.
std::filesystem::path SimulatorLibrary();
std::filesystem::path MinimalLibrary();

// Finds a function of hostile_sdk/hostile_sdk.h in the library that the plugin has opened.
void* FindHostileFunction(const char* name);
template <typename Function>
Function HostileFunction(const char* name) {
  return reinterpret_cast<Function>(FindHostileFunction(name));
}

// Returns the plugin's manifest with the SDK as its parameter; for "" it names no SDK.
std::string NpuManifest(const std::filesystem::path& sdk);

// An environment with the npu plugin. Its manifest has the SDK as parameter; for "" it names no SDK.
class NpuEnvironment {
 public:
  explicit NpuEnvironment(const std::filesystem::path& sdk);
  core::Environment& operator*() { return *environment_; }

 private:
  TempDir folder_;
  std::unique_ptr<core::Environment> environment_;
};

std::string QuantisedModel(std::string_view text, int opset = 21);

// Random numbers for models, the same in every run of a test.
class Numbers {
 public:
  int64_t Pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  DataType PickType() { return Pick(0, 1) == 0 ? DataType::kInt8 : DataType::kUint8; }
  float PickScale(double least, double most) {
    return static_cast<float>(least + (most - least) * static_cast<double>(Pick(0, 1000)) / 1000);
  }
  ValuePtr Bytes(DataType type, const std::vector<int64_t>& dims);
  // Returns the text of an initializer: "int8[2] w = {1, -2}".
  std::string BytesText(const std::string& name, DataType type, const std::vector<int64_t>& dims);
  // Returns the text of a scale and a zero point: "float ys = {0.25}, uint8 yz = {7}".
  std::string ScaleText(const std::string& name, DataType type, double least, double most);
  std::string ScalesText(const std::string& name, int64_t count, double least, double most);

 private:
  std::mt19937 random_{7};
};

std::string NameOf(DataType type);
// Returns a shape as text: "[1,2,3]".
std::string ShapeText(const std::vector<int64_t>& dims);
// Returns the largest difference between elements of `a` and `b` at the same position.
int Distance(const core::Value& a, const core::Value& b);

// The parameter is the name of an SDK: "npusim" or "minimal".
class NpuTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override;
  bool IsSimulator() const { return std::string_view(GetParam()) == "npusim"; }
  core::Environment& environment() { return **environment_; }
  core::SessionOptions Options(std::vector<std::string> providers = {"npu"}) const;

  // Returns the reason for the first node that the plugin doesn't take; "" when it takes all nodes.
  std::string WhyNot(std::string_view model, const std::map<std::string, std::string>& options = {});
  // Runs the model with the NPU plugin alone, twice in one session; both runs must give the same bits. A node that the
  // plugin doesn't take fails the test.
  std::vector<ValuePtr> RunNpu(std::string_view model, const std::vector<ValuePtr>& inputs);
  std::vector<ValuePtr> RunCpu(std::string_view model, const std::vector<ValuePtr>& inputs);
  // Returns whether the plugin takes the whole model. If so, outputs must be within `most` quanta of the CPU's.
  bool CompareWithCpu(std::string_view model, const std::vector<ValuePtr>& inputs, int most = 1);

  Numbers numbers_;

 private:
  std::unique_ptr<NpuEnvironment> environment_;
};

}  // namespace epiphyte::test
