// Rules of share groups: which sessions may join, what they must agree on, and the state of the group when one of them
// fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "tests/context/sharing_fixture.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using core::Session;
using core::SessionOptions;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(Sharing, ASessionThatFailsLeavesTheGroupToTheOthers) {
  for (const bool last : {false, true}) {
    for (const char* call : {"compile", "save", "model", "target"}) {
      if (last && call == std::string("save")) continue;  // this case is the next test
      SCOPED_TRACE(fmt::format("{}{}", call, last ? " in the last session" : ""));
      Compile("model1.onnx", Compiling(false));
      SessionOptions failing = Compiling(last);
      failing.provider_options["recorder_a"]["fail"] = call == std::string("model") ? "" : call;
      std::string model = "model2.onnx";
      if (call == std::string("model")) model = "absent.onnx";
      if (call == std::string("target")) failing.Set("ep.context_file_path", (dir_ / ContextOf(1)).string());
      EXPECT_NE(FailureOf([&] { Compile(model, failing); }), "OK");
      EXPECT_THAT(Written(), ElementsAre());
      Compile("model3.onnx", Compiling(false));
      Compile("model2.onnx", Compiling(true));
      EXPECT_THAT(Written(),
                  ElementsAre("model1_ctx.onnx", "model1_recorder_a.bin", "model2_ctx.onnx", "model3_ctx.onnx"));
      for (int n : {3, 1, 2}) EXPECT_TRUE(Computes(*Load(n, Loading()), n)) << n;
      for (const std::string& name : Written()) fs::remove(dir_ / name);
    }
  }
}

// The plugin may have handed out the earlier sessions' data, so the message names the lost sessions.
TEST_F(Sharing, LastSessionThatFailsWhileWritingEndsTheGroupWithAReport) {
  Compile("model1.onnx", Compiling(false));
  Compile("model2.onnx", Compiling(false));
  SessionOptions failing = Compiling(true);
  failing.provider_options["recorder_a"]["fail"] = "save";
  EXPECT_THAT(FailureOf([&] { Compile("model3.onnx", failing); }),
              AllOf(HasSubstr("EP_FAIL"), HasSubstr("recorder_a"), HasSubstr("fails as asked"), HasSubstr("given up"),
                    HasSubstr("'model1_ctx.onnx', 'model2_ctx.onnx'")));
  EXPECT_THAT(Written(), ElementsAre());
  Compile("model3.onnx", Compiling(true));
  EXPECT_THAT(Written(), ElementsAre("model3_ctx.onnx", "model3_recorder_a.bin"));
  EXPECT_TRUE(Computes(*Load(3, Loading()), 3));
}

TEST_F(Sharing, AFirstSessionThatFailsLeavesNoGroup) {
  SessionOptions failing = Compiling(false);
  failing.provider_options["recorder_a"]["fail"] = "compile";
  EXPECT_NE(FailureOf([&] { Compile("model1.onnx", failing); }), "OK");
  Compile("model2.onnx", Compiling(true));
  EXPECT_THAT(Written(), ElementsAre("model2_ctx.onnx", "model2_recorder_a.bin"));
}

TEST_F(Sharing, ExistingFilesOfAnyMemberStopTheGroupBeforeAnythingIsTouched) {
  for (const char* existing : {"model1_ctx.onnx", "model2_ctx.onnx", "model1_recorder_a.bin"}) {
    SCOPED_TRACE(existing);
    dir_.Write(existing, "somebody's");
    std::string failure = FailureOf([&] {
      Compile("model1.onnx", Compiling(false));
      Compile("model2.onnx", Compiling(true));
    });
    EXPECT_THAT(failure, AllOf(testing::StartsWith("FAIL"), HasSubstr(existing)));
    EXPECT_THAT(Written(), ElementsAre(existing));
    EXPECT_EQ(ReadFile(dir_ / existing), "somebody's");
    fs::remove(dir_ / existing);
  }
  CompileAll(2);
  EXPECT_EQ(Written().size(), 3u);
}

TEST_F(Sharing, EmbeddingAndSharingContradictEachOther) {
  SessionOptions options = Compiling(true);
  options.Set("ep.context_embed_mode", "1");
  EXPECT_THAT(
      FailureOf([&] { Compile("model1.onnx", options); }),
      AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("ep.share_ep_contexts"), HasSubstr("ep.context_embed_mode")));
  EXPECT_THAT(Written(), ElementsAre());
}

TEST_F(Sharing, StopBelongsToAGroupThatCompiles) {
  SessionOptions alone = Providers();
  alone.Set("ep.context_enable", "1");
  alone.Set("ep.stop_share_ep_contexts", "1");
  EXPECT_THAT(FailureOf([&] { Compile("model1.onnx", alone); }),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("ep.share_ep_contexts")));
  CompileAll(1);
  SessionOptions loading = Loading();
  loading.Set("ep.stop_share_ep_contexts", "1");
  EXPECT_THAT(FailureOf([&] { Load(1, loading); }), HasSubstr("INVALID_ARGUMENT"));
}

