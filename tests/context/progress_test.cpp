// Progress reports that an application gets while a session is made. The application can cancel at each report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

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
using core::SessionPhase;
using core::SessionProgress;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

constexpr uint64_t kMegabyte = uint64_t{1} << 20;

class ProgressTest : public testing::Test {
 protected:
  std::filesystem::path WriteMatMul(int64_t rows, int64_t columns) {
    onnx::ModelProto model = ParseProto(OnnxFromText(
        R"(<ir_version: 8, opset_import: ["" : 17]> g (float[1, K] x) => (float[1, M] y) { y = MatMul(x, w) })"));
    AddEvenWeights(&model, rows, columns);
    return dir_.Write("model.onnx", model.SerializeAsString());
  }
  std::filesystem::path WriteChain(int nodes) {
    std::string text = R"(<ir_version: 8, opset_import: ["" : 17]> g (float[N] v0) => (float[N] y) {)";
    for (int i = 0; i < nodes; ++i) text += "v" + std::to_string(i + 1) + " = Neg(v" + std::to_string(i) + ")\n";
    return dir_.Write("model.onnx", OnnxFromText(text + "y = Abs(v" + std::to_string(nodes) + ") }"));
  }

  SessionOptions CompileOptions(const std::string& provider = "cpu") {
    SessionOptions options = OptionsFor({provider});
    options.Set("ep.context_enable", "1");
    return options;
  }
  std::string Make(const std::filesystem::path& model, SessionOptions options) {
    options.progress = [this](const SessionProgress& at) {
      reports_.push_back(at);
      return cancel_ && cancel_(at);
    };
    reports_.clear();
    return FailureOf([&] { core::OpenSession(*environment_, {model}, options); });
  }
  std::vector<SessionPhase> Phases() const {
    std::vector<SessionPhase> phases;
    for (const SessionProgress& at : reports_) {
      if (phases.empty() || phases.back() != at.phase) phases.push_back(at.phase);
    }
    return phases;
  }
  uint64_t CountOf(SessionPhase phase) const {
    return static_cast<uint64_t>(
        std::count_if(reports_.begin(), reports_.end(), [&](const SessionProgress& at) { return at.phase == phase; }));
  }

  TempDir dir_;
  std::unique_ptr<core::Environment> environment_ = RecordingEnvironment();
  std::vector<SessionProgress> reports_;
  std::function<bool(const SessionProgress&)> cancel_;
};

TEST_F(ProgressTest, CompilingReportsItsPhasesInOrder) {
  ASSERT_EQ(Make(WriteMatMul(64, 64), CompileOptions()), "OK");
  EXPECT_THAT(Phases(), ElementsAre(SessionPhase::kRead, SessionPhase::kTransform, SessionPhase::kPartition,
                                    SessionPhase::kCompile, SessionPhase::kWrite));
}

TEST_F(ProgressTest, LoadingReportsItsPhasesInOrder) {
  ASSERT_EQ(Make(WriteMatMul(64, 64), CompileOptions()), "OK");
  ASSERT_EQ(Make(dir_ / "model_ctx.onnx", OptionsFor({"cpu"})), "OK");
  EXPECT_THAT(Phases(), ElementsAre(SessionPhase::kRead, SessionPhase::kTransform, SessionPhase::kPartition,
                                    SessionPhase::kLoad));
}

TEST_F(ProgressTest, TheFirstReportComesBeforeAnythingIsRead) {
  EXPECT_THAT(Make(dir_ / "missing.onnx", OptionsFor({"cpu"})), HasSubstr("NO_SUCHFILE"));
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].text, "missing.onnx");
}

TEST_F(ProgressTest, ShowsWhatAProviderSays) {
  ASSERT_EQ(Make(WriteMatMul(64, 64), CompileOptions()), "OK");
  EXPECT_THAT(reports_, Contains(testing::AllOf(Field(&SessionProgress::phase, SessionPhase::kCompile),
                                                Field(&SessionProgress::text, HasSubstr("g_cpu_0")),
                                                Field(&SessionProgress::total, testing::Gt(0u)))));
}

TEST_F(ProgressTest, CancellingAtAnyReportLeavesNoFile) {
  const auto model = WriteMatMul(64, 64);
  size_t at = 0;
  for (;; ++at) {
    size_t count = 0;
    cancel_ = [&](const SessionProgress&) { return count++ == at; };
    const std::string outcome = Make(model, CompileOptions());
    if (outcome == "OK") break;
    ASSERT_THAT(outcome, HasSubstr("MODEL_LOAD_CANCELED")) << at;
    ASSERT_EQ(reports_.size(), at + 1) << "nothing is reported after cancelling";
    EXPECT_THAT(FilesIn(dir_.path()), ElementsAre("model.onnx")) << at;
  }
  EXPECT_GE(at, 6u);
  EXPECT_THAT(FilesIn(dir_.path()), ElementsAre("model.onnx", "model_cpu.bin", "model_ctx.onnx"));
}

