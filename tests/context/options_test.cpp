// Refusals of the options of EP contexts, and the generation cases that are not in the table of options_matrix_test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "tests/context/context_proto.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/recording_plugins.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using core::Session;
using core::SessionOptions;
using core::ValuePtr;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A model with Mul and Abs for a recording plugin, and Tanh and MatMul, with a weight, for the fallback.
constexpr std::string_view kMixed = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[N, 2] x) => (float[N, 2] y) {
    w = Constant <value = float[2] {2, -3}> ()
    m = Constant <value = float[2, 2] {1, 2, 3, 4}> ()
    a = Mul(x, w) b = MatMul(a, m) c = Tanh(b) y = Abs(c)
  })";
// A model that one recording plugin runs alone.
constexpr std::string_view kWhole = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[N, 2] x) => (float[N, 2] y) {
    w = Constant <value = float[2] {2, -3}> ()
    a = Mul(x, w) y = Abs(a)
  })";

class ContextOptions : public testing::Test {
 protected:
  ContextOptions() {
    dir_.Write("mixed.onnx", OnnxFromText(kMixed));
    dir_.Write("whole.onnx", OnnxFromText(kWhole));
  }

  SessionOptions Compiling() const {
    SessionOptions options = OptionsFor({"recorder_a"});
    options.provider_options["recorder_a"]["ledger"] = ledger_.path();
    options.Set("ep.context_enable", "1");
    return options;
  }
  SessionOptions Loading() const {
    SessionOptions options = OptionsFor({"recorder_a"});
    options.provider_options["recorder_a"]["ledger"] = ledger_.path();
    return options;
  }
  void Compile(const std::string& name, const SessionOptions& options) {
    Session session(*environment_, dir_ / name, options);
  }
  std::vector<float> Run(const std::string& name, const SessionOptions& options) {
    Session session(*environment_, dir_ / name, options);
    return RunOn(session, {2, 2}, {1, -2, 3, 0.25});
  }
  std::string FailureOfRun(const std::string& name, const SessionOptions& options) {
    return FailureOf([&] { Run(name, options); });
  }
  std::string FailureOfCompile(const std::string& name, const SessionOptions& options) {
    return FailureOf([&] { Compile(name, options); });
  }
  // Changes a model as another tool would.
  template <typename Change>
  void Rewrite(const std::string& name, Change change) {
    onnx::ModelProto model = ParseProtoFile(dir_ / name);
    ForgetRecords(&model);
    change(&model);
    dir_.Write(name, model.SerializeAsString());
  }

  TempDir dir_;
  TempDir other_;
  Ledger ledger_{other_ / "ledger"};
  std::unique_ptr<core::Environment> environment_ = RecordingEnvironment();
};

TEST_F(ContextOptions, WithoutContextEnableNothingIsWritten) {
  SessionOptions options = OptionsFor({"recorder_a"});
  options.Set("ep.context_file_path", (dir_ / "given.onnx").string());
  Compile("mixed.onnx", options);
  EXPECT_THAT(FilesIn(dir_.path()), ElementsAre("mixed.onnx", "whole.onnx"));
}

TEST_F(ContextOptions, WhatTheSessionReportsIsWhatItWrote) {
  SessionOptions options = Compiling();
  options.Set("ep.context_model_external_initializers_file_name", "plain.data");
  Session session(*environment_, dir_ / "mixed.onnx", options);
  ASSERT_NE(session.context_output(), nullptr);
  EXPECT_EQ(session.context_output()->model, dir_ / "mixed_ctx.onnx");
  EXPECT_THAT(session.context_output()->files, ElementsAre(dir_ / "mixed_recorder_a.bin", dir_ / "plain.data"));
  EXPECT_EQ(session.context_output()->context_nodes, 2u);
  EXPECT_EQ(session.context_output()->plain_nodes, 2u);
}

