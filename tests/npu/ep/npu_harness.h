// Models of quantised operators, run by the npu plugin with an SDK, and by the CPU plugin node by node.
//
//   class Pools : public NpuTest {};
//   TEST_P(Pools, OfEveryType) { ExpectOneQuantum(model, {Bytes(DataType::kInt8, {1, 2, 5, 5})}); }
//
// Models are ONNX's text without the header.
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

// The library of an SDK: the simulator, or the minimal one.
std::filesystem::path SimulatorLibrary();
std::filesystem::path MinimalLibrary();

// A function of hostile_sdk/hostile_sdk.h, in the library as the plugin has it open.
void* FindHostileFunction(const char* name);
template <typename Function>
Function HostileFunction(const char* name) {
  return reinterpret_cast<Function>(FindHostileFunction(name));
}

// The manifest of the plugin, with the SDK as its parameter; "": none is named.
std::string NpuManifest(const std::filesystem::path& sdk);

// An environment in which the manifest of the npu plugin has the SDK as parameter; "": no SDK is named.
class NpuEnvironment {
 public:
  explicit NpuEnvironment(const std::filesystem::path& sdk);
  core::Environment& operator*() { return *environment_; }

 private:
  TempDir folder_;
  std::unique_ptr<core::Environment> environment_;
};

std::string QuantisedModel(std::string_view text, int opset = 21);

// Numbers for models, the same in every run of a test.
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
  // "int8[2] w = {1, -2}"
  std::string BytesText(const std::string& name, DataType type, const std::vector<int64_t>& dims);
  // "float ys = {0.25}, uint8 yz = {7}"
  std::string ScaleText(const std::string& name, DataType type, double least, double most);
  std::string ScalesText(const std::string& name, int64_t count, double least, double most);

 private:
  std::mt19937 random_{7};
};

std::string NameOf(DataType type);
// "[1,2,3]"
std::string ShapeText(const std::vector<int64_t>& dims);
// The furthest that an element of the first is from that of the second.
int Distance(const core::Value& a, const core::Value& b);

// Tests with an SDK by name: "npusim", "minimal".
class NpuTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override;
  bool IsSimulator() const { return std::string_view(GetParam()) == "npusim"; }
  core::Environment& environment() { return **environment_; }
  core::SessionOptions Options(std::vector<std::string> providers = {"npu"}) const;

  // Why the plugin doesn't take the first node that it doesn't take; "" when it takes all.
  std::string WhyNot(std::string_view model, const std::map<std::string, std::string>& options = {});
  // Runs the model with the NPU's plugin alone, twice in one session; both runs must give the same bits. Fails the
  // test for a node that the plugin doesn't take.
  std::vector<ValuePtr> RunNpu(std::string_view model, const std::vector<ValuePtr>& inputs);
  std::vector<ValuePtr> RunCpu(std::string_view model, const std::vector<ValuePtr>& inputs);
  // Returns whether the plugin takes all of the model. If so, outputs must be within `most` quanta of the CPU's.
  bool CompareWithCpu(std::string_view model, const std::vector<ValuePtr>& inputs, int most = 1);

  Numbers numbers_;

 private:
  std::unique_ptr<NpuEnvironment> environment_;
};

}  // namespace epiphyte::test
