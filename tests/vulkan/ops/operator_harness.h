// Models of a few operators, run by the Vulkan plugin alone on Mesa's software device and compared with the CPU plugin.
//
//     class Shapes : public OperatorTest {};
//     TEST_F(Shapes, OfRankEight) {
//       ExpectLikeCpu(R"(g (float[A,B] x) => (float[B,A] y) { y = Transpose(x) })", {Random(DataType::kFloat, {3,
//       5})});
//     }
//
// Models are ONNX's textual form without the header. OperatorTest adds it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/runtime/session.h"
#include "host/conformance/cases/compare_values.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {

using core::DataType;
using core::ValuePtr;

// Numbers that every type holds exactly, different for each seed: -8 to 8, 0 to 16 for unsigned types, 0 and 1 for
// bool.
ValuePtr Random(DataType type, std::vector<int64_t> dims, uint32_t seed = 1);
// Returns a tensor of the type with these numbers.
ValuePtr Numbers(DataType type, std::vector<int64_t> dims, const std::vector<double>& values);

struct OperatorRun {
  int opset = 18;
  std::string imports = "";                         // opset imports of other domains: ", \"acme\" : 1"
  std::map<std::string, std::string> options = {};  // options of the provider under test
  conformance::Tolerance tolerance = {.relative = 1e-3, .absolute = 1e-5};
};

class OperatorTest : public ::testing::Test {
 protected:
  void SetUp() override;

  // Runs the model on Vulkan, twice in one session. A node that the plugin doesn't take fails the test.
  std::vector<ValuePtr> RunVulkan(std::string_view model, const std::vector<ValuePtr>& inputs,
                                  const OperatorRun& run = {});
  std::vector<ValuePtr> RunCpu(std::string_view model, const std::vector<ValuePtr>& inputs,
                               const OperatorRun& run = {});
  // Checks that the Vulkan plugin and the CPU plugin agree within `run.tolerance`.
  void ExpectLikeCpu(std::string_view model, const std::vector<ValuePtr>& inputs, const OperatorRun& run = {});
  // Returns the reason for the first node that the plugin doesn't take; "" when it takes all nodes.
  std::string WhyNot(std::string_view model, const OperatorRun& run = {});

 private:
  core::Environment* environment_ = nullptr;  // shared by all tests of the program
};

}  // namespace epiphyte::test
