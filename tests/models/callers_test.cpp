// Concurrent callers of one session get the results of a single caller, regardless of the threads that do the work.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/runtime/session.h"
#include "host/conformance/cases/compare_values.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"
#include "tests/models/models.h"
#include "tests/models/sample_inputs.h"
#include "tests/onnx_backend/value_files.h"

namespace epiphyte::test {
namespace {

class Callers : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(OfOneSession, Callers, ::testing::Values("squeezenet1.1", "mobilenetv2", "lstm_tagger"),
                         [](const auto& info) { return info.param.substr(0, info.param.find('.')); });

TEST_P(Callers, ManyGetTheResultsOfOne) {
  const TempDir dir;
  const std::unique_ptr<core::Environment> environment = BuildTreeEnvironment();
  core::SessionOptions options = OptionsFor({"cpu"});
  options.thread_count = 2;
  core::Session session(*environment, WriteModel(GetParam(), SharedModels(EPIPHYTE_BINARY_DIR, dir / "models")),
                        options);
  const std::vector<core::ValuePtr> inputs = ReadTensorFiles(WriteSampleInputs(GetParam(), dir.path()), "input_");
  const std::vector<core::ValuePtr> expected = session.Run(inputs);

  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      for (int run = 0; run < 8; ++run) {
        const std::vector<core::ValuePtr> outputs = session.Run(inputs);
        for (size_t i = 0; i < outputs.size(); ++i) {
          // With other threads, sums may be divided in other places.
          const conformance::Tolerance tolerance{.relative = 1e-5, .absolute = 1e-6};
          EXPECT_EQ(conformance::CompareValues(*outputs[i], *expected[i], tolerance).difference, "");
        }
      }
    });
  }
}

}  // namespace
}  // namespace epiphyte::test