// The conflict is reported before anything is compiled.
TEST_F(ContextOptions, NoFileMayBeCalledAsABinary) {
  for (const char* name : {"mixed_recorder_a.bin", "mixed_recorder_a_1.bin"}) {
    SCOPED_TRACE(name);
    SessionOptions initializers = Compiling();
    initializers.Set("ep.context_model_external_initializers_file_name", name);
    EXPECT_THAT(
        FailureOfCompile("mixed.onnx", initializers),
        AllOf(testing::StartsWith("INVALID_ARGUMENT"), HasSubstr(name), HasSubstr("binary of provider 'recorder_a'"),
              HasSubstr("ep.context_model_external_initializers_file_name")));
  }
  SessionOptions model = Compiling();
  model.Set("ep.context_file_path", (dir_ / "a_recorder_a.bin_recorder_a.bin").string());
  EXPECT_EQ(FailureOfCompile("mixed.onnx", model), "OK") << "its binary is called otherwise";
  EXPECT_EQ(ledger_.Count("compile"), 2u);
}

TEST_F(ContextOptions, NothingCompiledWritesNothing) {
  SessionOptions options = Compiling();
  options.provider_options["recorder_a"]["claim"] = "Neg";
  Session session(*environment_, dir_ / "mixed.onnx", options);
  EXPECT_EQ(session.context_output(), nullptr);
  EXPECT_EQ(RunOn(session, {1, 2}, {0, 0}), (std::vector<float>{0, 0}));
  EXPECT_THAT(FilesIn(dir_.path()), ElementsAre("mixed.onnx", "whole.onnx"));
}

TEST_F(ContextOptions, AContextModelIsNotCompiledAgain) {
  Compile("mixed.onnx", Compiling());
  auto before = ContentOf(dir_.path());
  SessionOptions options = Compiling();
  EXPECT_THAT(FailureOfCompile("mixed_ctx.onnx", options),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("g_recorder_a_0"), HasSubstr("source model")));
  options.Set("epiphyte.context_overwrite", "1");
  options.Set("ep.context_file_path", (dir_ / "mixed_ctx.onnx").string());
  EXPECT_THAT(FailureOfCompile("mixed_ctx.onnx", options),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("source model")));
  std::string bytes = ReadFile(dir_ / "mixed_ctx.onnx");
  options.Set("ep.context_file_path", (dir_ / "again.onnx").string());
  EXPECT_THAT(FailureOf([&] { Session session(*environment_, bytes.data(), bytes.size(), options); }),
              HasSubstr("INVALID_GRAPH"));
  EXPECT_EQ(ContentOf(dir_.path()), before);
}

// An existing file at an output path stays unchanged, and so does everything else.
TEST_F(ContextOptions, ExistingFilesAreReplacedOnlyOnRequest) {
  for (const char* existing : {"mixed_ctx.onnx", "mixed_recorder_a.bin", "plain.data"}) {
    SCOPED_TRACE(existing);
    dir_.Write(existing, "somebody's");
    fs::last_write_time(dir_ / existing, fs::file_time_type::clock::now() - std::chrono::hours(1));
    auto time = fs::last_write_time(dir_ / existing);
    auto before = ContentOf(dir_.path());
    SessionOptions options = Compiling();
    options.Set("ep.context_model_external_initializers_file_name", "plain.data");
    EXPECT_THAT(FailureOfCompile("mixed.onnx", options),
                AllOf(testing::StartsWith("FAIL:"), HasSubstr(existing), HasSubstr("exists already")));
    EXPECT_EQ(fs::last_write_time(dir_ / existing), time);
    EXPECT_EQ(ContentOf(dir_.path()), before);

    options.Set("epiphyte.context_overwrite", "1");
    EXPECT_EQ(FailureOfCompile("mixed.onnx", options), "OK");
    EXPECT_EQ(Run("mixed_ctx.onnx", Loading()), Run("mixed.onnx", Loading()));
    for (const char* file : {"mixed_ctx.onnx", "mixed_recorder_a.bin", "plain.data"}) fs::remove(dir_ / file);
  }
}

