// Verification finds every problem and reports each once.
#include "core/context/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/context/context_model.h"
#include "core/context/reseal.h"
#include "core/onnx/model_reader.h"
#include "core/onnx/write/model_writer.h"
#include "tests/context/compiled_models.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::VerifyProblem;
using core::VerifyReport;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class VerifyTest : public testing::Test {
 protected:
  std::filesystem::path Compile(bool embed = false) { return CompileMatMul(*environment_, dir_, embed); }
  VerifyReport Verify(const std::filesystem::path& model) {
    VerifyReport report = core::VerifyContextModel(model, environment_->catalog());
    for (const VerifyProblem& problem : report.problems) EXPECT_EQ(problem.text.find('\n'), std::string::npos);
    return report;
  }
  static std::vector<std::string> Texts(const VerifyReport& report) {
    std::vector<std::string> texts;
    for (const VerifyProblem& problem : report.problems) texts.push_back(problem.text);
    return texts;
  }
  void Flip(const std::string& name, size_t at) {
    std::string bytes = ReadFile(dir_ / name);
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 1);
    dir_.Write(name, bytes);
  }
  // Reads, changes and writes a model as a third-party tool would. The seal is not updated.
  template <typename Change>
  void Rewrite(const std::filesystem::path& path, Change&& change) {
    core::Model model = core::ReadModelFile(path, {});
    change(model);
    std::string bytes;
    core::WriteModel(model, {},
                     [&](const void* data, uint64_t size) { bytes.append(static_cast<const char*>(data), size); });
    model = {};
    dir_.Write(path.filename().string(), bytes);
  }

  TempDir dir_;
  std::unique_ptr<core::Environment> environment_ = BuildTreeEnvironment();
};

TEST_F(VerifyTest, WhatWasJustWrittenIsFine) {
  for (bool embed : {false, true}) {
    const VerifyReport report = Verify(Compile(embed));
    EXPECT_THAT(Texts(report), IsEmpty());
    EXPECT_THAT(report.notes, IsEmpty());
    EXPECT_EQ(report.seal, core::SealState::kIntact);
    EXPECT_EQ(report.context_nodes, 1u);
    ASSERT_EQ(report.payloads.size(), 1u);
    EXPECT_EQ(report.payloads[0].file, embed ? "" : "model_cpu.bin");
    EXPECT_TRUE(report.payloads[0].recorded);
    std::filesystem::remove(dir_ / "model_ctx.onnx");
  }
}

TEST_F(VerifyTest, EveryFlippedByteIsAProblem) {
  const auto model = Compile();
  for (const char* name : {"model_ctx.onnx", "model_cpu.bin"}) {
    const std::string whole = ReadFile(dir_ / name);
    for (size_t at = 0; at < whole.size(); at += std::max<size_t>(1, whole.size() / 53)) {
      Flip(name, at);
      EXPECT_THAT(Texts(Verify(model)), testing::Not(IsEmpty())) << name << " at " << at;
      dir_.Write(name, whole);
    }
  }
  EXPECT_THAT(Texts(Verify(model)), IsEmpty());
}

// A file cut off exactly before its metadata is a complete model that could come from another tool.
TEST_F(VerifyTest, EveryTruncationIsAProblemOrLosesTheRecords) {
  const auto model = Compile(true);
  const std::string whole = ReadFile(model);
  for (size_t size = 1; size < whole.size(); size += std::max<size_t>(1, whole.size() / 41)) {
    dir_.Write("model_ctx.onnx", whole.substr(0, size));
    const VerifyReport report = Verify(model);
    if (report.problems.empty()) {
      EXPECT_THAT(report.notes, Contains(HasSubstr("another tool"))) << size;
      EXPECT_TRUE(core::ReadModelFile(model, {}).metadata.empty() || report.seal == core::SealState::kNone) << size;
    }
  }
}

TEST_F(VerifyTest, AFileThatIsGoneIsNamedOnce) {
  const auto model = Compile();
  std::filesystem::remove(dir_ / "model_cpu.bin");
  const VerifyReport report = Verify(model);
  EXPECT_THAT(Texts(report), ElementsAre(AllOf(HasSubstr("model_cpu.bin"), HasSubstr("does not exist"))));
  EXPECT_TRUE(report.Has(VerifyProblem::kPayload));
}

