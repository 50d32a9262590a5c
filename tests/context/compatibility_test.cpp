// Compatibility checks of contexts without a session.
#include "core/context/compatibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/context/context_loader.h"
#include "core/context/verify.h"
#include "core/onnx/model_reader.h"
#include "core/registry/catalog.h"
#include "core/runtime/provider_list.h"
#include "tests/context/compiled_models.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/recording_plugins.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::ContextReport;
using core::ContextVerdict;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class CompatibilityTest : public testing::Test {
 protected:
  std::filesystem::path Compile() { return CompileMatMul(*environment_, dir_); }
  ContextReport Check(const std::filesystem::path& path, bool with_payloads = true) {
    core::Model model = core::ReadModelFile(path, {});
    return core::CheckContexts(model, path, environment_->catalog(), with_payloads);
  }
  ContextReport CheckText(std::string_view nodes) {
    return Check(dir_.Write("text.onnx", OnnxFromText(fmt::format(
                                             R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
      g (float[1] x) => (float[1] y) {{ {} }})",
                                             nodes))));
  }
  // Returns the error of RequireUsable for the nodes of a compiled model with changed metadata.
  std::string Require(const std::filesystem::path& path, const std::string& info, bool fail_on_suboptimal) {
    core::Model model = core::ReadModelFile(path, {});
    model.metadata["ep_compatibility_info.cpu"] = info;
    core::PayloadAccess load;
    load.model = path;
    const core::ContextBinding binding(core::FindContextNodes(*model.graph), core::OwnersIn(environment_->catalog()));
    const core::ContextBatch batch = core::LoadPayloads(binding, "cpu", load, model.metadata);
    return FailureOf([&] {
      core::RequireUsable(environment_->catalog().Load("cpu"), batch.to_load, batch.blobs, model.metadata,
                          fail_on_suboptimal, {});
    });
  }

  TempDir dir_;
  std::unique_ptr<core::Environment> environment_ = BuildTreeEnvironment();
};

TEST_F(CompatibilityTest, WhatWasCompiledHereIsOptimalWithAndWithoutPayloads) {
  const auto model = Compile();
  for (bool with_payloads : {true, false}) {
    const ContextReport report = Check(model, with_payloads);
    EXPECT_EQ(report.verdict, ContextVerdict::kOptimal) << report.reason;
    ASSERT_EQ(report.nodes.size(), 1u);
    EXPECT_EQ(report.nodes[0].provider, "cpu");
    EXPECT_EQ(report.nodes[0].source, "EpiphyteCPU");
    ASSERT_EQ(report.providers.size(), 1u);
    EXPECT_EQ(report.providers[0].verdict, ContextVerdict::kOptimal);
  }
}

TEST_F(CompatibilityTest, MissingPayloadIsReportedOnlyWhenPayloadsAreRead) {
  const auto model = Compile();
  std::filesystem::remove(dir_ / "model_cpu.bin");
  EXPECT_EQ(Check(model, false).verdict, ContextVerdict::kOptimal);
  const ContextReport report = Check(model, true);
  EXPECT_EQ(report.verdict, ContextVerdict::kUnsupported);
  EXPECT_THAT(report.reason, AllOf(HasSubstr("model_cpu.bin"), HasSubstr("does not exist")));
}

TEST_F(CompatibilityTest, ADamagedPayloadIsRefusedBeforeThePluginSeesIt) {
  const auto model = Compile();
  std::string bytes = ReadFile(dir_ / "model_cpu.bin");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  dir_.Write("model_cpu.bin", bytes);
  const ContextReport report = Check(model);
  EXPECT_EQ(report.verdict, ContextVerdict::kUnsupported);
  EXPECT_THAT(report.reason, HasSubstr("digest"));
}

TEST_F(CompatibilityTest, SourceWithoutPluginIsNotApplicable) {
  const ContextReport report =
      CheckText(R"(y = com.microsoft.EPContext <source = "QNN", ep_cache_context = "payload"> (x))");
  EXPECT_EQ(report.verdict, ContextVerdict::kNotApplicable);
  EXPECT_THAT(report.reason, AllOf(HasSubstr("'QNN'"), HasSubstr("EpiphyteCPU")));
  EXPECT_EQ(report.nodes.at(0).provider, "");
}

TEST_F(CompatibilityTest, APayloadOfAnotherKindIsUnsupported) {
  const ContextReport report =
      CheckText(R"(y = com.microsoft.EPContext <source = "EpiphyteCPU", ep_cache_context = "not a plan"> (x))");
  EXPECT_EQ(report.verdict, ContextVerdict::kUnsupported);
  EXPECT_THAT(report.reason, testing::Not(IsEmpty()));
}

TEST_F(CompatibilityTest, TheWorstVerdictIsTheModels) {
  const ContextReport report = CheckText(R"(
    t = com.microsoft.EPContext <source = "QNN", ep_cache_context = "payload"> (x)
    y = com.microsoft.EPContext <source = "EpiphyteCPU", ep_cache_context = "not a plan"> (t))");
  EXPECT_EQ(report.verdict, ContextVerdict::kUnsupported);
  ASSERT_EQ(report.providers.size(), 2u);
  EXPECT_EQ(report.providers[0].verdict, ContextVerdict::kNotApplicable);
  EXPECT_EQ(report.providers[1].verdict, ContextVerdict::kUnsupported);
}