TEST_F(ContextOptions, OverwritingReplacesTheOldContextWhole) {
  Compile("mixed.onnx", Compiling());
  dir_.Write("mixed.onnx", OnnxFromText(kWhole));
  SessionOptions options = Compiling();
  options.Set("epiphyte.context_overwrite", "1");
  Compile("mixed.onnx", options);
  EXPECT_EQ(Run("mixed_ctx.onnx", Loading()), Run("whole.onnx", Loading()));
}

TEST_F(ContextOptions, TargetsThatCannotBeAreRefusedBeforeAnythingIsCompiled) {
  fs::create_symlink(dir_ / "mixed.onnx", dir_ / "link.onnx");
  auto before = ContentOf(dir_.path());
  for (std::string target : {dir_.path().string(), dir_.path().string() + "/", (dir_ / "no/such/m.onnx").string(),
                             (dir_ / "mixed.onnx").string(), (dir_ / "./mixed.onnx").string(),
                             (dir_ / "link.onnx").string(), (dir_ / "mixed.onnx/m.onnx").string()}) {
    SessionOptions options = Compiling();
    options.Set("ep.context_file_path", target);
    EXPECT_THAT(FailureOfCompile("mixed.onnx", options),
                AllOf(testing::StartsWith("INVALID_ARGUMENT"),
                      testing::AnyOf(HasSubstr("ep.context_file_path"), HasSubstr("does not exist"))))
        << target;
    options.Set("epiphyte.context_overwrite", "1");
    EXPECT_THAT(FailureOfCompile("mixed.onnx", options), testing::StartsWith("INVALID_ARGUMENT")) << target;
  }
  EXPECT_EQ(ledger_.Count("compile"), 0u);
  EXPECT_EQ(ContentOf(dir_.path()), before);
}

TEST_F(ContextOptions, TheInitializersFileHasANameOfItsOwnInTheSameFolder) {
  const char* option = "ep.context_model_external_initializers_file_name";
  for (auto [name, says] : std::vector<std::pair<const char*, const char*>>{
           {"sub/plain.data", "without folders"},
           {"../plain.data", "without folders"},
           {"/tmp/plain.data", "without folders"},
           {"..", "without folders"},
           {".", "without folders"},
           {"sub\\plain.data", "without folders"},
           {"mixed_ctx.onnx", "which is the context model itself"},
           {"mixed_recorder_a.bin", "which is the name of a binary of provider 'recorder_a'"},
           {"mixed.onnx", "the source model is made of it"}}) {
    SessionOptions options = Compiling();
    options.Set(option, name);
    const auto refused = AllOf(testing::StartsWith("INVALID_ARGUMENT"), HasSubstr(says), HasSubstr(option));
    EXPECT_THAT(FailureOfCompile("mixed.onnx", options), refused) << name;
    options.Set("epiphyte.context_overwrite", "1");
    EXPECT_THAT(FailureOfCompile("mixed.onnx", options), refused) << name;
  }
  EXPECT_THAT(FilesIn(dir_.path()), ElementsAre("mixed.onnx", "whole.onnx"));
  EXPECT_EQ(ReadFile(dir_ / "mixed.onnx"), OnnxFromText(kMixed));
}

TEST_F(ContextOptions, ValuesThatAKeyDoesNotTakeAreRefused) {
  SessionOptions options;
  for (const auto& setting :
       std::vector<std::pair<const char*, const char*>>{{"ep.context_enable", "yes"},
                                                        {"ep.context_embed_mode", "2"},
                                                        {"ep.context_verify", "none"},
                                                        {"ep.share_ep_contexts", "true"},
                                                        {"ep.stop_share_ep_contexts", ""},
                                                        {"session.disable_model_compile", "on"},
                                                        {"session.fail_on_suboptimal_compiled_model", "-1"},
                                                        {"session.disable_cpu_ep_fallback", "2"},
                                                        {"session.context_cache_max_mb", "-5"}}) {
    EXPECT_THAT(FailureOf([&] { options.Set(setting.first, setting.second); }),
                AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr(setting.first)));
  }
  EXPECT_THAT(FailureOf([&] { options.Set("ep.context_embed_mod", "1"); }), HasSubstr("ep.context_embed_mode"));
  EXPECT_EQ(options.Get("ep.context_enable"), "0");
  EXPECT_EQ(options.Get("ep.context_embed_mode"), "0");
  EXPECT_EQ(options.Get("ep.context_verify"), "full");
  EXPECT_EQ(options.Get("ep.share_ep_contexts"), "0");
}

