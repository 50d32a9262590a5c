// Operators give the same results with one thread and with two: the division of work among threads must not be visible.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/runtime/session.h"
#include "host/conformance/cases/compare_values.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"
#include "tests/models/operators/operator_case.h"
#include "tests/onnx_backend/backend_case.h"
#include "tests/onnx_backend/value_files.h"

namespace epiphyte::test {
namespace {

// A step of float16 is about a thousandth of the value, a step of bfloat16 eight thousandths. A quantized number
// halfway between two may be rounded to either.
conformance::Tolerance ToleranceOf(const OperatorCase& one) {
  if (one.type == "bfloat16") return {.relative = 0x1p-7, .absolute = 1e-2};
  if (one.type == "float16") return {.relative = 0x1p-9, .absolute = 1e-3};
  return {.relative = 1e-4, .absolute = 1e-4};
}

std::vector<core::ValuePtr> Outputs(core::Environment& environment, const std::string& model,
                                    const std::vector<core::ValuePtr>& inputs, uint32_t threads) {
  core::SessionOptions options = OptionsFor({"cpu"});
  options.thread_count = threads;
  core::Session session(environment, model.data(), model.size(), options);
  session.Run(inputs);
  return session.Run(inputs);  // the second run is a steady one
}

// Runs the case with one thread and with two. Outputs may differ by the order of additions in sums.
void ExpectTheSameWithTwoThreads(core::Environment& environment, const OperatorCase& one) {
  SCOPED_TRACE(one.name);
  const OperatorModel made = MakeOperatorModel(one);
  const TempDir dir;
  for (size_t i = 0; i < made.inputs.size(); ++i)
    dir.Write("input_" + std::to_string(i) + ".pb", made.inputs[i].SerializeAsString());
  const std::vector<core::ValuePtr> inputs = ReadTensorFiles(dir.path(), "input_");
  const std::string model = made.model.SerializeAsString();
  const std::vector<core::ValuePtr> alone = Outputs(environment, model, inputs, 1);
  const std::vector<core::ValuePtr> shared = Outputs(environment, model, inputs, 2);
  ASSERT_EQ(shared.size(), alone.size());
  if (DrawsRandomNumbers(made.model)) return;
  for (size_t i = 0; i < alone.size(); ++i)
    EXPECT_EQ(conformance::CompareValues(*shared[i], *alone[i], ToleranceOf(one)).difference, "") << "output " << i;
}

TEST(OperatorThreads, TwoGiveWhatOneGives) {
  const std::unique_ptr<core::Environment> environment = BuildTreeEnvironment();
  for (const OperatorCase& one : OperatorCases()) ExpectTheSameWithTwoThreads(*environment, one);
}

}  // namespace
}  // namespace epiphyte::test