// Partition names are the keys into the payload. The host makes them unique within a group, for any graph names and
// with or without a prefix.
TEST_F(Sharing, ModelsWithEqualGraphNamesHavePartitionsOfTheirOwn) {
  for (const char* prefix : {"", "p_"}) {
    SCOPED_TRACE(prefix);
    for (int n : {1, 2, 3}) {
      SessionOptions options = Compiling(n == 3);
      options.Set("ep.context_node_name_prefix", prefix);
      options.provider_options["recorder_a"]["claim"] = "Mul,Add,Sub";  // models 1 and 3 have two partitions
      Compile(Name(n) + ".onnx", options);
    }
    std::set<std::string> names;
    size_t nodes = 0;
    for (int n : {1, 2, 3}) {
      for (const onnx::NodeProto& node : ContextNodesOf(ParseProtoFile(dir_ / ContextOf(n)))) {
        names.insert(TextOf(node, "partition_name").value());
        EXPECT_TRUE(node.name().starts_with(std::string(prefix) + "main_graph_recorder_a_")) << node.name();
        ++nodes;
      }
    }
    EXPECT_EQ(nodes, 5u);
    EXPECT_EQ(names.size(), nodes);
    std::vector<std::unique_ptr<Session>> sessions;
    for (int n : {3, 1, 2}) {
      sessions.push_back(Load(n, Loading()));
      EXPECT_TRUE(Computes(*sessions.back(), n)) << n;
    }
    sessions.clear();
    for (const std::string& name : Written()) fs::remove(dir_ / name);
  }
}

TEST_F(Sharing, ModelsWithEqualGraphNamesShareWithTheCpuProviderToo) {
  for (int n : {1, 2, 3}) {
    SessionOptions options = OptionsFor({"cpu"});
    options.Set("ep.context_enable", "1");
    options.Set("ep.share_ep_contexts", "1");
    if (n == 3) options.Set("ep.stop_share_ep_contexts", "1");
    Compile(Name(n) + ".onnx", options);
  }
  SessionOptions loading = OptionsFor({"cpu"});
  loading.Set("ep.share_ep_contexts", "1");
  for (int n : {2, 3, 1}) EXPECT_TRUE(Computes(*Load(n, loading), n)) << n;
}

// The same models in the same order give the same bytes. Other groups and sessions in between have no effect.
TEST_F(Sharing, WhatAGroupWritesDependsOnItsModelsAlone) {
  CompileAll(3);
  const std::map<std::string, std::string> alone = ContentOf(dir_.path());
  for (const std::string& name : Written()) fs::remove(dir_ / name);
  WriteModel(4);
  WriteModel(5);
  Compile("model4.onnx", Compiling(false, "other"));
  Compile("model1.onnx", Compiling(false));
  Compile("model5.onnx", Compiling(false, "other"));
  Compile("model2.onnx", Compiling(false));
  { Session plain(*environment_, dir_ / "model4.onnx", Providers()); }
  Compile("model3.onnx", Compiling(true));
  for (const char* name : {"model4.onnx", "model5.onnx"}) fs::remove(dir_ / name);
  EXPECT_EQ(ContentOf(dir_.path()), alone);
}

TEST_F(Sharing, AllModelsOfAGroupGoIntoOneFolder) {
  fs::create_directories(dir_ / "elsewhere");
  Compile("model1.onnx", Compiling(false));
  SessionOptions options = Compiling(true);
  options.Set("ep.context_file_path", (dir_ / "elsewhere/model2_ctx.onnx").string());
  EXPECT_THAT(FailureOf([&] { Compile("model2.onnx", options); }),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("one folder")));
  EXPECT_THAT(Written(), ElementsAre());
}

TEST_F(Sharing, EachProviderOfTheGroupHasOneBinary) {
  for (int n : {1, 2}) {
    SessionOptions options = Compiling(n == 2);
    options.providers.push_back({"recorder_b", {}});
    options.provider_options["recorder_a"]["claim"] = "Mul";
    Compile(Name(n) + ".onnx", options);
  }
  EXPECT_THAT(Written(),
              ElementsAre("model1_ctx.onnx", "model1_recorder_a.bin", "model1_recorder_b.bin", "model2_ctx.onnx"));
  SessionOptions loading = Loading();
  loading.providers.push_back({"recorder_b", {}});
  auto first = Load(1, loading);
  auto second = Load(2, loading);
  EXPECT_TRUE(Computes(*first, 1));
  EXPECT_TRUE(Computes(*second, 2));
}