TEST_F(ContextOptions, DisableModelCompileLoadsContextsOnly) {
  Compile("mixed.onnx", Compiling());
  SessionOptions options = Loading();
  options.Set("session.disable_model_compile", "1");
  EXPECT_THAT(FailureOfRun("mixed.onnx", options),
              AllOf(HasSubstr("MODEL_REQUIRES_COMPILATION"), HasSubstr("recorder_a")));
  EXPECT_EQ(Run("mixed_ctx.onnx", options), Run("mixed.onnx", Loading()));
}

TEST_F(ContextOptions, DisableCpuFallbackAppliesToCompilingAndLoading) {
  Compile("mixed.onnx", Compiling());
  SessionOptions options = Loading();
  options.Set("session.disable_cpu_ep_fallback", "1");
  EXPECT_THAT(FailureOfRun("mixed_ctx.onnx", options), AllOf(HasSubstr("NOT_IMPLEMENTED"), HasSubstr("MatMul")));
  SessionOptions compiling = Compiling();
  compiling.Set("session.disable_cpu_ep_fallback", "1");
  compiling.Set("ep.context_file_path", (dir_ / "strict.onnx").string());
  EXPECT_THAT(FailureOfCompile("mixed.onnx", compiling), HasSubstr("NOT_IMPLEMENTED"));
  EXPECT_FALSE(fs::exists(dir_ / "strict.onnx"));
  Compile("whole.onnx", compiling);
  EXPECT_EQ(Run("strict.onnx", options), Run("whole.onnx", Loading()));
}

TEST_F(ContextOptions, VerdictOfTheProviderDecidesBeforeItSeesThePayload) {
  auto expected = Run("mixed.onnx", Loading());
  auto compile_with = [&](const char* verdict) {
    SessionOptions options = Compiling();
    options.Set("epiphyte.context_overwrite", "1");
    options.provider_options["recorder_a"]["pretend"] = verdict;
    Compile("mixed.onnx", options);
    EXPECT_THAT(
        MetadataOf(ParseProtoFile(dir_ / "mixed_ctx.onnx")),
        testing::Contains(testing::Pair("ep_compatibility_info.recorder_a", std::string("recorder_a/3 ") + verdict)));
  };
  SessionOptions strict = Loading();
  strict.Set("session.fail_on_suboptimal_compiled_model", "1");

  compile_with("optimal");
  EXPECT_EQ(Run("mixed_ctx.onnx", strict), expected);

  compile_with("prefer");
  EXPECT_EQ(Run("mixed_ctx.onnx", Loading()), expected);
  size_t parsed = ledger_.Count("parse");
  auto refused = AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("recorder_a"), HasSubstr("because the test asked for it"));
  EXPECT_THAT(FailureOfRun("mixed_ctx.onnx", strict),
              AllOf(refused, HasSubstr("session.fail_on_suboptimal_compiled_model")));
  EXPECT_EQ(ledger_.Count("parse"), parsed);

  compile_with("unsupported");
  EXPECT_THAT(FailureOfRun("mixed_ctx.onnx", Loading()),
              AllOf(refused, HasSubstr("g_recorder_a_0"), HasSubstr("'RecorderA'"), HasSubstr("compile")));
  EXPECT_EQ(ledger_.Count("parse"), parsed);
}

TEST_F(ContextOptions, AContextOfAnotherVersionOfThePluginIsRefused) {
  Compile("mixed.onnx", Compiling());
  Rewrite("mixed_ctx.onnx", [](onnx::ModelProto* model) {
    for (auto& entry : *model->mutable_metadata_props()) {
      if (entry.key() == "ep_compatibility_info.recorder_a") entry.set_value("recorder_a/2 optimal");
    }
  });
  EXPECT_THAT(FailureOfRun("mixed_ctx.onnx", Loading()),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("recorder_a/2"), HasSubstr("recorder_a/3")));
}

