#include "tests/onnx_backend/backend_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/framework/temp_dir.h"
#include "tests/onnx_backend/value_files.h"

namespace epiphyte::test {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

TEST(FindBackendCases, FindsFoldersWithAModelAndData) {
  const TempDir dir;
  dir.Write("node/test_b/model.onnx", "");
  dir.Write("node/test_b/test_data_set_0/output_0.pb", "");
  dir.Write("node/test_a/model.onnx", "");
  dir.Write("node/test_a/test_data_set_0/output_0.pb", "");
  dir.Write("node/no_data/model.onnx", "");
  dir.Write("node/no_model/test_data_set_0/output_0.pb", "");
  EXPECT_THAT(FindBackendCases(dir.path()),
              ElementsAre(Field(&BackendCase::name, "test_a"), Field(&BackendCase::name, "test_b")));
}

TEST(FindBackendCases, TakesTheFolderOfOneCase) {
  const TempDir dir;
  dir.Write("test_a/model.onnx", "");
  dir.Write("test_a/test_data_set_0/output_0.pb", "");
  EXPECT_THAT(FindBackendCases(dir / "test_a/"), ElementsAre(Field(&BackendCase::name, "test_a")));
}

TEST(FindBackendCases, FindsNothingInAnEmptyFolder) {
  const TempDir dir;
  EXPECT_THAT(FindBackendCases(dir.path()), IsEmpty());
}

TEST(NumberedFiles, AreInTheOrderOfTheirNumbers) {
  const TempDir dir;
  std::vector<std::filesystem::path> expected;
  for (int i = 0; i < 11; ++i) expected.push_back(dir.Write("input_" + std::to_string(i) + ".pb", ""));
  dir.Write("output_0.pb", "");
  EXPECT_EQ(NumberedFiles(dir.path(), "input_"), expected);
}

}  // namespace
}  // namespace epiphyte::test