TEST_F(Sharing, SeveralPartitionsOfAModelShareThePayloadWithTheOtherModels) {
  for (int n : {1, 3}) {  // Mul and Sub are for the recording plugin, Neg between them for the fallback
    SessionOptions options = Compiling(n == 3);
    options.provider_options["recorder_a"]["claim"] = "Mul,Sub";
    Compile(Name(n) + ".onnx", options);
    EXPECT_EQ(Written().empty(), n == 1);
  }
  EXPECT_THAT(Written(), ElementsAre("model1_ctx.onnx", "model1_recorder_a.bin", "model3_ctx.onnx"));
  for (int n : {1, 3}) EXPECT_EQ(ContextNodesOf(ParseProtoFile(dir_ / ContextOf(n))).size(), 2u);
  auto first = Load(1, Loading());
  auto third = Load(3, Loading());
  EXPECT_TRUE(Computes(*first, 1));
  EXPECT_TRUE(Computes(*third, 3));
  EXPECT_EQ(ledger_.Count("parse"), 1u);
  EXPECT_THAT(ledger_.Lines(), testing::Contains("write 4 graphs 3 tensors"));
}

// Weights of plain nodes are not shared: each model has its own file.
TEST_F(Sharing, EachModelOfAGroupHasItsOwnInitializersFile) {
  auto compile = [&](int n, const std::string& file) {
    SessionOptions options = Compiling(n == 2);
    options.provider_options["recorder_a"]["claim"] = "Add,Sub";  // Mul has the weights, and the fallback runs it
    options.Set("ep.context_model_external_initializers_file_name", file);
    Compile(Name(n) + ".onnx", options);
  };
  compile(1, "plain.data");
  EXPECT_THAT(FailureOf([&] { compile(2, "plain.data"); }),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("plain.data")));
  EXPECT_THAT(Written(), ElementsAre());
  compile(1, "one.data");
  compile(2, "two.data");
  EXPECT_THAT(Written(),
              ElementsAre("model1_ctx.onnx", "model1_recorder_a.bin", "model2_ctx.onnx", "one.data", "two.data"));
  for (int n : {1, 2}) fs::remove(dir_ / (Name(n) + ".onnx"));
  auto first = Load(1, Loading());
  auto second = Load(2, Loading());
  EXPECT_TRUE(Computes(*first, 1));
  EXPECT_TRUE(Computes(*second, 2));
}

TEST_F(Sharing, ModelsFromMemoryAndFromFilesShare) {
  std::string bytes = ReadFile(dir_ / "model1.onnx");
  SessionOptions options = Compiling(false);
  options.Set("ep.context_file_path", (dir_ / "memory_ctx.onnx").string());
  { Session session(*environment_, bytes.data(), bytes.size(), options); }
  bytes.clear();
  Compile("model2.onnx", Compiling(true));
  EXPECT_THAT(Written(), ElementsAre("memory_ctx.onnx", "memory_recorder_a.bin", "model2_ctx.onnx"));

  auto second = Load(2, Loading());
  bytes = ReadFile(dir_ / "memory_ctx.onnx");
  SessionOptions loading = Loading();
  loading.Set("ep.context_file_path", (dir_ / "memory_ctx.onnx").string());
  Session first(*environment_, bytes.data(), bytes.size(), loading);
  EXPECT_TRUE(Computes(first, 1));
  EXPECT_EQ(ledger_.Count("parse"), 1u);
}

TEST_F(Sharing, SessionsOfAGroupMayCompileOnManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> failed = 0;
  for (int n : {1, 2}) {
    threads.emplace_back(
        [&, n] { failed += FailureOf([&] { Compile(Name(n) + ".onnx", Compiling(false)); }) == "OK" ? 0 : 1; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  Compile("model3.onnx", Compiling(true));
  EXPECT_EQ(Written().size(), 4u);
  for (int n : {1, 2, 3}) EXPECT_TRUE(Computes(*Load(n, Loading()), n));
  EXPECT_THAT(ledger_.Lines(), testing::Contains("write 3 graphs 4 tensors"));
}

// The session that ends the group need not have a node for a provider that earlier sessions compiled for.
TEST_F(Sharing, TheLastModelMayHaveNothingToCompile) {
  Compile("model1.onnx", Compiling(false));
  Compile("model2.onnx", Compiling(false));
  SessionOptions options = Compiling(true);
  options.provider_options["recorder_a"]["claim"] = "Abs";
  Compile("model3.onnx", options);
  EXPECT_THAT(Written(), ElementsAre("model1_ctx.onnx", "model1_recorder_a.bin", "model2_ctx.onnx"));
  auto first = Load(1, Loading());
  auto second = Load(2, Loading());
  EXPECT_TRUE(Computes(*first, 1));
  EXPECT_TRUE(Computes(*second, 2));
}

}  // namespace
}  // namespace epiphyte::test