TEST_F(ContextOptions, APluginThatFailsWhileSavingLeavesNothing) {
  for (const char* call : {"compile", "save"}) {
    SessionOptions options = Compiling();
    options.provider_options["recorder_a"]["fail"] = call;
    EXPECT_THAT(FailureOfCompile("mixed.onnx", options), AllOf(HasSubstr("EP_FAIL"), HasSubstr("recorder_a")));
    EXPECT_THAT(FilesIn(dir_.path()), ElementsAre("mixed.onnx", "whole.onnx"));
  }
}

TEST_F(ContextOptions, WhateverAPluginSaysWhenLoadingFailsItIsInvalidGraph) {
  Compile("mixed.onnx", Compiling());
  SessionOptions options = Loading();
  options.provider_options["recorder_a"]["fail"] = "load";
  EXPECT_THAT(FailureOfRun("mixed_ctx.onnx", options),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("recorder_a"), HasSubstr("load fails as asked")));
}

// The last float of the payload's tensors becomes another number. Only the digest can detect that.
TEST_F(ContextOptions, VerifyHeaderChecksSizesAndNoDigests) {
  Compile("whole.onnx", Compiling());
  auto expected = Run("whole.onnx", Loading());
  std::string bytes = ReadFile(dir_ / "whole_recorder_a.bin");
  const float old_weight = -3, new_weight = -4;
  size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&old_weight), sizeof(float)));
  ASSERT_NE(at, std::string::npos);
  std::string changed = bytes;
  changed.replace(at, sizeof(float), reinterpret_cast<const char*>(&new_weight), sizeof(float));
  dir_.Write("whole_recorder_a.bin", changed);

  EXPECT_THAT(FailureOfRun("whole_ctx.onnx", Loading()),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("whole_recorder_a.bin"), HasSubstr("digest")));
  SessionOptions header = Loading();
  header.Set("ep.context_verify", "header");
  EXPECT_NE(Run("whole_ctx.onnx", header), expected);

  dir_.Write("whole_recorder_a.bin", bytes + "x");
  EXPECT_THAT(FailureOfRun("whole_ctx.onnx", header), AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("bytes")));
}

TEST_F(ContextOptions, TheInitializersFileIsCheckedLikeAPayload) {
  SessionOptions options = Compiling();
  options.Set("ep.context_model_external_initializers_file_name", "plain.data");
  Compile("mixed.onnx", options);
  std::string bytes = ReadFile(dir_ / "plain.data");
  std::string changed = bytes;
  changed[1] = static_cast<char>(changed[1] ^ 0x40);
  dir_.Write("plain.data", changed);
  auto refused = AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("plain.data"));
  EXPECT_THAT(FailureOfRun("mixed_ctx.onnx", Loading()), AllOf(refused, HasSubstr("digest")));
  dir_.Write("plain.data", bytes.substr(0, bytes.size() - 1));
  EXPECT_THAT(FailureOfRun("mixed_ctx.onnx", Loading()), refused);
  dir_.Write("plain.data", bytes + "x");
  EXPECT_THAT(FailureOfRun("mixed_ctx.onnx", Loading()), refused);
  fs::remove(dir_ / "plain.data");
  EXPECT_THAT(FailureOfRun("mixed_ctx.onnx", Loading()), HasSubstr("plain.data"));
}

TEST_F(ContextOptions, TheInitializersFolderMovesWeightsAndNeverContexts) {
  SessionOptions options = Compiling();
  options.Set("ep.context_model_external_initializers_file_name", "plain.data");
  Compile("mixed.onnx", options);
  auto expected = Run("mixed.onnx", Loading());
  TempDir weights;
  fs::rename(dir_ / "plain.data", weights / "plain.data");
  weights.Write("mixed_recorder_a.bin", "a decoy");
  SessionOptions moved = Loading();
  moved.Set("session.model_external_initializers_file_folder_path", weights.path().string());
  EXPECT_EQ(Run("mixed_ctx.onnx", moved), expected);

  fs::rename(dir_ / "mixed_recorder_a.bin", weights / "mixed_recorder_a.bin");
  EXPECT_THAT(FailureOfRun("mixed_ctx.onnx", moved),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("mixed_recorder_a.bin")));
}

