// Another program truncates a file while a session reads from it. The session's error names the file, and the process
// goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/cache/open_session.h"
#include "tests/context/compiled_models.h"
#include "tests/context/context_proto.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/recording_plugins.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Session;
using core::SessionOptions;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int64_t kRows = 64;
constexpr int64_t kColumns = 512;

class TruncatedFileTest : public testing::Test {
 protected:
  // Writes y = x · w, or y = x + w, with weights of a few dozen pages.
  std::filesystem::path WriteModel(const std::string& op, bool external) {
    const std::string shape =
        op == "MatMul" ? "float[1, 64] x) => (float[1, 512] y" : "float[64, 512] x) => (float[64, 512] y";
    onnx::ModelProto model = ParseProto(
        OnnxFromText("<ir_version: 8, opset_import: [\"\" : 17]> g (" + shape + ") { y = " + op + "(x, w) }"));
    AddEvenWeights(&model, kRows, kColumns);
    if (external) {
      std::string bytes;
      MakeExternal(model.mutable_graph(), "weights.bin", &bytes);
      dir_.Write("weights.bin", bytes);
    }
    return dir_.Write("model.onnx", model.SerializeAsString());
  }

  SessionOptions Options(const std::string& provider, std::map<std::string, std::string> options = {}) const {
    SessionOptions made = OptionsFor({provider});
    made.provider_options[provider] = std::move(options);
    return made;
  }
  std::filesystem::path Compile(const std::filesystem::path& model, const std::string& provider) {
    SessionOptions options = Options(provider);
    options.Set("ep.context_enable", "1");
    Session(*environment_, model, options);
    return dir_ / "model_ctx.onnx";
  }
  std::string FailureOfRun(Session& session, std::vector<int64_t> dims) {
    std::vector<float> input(static_cast<size_t>(dims[0] * dims[1]), 1);
    return FailureOf([&] { session.Run(std::vector<core::ValuePtr>{Floats(dims, input)}); });
  }
  std::string FailureOfMaking(const std::filesystem::path& model, const SessionOptions& options) {
    return FailureOf([&] { Session session(*environment_, model, options); });
  }
  auto NamesFile(const std::string& name) const {
    return AllOf(StartsWith("FAIL: "), HasSubstr((dir_ / name).string()), HasSubstr("changed while in use"));
  }

  TempDir dir_;
  std::unique_ptr<core::Environment> environment_ = RecordingEnvironment();
};

TEST_F(TruncatedFileTest, ARunThatNeedsWhatAContextBinaryLostFails) {
  const auto model = Compile(WriteModel("MatMul", false), "cpu");
  Session session(*environment_, model, Options("cpu"));
  ASSERT_EQ(FailureOfRun(session, {1, kRows}), "OK");
  std::filesystem::resize_file(dir_ / "model_cpu.bin", 0);
  EXPECT_THAT(FailureOfRun(session, {1, kRows}), NamesFile("model_cpu.bin"));
  EXPECT_THAT(FailureOfRun(session, {1, kRows}), NamesFile("model_cpu.bin"));  // later runs fail too
}

TEST_F(TruncatedFileTest, SessionsOfOneShareGroupAllFail) {
  const auto model = Compile(WriteModel("MatMul", false), "cpu");
  SessionOptions options = Options("cpu");
  options.Set("ep.share_ep_contexts", "1");
  Session first(*environment_, model, options);
  Session second(*environment_, model, options);
  std::filesystem::resize_file(dir_ / "model_cpu.bin", 0);
  EXPECT_THAT(FailureOfRun(first, {1, kRows}), NamesFile("model_cpu.bin"));
  EXPECT_THAT(FailureOfRun(second, {1, kRows}), NamesFile("model_cpu.bin"));
}

TEST_F(TruncatedFileTest, SessionsOfOtherFilesGoOn) {
  const auto model = Compile(WriteModel("MatMul", false), "cpu");
  Session other(*environment_, dir_ / "model.onnx", Options("cpu"));
  Session session(*environment_, model, Options("cpu"));
  std::filesystem::resize_file(dir_ / "model_cpu.bin", 0);
  EXPECT_THAT(FailureOfRun(session, {1, kRows}), NamesFile("model_cpu.bin"));
  EXPECT_EQ(FailureOfRun(other, {1, kRows}), "OK");
}

