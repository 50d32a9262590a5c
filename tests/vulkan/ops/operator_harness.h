// Models of a few operators, run by the Vulkan plugin alone on Mesa's software device, and by the CPU plugin.
//
//     class Shapes : public OperatorTest {};
//     TEST_F(Shapes, OfRankEight) {
//       ExpectLikeCpu(R"(g (float[A,B] x) => (float[B,A] y) { y = Transpose(x) })", {Random(DataType::kFloat, {3,
//       5})});
//     }
//
// Models are ONNX's text without the header, which OperatorTest adds.
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

// Numbers that every type holds exactly, other ones for each seed: -8 to 8, or 0 to 16 without a sign, or 0 and 1.
ValuePtr Random(DataType type, std::vector<int64_t> dims, uint32_t seed = 1);
// A tensor of the type with these numbers.
ValuePtr Numbers(DataType type, std::vector<int64_t> dims, const std::vector<double>& values);

struct OperatorRun {
  int opset = 18;
  std::string imports = "";                         // of other domains: ", \"acme\" : 1"
  std::map<std::string, std::string> options = {};  // of the provider
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
  // Checks that Vulkan and the CPU plugin give the same.
  void ExpectLikeCpu(std::string_view model, const std::vector<ValuePtr>& inputs, const OperatorRun& run = {});
  // Why the plugin doesn't take the first node that it doesn't take; "" when it takes all.
  std::string WhyNot(std::string_view model, const OperatorRun& run = {});

 private:
  core::Environment* environment_ = nullptr;  // one for all tests of the program
};

}  // namespace epiphyte::test
