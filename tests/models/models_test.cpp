#include "tests/models/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <fstream>
#include <stdexcept>

#include "tests/framework/temp_dir.h"
#include "tests/models/sample_inputs.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::string_view kSmallModels[] = {"lstm_tagger", "detector_tail",  "control_flow", "tiny_add",
                                             "chain_1000",  "voice_activity", "wake_word",    "wake_word_opset9"};

onnx::ModelProto Parse(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  onnx::ModelProto model;
  if (!model.ParseFromIstream(&stream)) throw std::runtime_error(path.string() + " is no model");
  return model;
}

class SmallModels : public ::testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(All, SmallModels, ::testing::ValuesIn(kSmallModels),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(SmallModels, PassTheOnnxChecker) {
  const TempDir dir;
  onnx::ModelProto model = Parse(WriteModel(GetParam(), dir.path()));
  EXPECT_NO_THROW(onnx::checker::check_model(model));
  EXPECT_NO_THROW(onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), {true, 1, true}));
}

TEST_P(SmallModels, AreTheSameBytesOnEachRun) {
  const TempDir first, second;
  EXPECT_EQ(ReadFile(WriteModel(GetParam(), first.path())), ReadFile(WriteModel(GetParam(), second.path())));
}

TEST_P(SmallModels, ComeWithAnInputForEachGraphInput) {
  const TempDir dir;
  const onnx::ModelProto model = Parse(WriteModel(GetParam(), dir.path()));
  const fs::path inputs = WriteSampleInputs(GetParam(), dir.path());
  const auto files = std::distance(fs::directory_iterator(inputs), fs::directory_iterator());
  EXPECT_EQ(files, model.graph().input_size());
}

// The checker refuses operators, attributes and inputs that opset 9 doesn't have.
TEST(Opset9, IsWhatTheCheckerTakes) {
  const TempDir dir;
  const fs::path folder = SharedModels(EPIPHYTE_BINARY_DIR, dir.path());
  for (const char* name :
       {"squeezenet1.1_opset9", "mobilenetv2_opset9", "shufflenetv2_opset9", "text_recogniser_opset9"}) {
    onnx::ModelProto model = Parse(WriteModel(name, folder));
    EXPECT_EQ(model.opset_import(0).version(), 9) << name;
    EXPECT_NO_THROW(onnx::checker::check_model(model)) << name;
    EXPECT_NO_THROW(onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), {true, 1, false}))
        << name;
  }
}

TEST(Opset9, SaysWhatCannotBeWritten) {
  const TempDir dir;
  EXPECT_THROW(WriteModel("control_flow_opset9", dir.path()), std::invalid_argument);
  EXPECT_THROW(WriteModel("tiny_add_int4", dir.path()), std::invalid_argument);
}

TEST(WriteModel, LeavesACurrentModelAlone) {
  const TempDir dir;
  const fs::path path = WriteModel("tiny_add", dir.path());
  const fs::file_time_type written = fs::last_write_time(path) - std::chrono::hours(1);
  fs::last_write_time(path, written);
  WriteModel("tiny_add", dir.path());
  EXPECT_EQ(fs::last_write_time(path), written);
}

TEST(WriteModel, ReplacesWhatItDidNotWrite) {
  const TempDir dir;
  dir.Write("tiny_add.onnx", "left by something else");
  EXPECT_EQ(Parse(WriteModel("tiny_add", dir.path())).graph().node_size(), 1);
}

TEST(WriteModel, LeavesNoTemporaryFile) {
  const TempDir dir;
  WriteModel("control_flow", dir.path());
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()), 1);
}

TEST(WriteModel, MakesChainsOfAnyLength) {
  const TempDir dir;
  EXPECT_EQ(Parse(WriteModel("chain_17", dir.path())).graph().node_size(), 17);
}

TEST(WriteModel, NamesTheKnownModelsWhenOneIsUnknown) {
  const TempDir dir;
  for (const char* name : {"resnet51", "chain_", "chain_-1", "chain_2x", ""}) {
    try {
      WriteModel(name, dir.path());
      ADD_FAILURE() << "'" << name << "' was taken";
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr("resnet50"));
    }
  }
}

}  // namespace
}  // namespace epiphyte::test