// The context file path locates the contexts of a model from memory. For a model from a file it has no effect: the
// contexts are in the model's own folder.
TEST_F(ContextOptions, TheContextFilePathCountsOnlyForModelsFromMemory) {
  Compile("mixed.onnx", Compiling());
  auto expected = Run("mixed.onnx", Loading());
  other_.Write("mixed_recorder_a.bin", "a decoy");
  SessionOptions options = Loading();
  options.Set("ep.context_file_path", (other_ / "mixed_ctx.onnx").string());
  EXPECT_EQ(Run("mixed_ctx.onnx", options), expected);
  std::string bytes = ReadFile(dir_ / "mixed_ctx.onnx");
  EXPECT_THAT(FailureOf([&] { Session session(*environment_, bytes.data(), bytes.size(), options); }),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("mixed_recorder_a.bin")));
}

TEST_F(ContextOptions, PrefixesKeepTheContextsOfTwoModelsApart) {
  std::vector<std::string> names;
  for (const char* prefix : {"left_", "right/"}) {
    SessionOptions options = Compiling();
    options.Set("ep.context_node_name_prefix", prefix);
    options.Set("ep.context_file_path", (dir_ / (std::string(prefix, 4) + ".onnx")).string());
    Compile("mixed.onnx", options);
    for (const onnx::NodeProto& node : ContextNodesOf(ParseProtoFile(dir_ / (std::string(prefix, 4) + ".onnx")))) {
      EXPECT_TRUE(node.name().starts_with(prefix)) << node.name();
      EXPECT_EQ(TextOf(node, "partition_name"), node.name());
      names.push_back(node.name());
    }
  }
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 4u);
}

TEST_F(ContextOptions, ProvidersWithTheSameOptionsDifferOnlyByTheirNames) {
  SessionOptions options = OptionsFor({"recorder_b", "recorder_a"});
  options.Set("ep.context_enable", "1");
  options.provider_options["recorder_b"]["claim"] = "Abs";
  Compile("mixed.onnx", options);
  EXPECT_THAT(FilesIn(dir_.path()), ElementsAre("mixed.onnx", "mixed_ctx.onnx", "mixed_recorder_a.bin",
                                                "mixed_recorder_b.bin", "whole.onnx"));
  auto expected = Run("mixed.onnx", Loading());
  // The order of the list does not matter. If the list lacks one of the providers, the error names it.
  EXPECT_EQ(Run("mixed_ctx.onnx", OptionsFor({"recorder_a", "recorder_b"})), expected);
  EXPECT_EQ(Run("mixed_ctx.onnx", OptionsFor({"recorder_b", "cpu", "recorder_a"})), expected);
  EXPECT_THAT(FailureOfRun("mixed_ctx.onnx", OptionsFor({"recorder_a"})),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("'RecorderB'"), HasSubstr("'recorder_b'")));
}

// The CPU provider makes contexts if the user lists it, like any other provider.
TEST_F(ContextOptions, TheFallbackListedByNameMakesContextsToo) {
  SessionOptions options = OptionsFor({"recorder_a", "cpu"});
  options.Set("ep.context_enable", "1");
  Compile("mixed.onnx", options);
  EXPECT_THAT(FilesIn(dir_.path()),
              ElementsAre("mixed.onnx", "mixed_cpu.bin", "mixed_ctx.onnx", "mixed_recorder_a.bin", "whole.onnx"));
  SessionOptions loading = OptionsFor({"recorder_a", "cpu"});
  loading.Set("session.disable_model_compile", "1");
  EXPECT_EQ(Run("mixed_ctx.onnx", loading), Run("mixed.onnx", Loading()));
}