TEST_F(ProgressTest, CancellingWhileMegabytesAreWrittenLeavesNoFile) {
  const auto model = WriteMatMul(2048, 4096);
  cancel_ = [](const SessionProgress& at) { return at.phase == SessionPhase::kWrite && at.done > 16 * kMegabyte; };
  EXPECT_THAT(Make(model, CompileOptions()),
              HasSubstr("MODEL_LOAD_CANCELED: creating the session was cancelled while writing"));
  EXPECT_THAT(FilesIn(dir_.path()), ElementsAre("model.onnx"));
}

TEST_F(ProgressTest, CancellingWhileAContextIsLoadedIsNoBrokenContext) {
  ASSERT_EQ(Make(WriteMatMul(64, 64), CompileOptions()), "OK");
  cancel_ = [](const SessionProgress& at) { return at.phase == SessionPhase::kLoad && at.total != 0; };
  EXPECT_THAT(Make(dir_ / "model_ctx.onnx", OptionsFor({"cpu"})), HasSubstr("MODEL_LOAD_CANCELED"));
}

TEST_F(ProgressTest, AProviderThatSaysNothingDoesNotKeepASessionFromBeingCancelled) {
  const auto model = dir_.Write("model.onnx", ChainModel({"Neg", "Abs"}));
  for (const SessionPhase phase : {SessionPhase::kRead, SessionPhase::kTransform, SessionPhase::kPartition,
                                   SessionPhase::kCompile, SessionPhase::kWrite}) {
    cancel_ = [&](const SessionProgress& at) { return at.phase == phase; };
    EXPECT_THAT(Make(model, CompileOptions("recorder_a")), HasSubstr("MODEL_LOAD_CANCELED"));
    EXPECT_THAT(FilesIn(dir_.path()), ElementsAre("model.onnx"));
  }
}

TEST_F(ProgressTest, WritingReportsEveryFewMegabytes) {
  ASSERT_EQ(Make(WriteMatMul(2048, 4096), CompileOptions()), "OK");
  const uint64_t megabytes = std::filesystem::file_size(dir_ / "model_cpu.bin") / kMegabyte;
  ASSERT_GE(megabytes, 32u);
  EXPECT_GE(CountOf(SessionPhase::kWrite), 2 * (megabytes / 8)) << "once for the bytes, once for the disk";
  uint64_t last = 0;
  for (const SessionProgress& at : reports_) {
    if (at.phase != SessionPhase::kWrite || at.text != "model_cpu.bin") continue;
    EXPECT_LE(at.done - last, 8 * kMegabyte);
    last = at.done;
  }
}

TEST_F(ProgressTest, WhatGoesIntoTheModelIsReportedToo) {
  SessionOptions options = CompileOptions();
  options.Set("ep.context_embed_mode", "1");
  ASSERT_EQ(Make(WriteMatMul(2048, 4096), options), "OK");
  EXPECT_GE(CountOf(SessionPhase::kWrite), 2 * (std::filesystem::file_size(dir_ / "model_ctx.onnx") / kMegabyte / 8));
}

TEST_F(ProgressTest, ComparingDigestsReportsEveryFewMegabytes) {
  ASSERT_EQ(Make(WriteMatMul(4096, 8192), CompileOptions()), "OK");
  const uint64_t bytes = std::filesystem::file_size(dir_ / "model_cpu.bin");
  ASSERT_EQ(Make(dir_ / "model_ctx.onnx", OptionsFor({"cpu"})), "OK");
  const auto digests = static_cast<uint64_t>(std::count_if(reports_.begin(), reports_.end(), [](const auto& at) {
    return at.phase == SessionPhase::kLoad && at.text == "comparing digests";
  }));
  EXPECT_GE(digests, bytes / (64 * kMegabyte));
}

TEST_F(ProgressTest, ManyNodesAreReportedWhileTheyAreReadAndRewritten) {
  constexpr int kNodes = 20000;
  ASSERT_EQ(Make(WriteChain(kNodes), OptionsFor({"cpu"})), "OK");
  EXPECT_GE(CountOf(SessionPhase::kRead), 3u * (kNodes / 2048));  // read, check, infer
  EXPECT_GE(CountOf(SessionPhase::kTransform), uint64_t{kNodes} / 2048);
  EXPECT_GE(CountOf(SessionPhase::kPartition), 5u);  // ask, check, group, take out
}

TEST_F(ProgressTest, ACacheThatIsCancelledKeepsNothing) {
  const auto model = WriteMatMul(64, 64);
  SessionOptions options = OptionsFor({"cpu"});
  options.Set("session.context_cache_dir", (dir_ / "cache").string());
  for (const SessionPhase phase : {SessionPhase::kCompile, SessionPhase::kWrite}) {
    cancel_ = [&](const SessionProgress& at) { return at.phase == phase; };
    EXPECT_THAT(Make(model, options), HasSubstr("MODEL_LOAD_CANCELED"));
  }
  for (const std::string& file : FilesIn(dir_.path())) EXPECT_THAT(file, testing::Not(HasSubstr(".bin")));
}

}  // namespace
}  // namespace epiphyte::test