TEST_F(VerifyTest, SeveralProblemsAreAllListed) {
  const auto model = Compile();
  Rewrite(model, [](core::Model& changed) {
    core::Node* node = core::FindContextNodes(*changed.graph).at(0);
    node->SetAttribute(core::Attribute::String("source", "Nobody"));
    node->SetAttribute(core::Attribute::String("ep_cache_context", "../model_cpu.bin"));
  });
  EXPECT_THAT(Texts(Verify(model)), AllOf(Contains(HasSubstr("seal")), Contains(HasSubstr("'..'")),
                                          Contains(AllOf(HasSubstr("'Nobody'"), HasSubstr("EpiphyteCPU"))),
                                          Contains(HasSubstr("none of its nodes refers to"))));
}

TEST_F(VerifyTest, MalformedAttributesAndSecondariesWithoutPrimaryAreProblems) {
  const auto model =
      dir_.Write("odd.onnx", OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[1] x) => (float[1] a, float[1] b, float[1] c) {
      a = com.microsoft.EPContext <source = "EpiphyteCPU", main_context = 0> (x)
      b = com.microsoft.EPContext <source = "EpiphyteCPU", embed_mode = 7> (x)
      c = com.microsoft.EPContext <source = "EpiphyteCPU"> (x)
    })"));
  const VerifyReport report = Verify(model);
  EXPECT_EQ(report.context_nodes, 3u);
  EXPECT_THAT(Texts(report), AllOf(Contains(HasSubstr("main_context 0")), Contains(HasSubstr("embed_mode is 7")),
                                   Contains(HasSubstr("ep_cache_context is missing"))));
  EXPECT_THAT(report.notes, Contains(HasSubstr("another tool")));
}

TEST_F(VerifyTest, APayloadThatOnlyItsPluginKnowsIsCheckedByThePlugin) {
  const auto model =
      dir_.Write("foreign.onnx", OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[1] x) => (float[1] y) {
      y = com.microsoft.EPContext <source = "EpiphyteCPU", ep_cache_context = "no payload of this provider"> (x)
    })"));
  const VerifyReport report = Verify(model);
  EXPECT_TRUE(report.Has(VerifyProblem::kProvider));
  EXPECT_THAT(Texts(report), ElementsAre(HasSubstr("provider 'cpu'")));
}

TEST_F(VerifyTest, AModelThatCannotBeReadStillHasItsFilesCompared) {
  const auto model = Compile();
  Rewrite(model, [](core::Model& changed) { changed.ir_version = 99; });
  Flip("model_cpu.bin", 10);
  EXPECT_THAT(Texts(Verify(model)), AllOf(Contains(HasSubstr("IR version 99"))));
  EXPECT_TRUE(Verify(model).Has(VerifyProblem::kModel));
}

TEST_F(VerifyTest, OnlyAFileThatCannotBeOpenedThrows) {
  EXPECT_THAT(FailureOf([&] { Verify(dir_ / "absent.onnx"); }), HasSubstr("NO_SUCHFILE"));
  EXPECT_THAT(FailureOf([&] { Verify(dir_.path()); }), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(Texts(Verify(dir_.Write("text.onnx", "this is no model"))), testing::Not(IsEmpty()));
  EXPECT_THAT(Texts(Verify(dir_.Write("empty.onnx", ""))), testing::Not(IsEmpty()));
}

TEST_F(VerifyTest, ResealingTakesTheModelAsItIsAndPayloadsAsTheyWere) {
  const auto model = Compile();
  EXPECT_EQ(core::ResealContextModel(model, environment_->catalog()), core::SealState::kIntact);
  Rewrite(model, [](core::Model& changed) { changed.doc_string = "changed on purpose"; });
  EXPECT_NE(core::ResealContextModel(model, environment_->catalog()), core::SealState::kIntact);
  EXPECT_THAT(Texts(Verify(model)), IsEmpty());
  EXPECT_EQ(core::ReadModelFile(model, {}).doc_string, "changed on purpose");
  core::Session session(*environment_, model, OptionsFor({"cpu"}));
  EXPECT_TRUE(session.has_context());

  Rewrite(model, [](core::Model& changed) { changed.doc_string = "and once more"; });
  Flip("model_cpu.bin", 99);
  const std::string before = ReadFile(model);
  EXPECT_THAT(FailureOf([&] { core::ResealContextModel(model, environment_->catalog()); }),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("not sealed again"), HasSubstr("model_cpu.bin")));
  EXPECT_EQ(ReadFile(model), before);
}

}  // namespace
}  // namespace epiphyte::test