TEST_F(TruncatedFileTest, ReadingAPayloadOnAPluginThreadDoesNotEndTheProcess) {
  const auto model = Compile(WriteModel("Add", false), "recorder_a");
  Session session(*environment_, model, Options("recorder_a", {{"reread", "1"}}));
  ASSERT_EQ(FailureOfRun(session, {kRows, kColumns}), "OK");
  std::filesystem::resize_file(dir_ / "model_recorder_a.bin", 0);
  EXPECT_THAT(FailureOfRun(session, {kRows, kColumns}), NamesFile("model_recorder_a.bin"));
}

TEST_F(TruncatedFileTest, ALoadWhosePayloadIsCutOffBetweenItsDigestAndThePluginFails) {
  const auto model = Compile(WriteModel("Add", false), "recorder_a");
  const SessionOptions options = Options("recorder_a", {{"truncate", (dir_ / "model_recorder_a.bin").string()}});
  EXPECT_THAT(FailureOfMaking(model, options), NamesFile("model_recorder_a.bin"));
}

TEST_F(TruncatedFileTest, LoadFailsIfThePluginReadZerosEvenIfItReportsSuccess) {
  const auto model = Compile(WriteModel("MatMul", false), "cpu");
  SessionOptions options = Options("cpu");
  options.progress = [&](const core::SessionProgress& at) {
    if (at.phase == core::SessionPhase::kLoad && at.total != 0 && at.text != "comparing digests")
      std::filesystem::resize_file(dir_ / "model_cpu.bin", 0);
    return false;
  };
  EXPECT_THAT(FailureOfMaking(model, options), NamesFile("model_cpu.bin"));
}

TEST_F(TruncatedFileTest, CompilingFromExternalDataThatIsCutOffFailsAndWritesNothing) {
  const auto model = WriteModel("Add", true);
  SessionOptions options = Options("recorder_a", {{"truncate", (dir_ / "weights.bin").string()}});
  options.Set("ep.context_enable", "1");
  EXPECT_THAT(FailureOfMaking(model, options), NamesFile("weights.bin"));
  EXPECT_THAT(FilesIn(dir_.path()), testing::UnorderedElementsAre("model.onnx", "weights.bin"));
}

TEST_F(TruncatedFileTest, CompilingFromAModelThatIsCutOffFailsAndWritesNothing) {
  const auto model = WriteModel("Add", false);
  SessionOptions options = Options("recorder_a", {{"truncate", model.string()}});
  options.Set("ep.context_enable", "1");
  EXPECT_THAT(FailureOfMaking(model, options), NamesFile("model.onnx"));
  EXPECT_THAT(FilesIn(dir_.path()), testing::UnorderedElementsAre("model.onnx"));
}

TEST_F(TruncatedFileTest, ASessionThatOnlyRunsFailsInTheSameWay) {
  const auto model = WriteModel("Add", true);
  EXPECT_THAT(FailureOfMaking(model, Options("recorder_a", {{"truncate", (dir_ / "weights.bin").string()}})),
              NamesFile("weights.bin"));
}

TEST_F(TruncatedFileTest, AnEntryOfTheCacheThatIsCutOffWhileItLoadsIsCompiledAgain) {
  const auto model = WriteModel("MatMul", false);
  SessionOptions options = Options("cpu");
  options.Set("session.context_cache_dir", (dir_ / "cache").string());
  core::OpenSession(*environment_, {model}, options);
  std::filesystem::path binary;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ / "cache")) {
    if (entry.path().extension() == ".bin") binary = entry.path();
  }
  ASSERT_FALSE(binary.empty());
  bool cut = false;
  options.progress = [&](const core::SessionProgress& at) {
    if (at.phase == core::SessionPhase::kLoad && at.total != 0 && !std::exchange(cut, true))
      std::filesystem::resize_file(binary, 0);
    return false;
  };
  Session second = core::OpenSession(*environment_, {model}, options);
  EXPECT_TRUE(cut);
  EXPECT_EQ(FailureOfRun(second, {1, kRows}), "OK");
}

}  // namespace
}  // namespace epiphyte::test