TEST_F(CompatibilityTest, ABadNodeIsUnsupportedAndAPlainModelNotApplicable) {
  EXPECT_EQ(CheckText(R"(y = com.microsoft.EPContext <source = "EpiphyteCPU", main_context = 5> (x))").verdict,
            ContextVerdict::kUnsupported);
  const ContextReport plain = CheckText("y = Relu(x)");
  EXPECT_EQ(plain.verdict, ContextVerdict::kNotApplicable);
  EXPECT_THAT(plain.reason, HasSubstr("no EPContext node"));
}

TEST_F(CompatibilityTest, APluginThatCannotBeUsedIsNotApplicableWithItsState) {
  TempDir plugins;
  plugins.Write("gone.yaml", R"(manifest_version: 1
name: gone
vendor: Nobody
version: 1.0.0
license: none
description: a plugin without its library
library: { linux-x86_64: libgone.so }
abi: "0.2"
sources: [Gone]
devices: [npu]
)");
  core::CatalogOptions options;
  options.paths = {plugins.path()};
  options.use_environment = options.use_user_folder = options.use_system_folders = false;
  core::Environment environment(options);
  const auto path =
      dir_.Write("gone.onnx", OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[1] x) => (float[1] y) { y = com.microsoft.EPContext <source = "Gone", ep_cache_context = "p"> (x) })"));
  core::Model model = core::ReadModelFile(path, {});
  const ContextReport report = core::CheckContexts(model, path, environment.catalog(), true);
  EXPECT_EQ(report.verdict, ContextVerdict::kNotApplicable);
  EXPECT_THAT(report.reason, AllOf(HasSubstr("LibraryMissing"), HasSubstr("libgone.so")));
}

TEST_F(CompatibilityTest, ASessionRefusesWhatThePluginCallsUnsupported) {
  const auto path = Compile();
  const std::string good = core::ReadModelFile(path, {}).metadata.at("ep_compatibility_info.cpu");
  EXPECT_EQ(Require(path, good, true), "OK");
  EXPECT_EQ(Require(path, "", true), "OK") << "without a word on it, the payload speaks";
  EXPECT_THAT(Require(path, "of another world", false),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("EpiphyteCPU"), HasSubstr("model_cpu.bin"),
                    HasSubstr("compile the model again")));
}

TEST_F(CompatibilityTest, ASessionTakesASuboptimalContextUnlessToldNotTo) {
  const auto path = Compile();
  std::string info = core::ReadModelFile(path, {}).metadata.at("ep_compatibility_info.cpu");
  const size_t isa = info.find(";isa=");
  ASSERT_NE(isa, std::string::npos) << info;
  info.replace(isa, info.find(';', isa + 1) - isa, ";isa=another");
  EXPECT_EQ(Require(path, info, false), "OK");
  EXPECT_THAT(Require(path, info, true), AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("another"),
                                               HasSubstr("session.fail_on_suboptimal_compiled_model")));
}

// A context compiled for int8 gives int8 results under any option, so a session that requires optimal contexts refuses
// it.
TEST_F(CompatibilityTest, ACpuContextOfAnotherPrecisionIsNotOptimal) {
  const auto path = Compile();
  core::SessionOptions options = OptionsFor({"cpu"});
  options.provider_options["cpu"]["precision"] = "int8-dynamic";
  const auto load = [&] { core::Session session(*environment_, path, options); };
  EXPECT_EQ(FailureOf(load), "OK");
  options.Set("session.fail_on_suboptimal_compiled_model", "1");
  EXPECT_THAT(FailureOf(load),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("precision f32"), HasSubstr("precision int8-dynamic")));
  options.provider_options["cpu"]["precision"] = "f32";
  EXPECT_EQ(FailureOf(load), "OK");
}