// Some outputs are made by no compiled node, and one model has no input.
TEST_F(ContextOptions, OutputsMayBeInputsOrConstants) {
  dir_.Write("edges.onnx", OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] same, float[2] y, float[2] fixed, float[2] again) {
      same = Identity(x) y = Abs(x) fixed = Constant <value = float[2] {1, 2}> () again = Identity(y) })"));
  dir_.Write("closed.onnx", OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g () => (float[2] y) { a = RandomNormal <shape = [2], seed = 1.0> () b = Mul(a, a) y = Abs(b) })"));
  auto outputs = [&](const std::string& name, std::vector<ValuePtr> inputs) {
    Session session(*environment_, dir_ / name, Loading());
    std::vector<std::vector<float>> results;
    for (const ValuePtr& value : session.Run(inputs)) results.push_back(FloatsOf(*value));
    return results;
  };
  for (const char* level : {"0", "2"}) {
    SCOPED_TRACE(level);
    SessionOptions options = Compiling();
    options.Set("epiphyte.graph_optimization_level", level);
    options.Set("epiphyte.context_overwrite", "1");
    Compile("edges.onnx", options);
    Compile("closed.onnx", options);
    auto x = Floats({2}, {-3, 4});
    EXPECT_EQ(outputs("edges_ctx.onnx", {x}), (std::vector<std::vector<float>>{{-3, 4}, {3, 4}, {1, 2}, {3, 4}}));
    onnx::ModelProto written = ParseProtoFile(dir_ / "edges_ctx.onnx");
    std::vector<std::string> names;
    for (const auto& output : written.graph().output()) names.push_back(output.name());
    EXPECT_THAT(names, ElementsAre("same", "y", "fixed", "again"));
    EXPECT_EQ(outputs("closed_ctx.onnx", {}).at(0).size(), 2u);
  }
}

TEST_F(ContextOptions, MetadataOfTheSourceIsKeptButForItsClaimsAboutPlugins) {
  onnx::ModelProto source = ParseProtoFile(dir_ / "mixed.onnx");
  auto add = [&](const char* key, const char* value) {
    auto* entry = source.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("author", "somebody");
  add("ep_compatibility_info.recorder_a", "recorder_a/1");
  dir_.Write("mixed.onnx", source.SerializeAsString());
  Compile("mixed.onnx", Compiling());
  auto metadata = MetadataOf(ParseProtoFile(dir_ / "mixed_ctx.onnx"));
  EXPECT_EQ(metadata["author"], "somebody");
  EXPECT_EQ(metadata["ep_compatibility_info.recorder_a"], "recorder_a/3 optimal");
  dir_.Write("mixed.onnx", OnnxFromText(kMixed));
  EXPECT_EQ(Run("mixed_ctx.onnx", Loading()), Run("mixed.onnx", Loading()));
}

// The source's external data is not overwritten, even on request, because the source would be lost.
TEST_F(ContextOptions, TheSourcesExternalDataIsNotOverwritten) {
  onnx::ModelProto model = ParseProtoFile(dir_ / "mixed.onnx");
  ConstantsToInitializers(model.mutable_graph());
  std::string weights;
  MakeExternal(model.mutable_graph(), "weights.data", &weights);
  dir_.Write("mixed.onnx", model.SerializeAsString());
  dir_.Write("weights.data", weights);
  auto expected = Run("mixed.onnx", Loading());
  SessionOptions options = Compiling();
  options.Set("ep.context_model_external_initializers_file_name", "weights.data");
  const auto refused = AllOf(testing::StartsWith("INVALID_ARGUMENT"), HasSubstr("weights.data"),
                             HasSubstr("the source model is made of it"));
  EXPECT_THAT(FailureOfCompile("mixed.onnx", options), refused);
  EXPECT_EQ(ReadFile(dir_ / "weights.data"), weights);
  options.Set("epiphyte.context_overwrite", "1");
  EXPECT_THAT(FailureOfCompile("mixed.onnx", options), refused);
  EXPECT_EQ(ReadFile(dir_ / "weights.data"), weights);
  EXPECT_EQ(Run("mixed.onnx", Loading()), expected);
}

}  // namespace
}  // namespace epiphyte::test