// Sessions and verdicts get a plugin's options and devices from one place. `judge` is an option by which recorder_a
// refuses every context.
class VerdictOfSessions : public testing::Test {
 protected:
  VerdictOfSessions() {
    const auto model = dir_.Write("model.onnx", OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y) { a = Neg(x) y = Abs(a) })"));
    core::SessionOptions options = OptionsFor({"recorder_a"});
    options.Set("ep.context_enable", "1");
    core::Session session(*RecordingEnvironment(), model, options);
  }
  core::CatalogOptions Catalog(std::string_view policy) const {
    core::CatalogOptions options;
    options.use_environment = options.use_user_folder = false;
    options.paths = {RecordingPluginFolder()};
    options.policy_file = dir_.Write("policy.yaml", fmt::format("policy_version: 1\nproviders:\n{}\n", policy));
    return options;
  }
  // Returns the refusal of a session, a verdict and a verification. Checks that all three agree.
  std::string Refusal(core::Environment& environment, const core::SessionOptions& options) {
    const auto path = dir_ / "model_ctx.onnx";
    const core::ProviderRequest request = core::RequestOf(options);
    const std::string failure = FailureOf([&] { core::Session session(environment, path, options); });
    core::Model model = core::ReadModelFile(path, {});
    for (const bool with_payloads : {true, false}) {
      const ContextReport report =
          core::CheckContexts(model, path, environment.catalog(), with_payloads, nullptr, request);
      EXPECT_EQ(report.verdict == ContextVerdict::kOptimal, failure == "OK") << failure << '\n' << report.reason;
      if (failure != "OK") {
        EXPECT_EQ(report.verdict, ContextVerdict::kUnsupported);
        EXPECT_THAT(report.reason, testing::Not(IsEmpty()));
      }
    }
    const core::VerifyReport verified = core::VerifyContextModel(path, environment.catalog(), nullptr, request);
    EXPECT_EQ(verified.problems.empty(), failure == "OK");
    return failure;
  }

  TempDir dir_;
};

TEST_F(VerdictOfSessions, ReadsTheOptionsOfPolicyAndManifest) {
  core::Environment plain(Catalog("  vulkan: {enabled: false}"));
  EXPECT_EQ(Refusal(plain, {}), "OK");
  core::Environment judging(Catalog("  recorder_a: {options: {judge: unsupported}}"));
  EXPECT_THAT(Refusal(judging, {}), HasSubstr("the session's option says so"));
}

TEST_F(VerdictOfSessions, ReadsTheOptionsOfTheSession) {
  core::Environment environment(Catalog("  vulkan: {enabled: false}"));
  core::SessionOptions options;
  options.provider_options["recorder_a"]["judge"] = "unsupported";
  EXPECT_THAT(Refusal(environment, options), HasSubstr("the session's option says so"));
  core::SessionOptions listed;
  listed.providers = {{"recorder_a", {{"judge", "unsupported"}}}};
  EXPECT_THAT(Refusal(environment, listed), HasSubstr("the session's option says so"));
  listed.providers = {{"recorder_a", {}}};
  EXPECT_EQ(Refusal(environment, listed), "OK");
}

TEST_F(VerdictOfSessions, KnowsTheDevices) {
  core::Environment plain(Catalog("  vulkan: {enabled: false}"));
  core::SessionOptions options = OptionsFor({"recorder_a"});
  options.providers[0].options["device"] = "7";
  EXPECT_THAT(Refusal(plain, options), HasSubstr("device 7 was asked for"));
}

TEST_F(VerdictOfSessions, RefusesOptionsOfAProviderThatTheSessionDoesNotUse) {
  core::Environment environment(Catalog("  vulkan: {enabled: false}"));
  core::Model model = core::ReadModelFile(dir_ / "model_ctx.onnx", {});
  core::SessionOptions options = OptionsFor({"recorder_a"});
  options.provider_options["recorder_b"]["judge"] = "unsupported";
  const std::string expected = "options were given for provider 'recorder_b', which this session doesn't use";
  EXPECT_THAT(FailureOf([&] { core::Session session(environment, dir_ / "model_ctx.onnx", options); }),
              HasSubstr(expected));
  EXPECT_THAT(FailureOf([&] {
                core::CheckContexts(model, dir_ / "model_ctx.onnx", environment.catalog(), true, nullptr,
                                    core::RequestOf(options));
              }),
              HasSubstr(expected));
}

TEST_F(VerdictOfSessions, NeedsThePluginInTheSessionsList) {
  core::Environment environment(Catalog("  vulkan: {enabled: false}"));
  core::Model model = core::ReadModelFile(dir_ / "model_ctx.onnx", {});
  core::SessionOptions options = OptionsFor({"recorder_b"});
  EXPECT_THAT(FailureOf([&] { core::Session session(environment, dir_ / "model_ctx.onnx", options); }),
              AllOf(HasSubstr("'recorder_a'"), HasSubstr("not in the session's list (recorder_b")));
  const ContextReport report = core::CheckContexts(model, dir_ / "model_ctx.onnx", environment.catalog(), true, nullptr,
                                                   core::RequestOf(options));
  EXPECT_EQ(report.verdict, ContextVerdict::kUnsupported);
  EXPECT_THAT(report.reason, AllOf(HasSubstr("'recorder_a'"), HasSubstr("not in the session's list (recorder_b")));
}

TEST_F(VerdictOfSessions, RefusesNamesThatNoPluginHas) {
  core::Environment environment(Catalog("  vulkan: {enabled: false}"));
  core::Model model = core::ReadModelFile(dir_ / "model_ctx.onnx", {});
  core::SessionOptions options = OptionsFor({"recorder_"});
  EXPECT_THAT(FailureOf([&] {
                core::CheckContexts(model, dir_ / "model_ctx.onnx", environment.catalog(), true, nullptr,
                                    core::RequestOf(options));
              }),
              AllOf(testing::StartsWith("NOT_FOUND"), HasSubstr("recorder_a")));
}

}  // namespace
}  // namespace epiphyte::test
