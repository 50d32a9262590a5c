// Share groups: N models that share weights become N + 1 files, and sessions that use them map and parse the binary
// once. The tests have several consumers, several orders of teardown, and several groups at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
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
using testing::UnorderedElementsAreArray;

class SharingOf : public Sharing, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Models, SharingOf, testing::Values(1, 2, 3),
                         [](const auto& info) { return "N" + std::to_string(info.param); });

TEST_P(SharingOf, NModelsGiveNPlusOneFilesNamedAfterTheFirst) {
  const int count = GetParam();
  CompileAll(count);
  std::vector<std::string> expected = {"model1_recorder_a.bin"};
  for (int n = 1; n <= count; ++n) expected.push_back(ContextOf(n));
  EXPECT_THAT(Written(), UnorderedElementsAreArray(expected));

  for (int n = 1; n <= count; ++n) {
    onnx::ModelProto model = ParseProtoFile(dir_ / ContextOf(n));
    auto nodes = ContextNodesOf(model);
    ASSERT_EQ(nodes.size(), 1u);
    EXPECT_EQ(TextOf(nodes[0], "ep_cache_context"), "model1_recorder_a.bin");
    EXPECT_EQ(TextOf(nodes[0], "onnx_model_filename"), Name(n) + ".onnx");
    EXPECT_EQ(TextOf(nodes[0], "partition_name"), "main_graph_recorder_a_" + std::to_string(n - 1));
    EXPECT_EQ(IntOf(nodes[0], "main_context"), 1);
    EXPECT_TRUE(MetadataOf(model).contains("ep_compatibility_info.recorder_a"));
    EXPECT_EQ(model.graph().initializer_size(), 0);
  }
  for (int n = 1; n <= count; ++n) fs::remove(dir_ / (Name(n) + ".onnx"));
  for (int n = count; n >= 1; --n) {
    EXPECT_TRUE(Computes(*Load(n, Loading()), n));
    EXPECT_TRUE(Computes(*Load(n, Providers()), n)) << "without sharing";
  }
}

TEST_P(SharingOf, IdenticalWeightsAreStoredOnce) {
  CompileAll(GetParam());
  EXPECT_EQ(ledger_.Count("write"), 1u);
  std::string graphs = std::to_string(GetParam());
  EXPECT_THAT(ledger_.Lines(),
              testing::Contains("write " + graphs + " graphs " + std::to_string(GetParam() + 1) + " tensors"));
  EXPECT_LT(static_cast<double>(fs::file_size(dir_ / "model1_recorder_a.bin")), 1.05 * kWeights * sizeof(float));
}

TEST_P(SharingOf, NothingIsVisibleBeforeTheLastSession) {
  const int count = GetParam();
  std::vector<std::unique_ptr<Session>> sessions;
  for (int n = 1; n < count; ++n) {
    sessions.push_back(std::make_unique<Session>(*environment_, dir_ / (Name(n) + ".onnx"), Compiling(false)));
    EXPECT_THAT(Written(), ElementsAre());
    EXPECT_EQ(sessions.back()->context_output(), nullptr);
    EXPECT_TRUE(Computes(*sessions.back(), n)) << "a session that compiles runs, too";
  }
  Session last(*environment_, dir_ / (Name(count) + ".onnx"), Compiling(true));
  EXPECT_EQ(Written().size(), static_cast<size_t>(count) + 1);
  ASSERT_NE(last.context_output(), nullptr);
  EXPECT_EQ(last.context_output()->model, dir_ / ContextOf(count));
  EXPECT_TRUE(Computes(last, count));
}

TEST_P(SharingOf, TheBinaryIsParsedAndMappedOnceForAllSessions) {
  const int count = GetParam();
  CompileAll(count);
  std::vector<std::unique_ptr<Session>> sessions;
  for (int round = 0; round < 2; ++round) {  // each graph has two consumers
    for (int n = 1; n <= count; ++n) {
      sessions.push_back(Load(n, Loading()));
      EXPECT_EQ(MappingsOf(dir_ / "model1_recorder_a.bin"), 1u);
    }
  }
  EXPECT_EQ(ledger_.Count("parse"), 1u);
  EXPECT_EQ(ledger_.Count("hand over"), 2u * static_cast<size_t>(count) - 1);
  for (size_t i = 0; i < sessions.size(); ++i) EXPECT_TRUE(Computes(*sessions[i], static_cast<int>(i) % count + 1));
  sessions.clear();
  EXPECT_EQ(MappingsOf(dir_ / "model1_recorder_a.bin"), 0u);
}

TEST_F(Sharing, TeardownInEveryOrderWithRunsBetween) {
  CompileAll(3);
  std::vector<int> order = {1, 2, 3};
  do {
    std::map<int, std::unique_ptr<Session>> sessions;
    for (int n : {1, 2, 3}) sessions[n] = Load(n, Loading());
    for (int gone : order) {
      for (auto& [n, session] : sessions) EXPECT_TRUE(Computes(*session, n)) << n << " before " << gone << " goes";
      sessions.erase(gone);
    }
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(ledger_.Count("parse"), 6u);
  EXPECT_EQ(MappingsOf(dir_ / "model1_recorder_a.bin"), 0u);
}

TEST_F(Sharing, AfterAllAreGoneTheNextOnesLoadAgain) {
  CompileAll(2);
  for (int round = 1; round <= 3; ++round) {
    auto first = Load(1, Loading());
    auto second = Load(2, Loading());
    first.reset();
    first = Load(1, Loading());
    EXPECT_TRUE(Computes(*first, 1));
    EXPECT_TRUE(Computes(*second, 2));
    EXPECT_EQ(ledger_.Count("parse"), static_cast<size_t>(round));
  }
}

TEST_F(Sharing, SessionsAreCreatedAndDestroyedOnManyThreads) {
  CompileAll(3);
  auto keeper = Load(1, Loading());
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        int n = (t + i) % 3 + 1;
        wrong += Computes(*Load(n, Loading()), n) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(ledger_.Count("parse"), 1u);
}

TEST_F(Sharing, WithoutTheOptionNothingIsShared) {
  CompileAll(2);
  auto first = Load(1, Providers());
  auto second = Load(2, Providers());
  EXPECT_EQ(ledger_.Count("parse"), 2u);
  EXPECT_EQ(ledger_.Count("hand over"), 0u);
}

TEST_F(Sharing, TwoGroupsAtOnce) {
  for (int n = 4; n <= 5; ++n) WriteModel(n);
  Compile("model1.onnx", Compiling(false, "a"));
  Compile("model4.onnx", Compiling(false, "b"));
  Compile("model2.onnx", Compiling(true, "a"));
  EXPECT_TRUE(fs::exists(dir_ / "model1_recorder_a.bin"));
  EXPECT_FALSE(fs::exists(dir_ / "model4_recorder_a.bin"));
  EXPECT_FALSE(fs::exists(dir_ / ContextOf(4)));
  Compile("model5.onnx", Compiling(true, "b"));
  EXPECT_TRUE(fs::exists(dir_ / "model4_recorder_a.bin"));
  EXPECT_FALSE(fs::exists(dir_ / ContextOf(3)));

  std::map<int, std::unique_ptr<Session>> sessions;
  for (int n : {1, 4, 2, 5}) sessions[n] = Load(n, Loading(n < 4 ? "a" : "b"));
  EXPECT_EQ(ledger_.Count("parse"), 2u);
  for (auto& [n, session] : sessions) EXPECT_TRUE(Computes(*session, n));
  // A payload of one group is not shared with another group.
  auto apart = Load(1, Loading("c"));
  EXPECT_EQ(ledger_.Count("parse"), 3u);
  sessions.clear();
  EXPECT_TRUE(Computes(*apart, 1));
}

TEST_F(Sharing, GroupsOfTwoEnvironmentsHaveNothingInCommon) {
  auto another = RecordingEnvironment();
  Compile("model1.onnx", Compiling(false));
  { Session session(*another, dir_ / "model2.onnx", Compiling(true)); }
  EXPECT_THAT(Written(), ElementsAre("model2_ctx.onnx", "model2_recorder_a.bin"));
  Compile("model3.onnx", Compiling(true));
  EXPECT_THAT(Written(), ElementsAre("model1_ctx.onnx", "model1_recorder_a.bin", "model2_ctx.onnx",
                                     "model2_recorder_a.bin", "model3_ctx.onnx"));
}

TEST_F(Sharing, AfterTheStopTheNextSessionBeginsANewGroup) {
  CompileAll(2);
  WriteModel(4);
  Compile("model3.onnx", Compiling(false));
  Compile("model4.onnx", Compiling(true));
  EXPECT_THAT(Written(), ElementsAre("model1_ctx.onnx", "model1_recorder_a.bin", "model2_ctx.onnx", "model3_ctx.onnx",
                                     "model3_recorder_a.bin", "model4.onnx", "model4_ctx.onnx"));
  EXPECT_THAT(ledger_.Lines(), testing::Contains("write 2 graphs 3 tensors").Times(2));
  EXPECT_TRUE(Computes(*Load(4, Loading()), 4));
}

TEST_F(Sharing, AGroupThatIsNeverStoppedWritesAndLeavesNothing) {
  Compile("model1.onnx", Compiling(false));
  Compile("model2.onnx", Compiling(false));
  environment_.reset();
  EXPECT_THAT(Written(), ElementsAre());
  EXPECT_EQ(FilesIn(dir_.path()).size(), 3u);
}

TEST_F(Sharing, AModelWithoutContextsMayBeInAGroupThatLoads) {
  CompileAll(2);
  auto first = Load(1, Loading());
  Session plain(*environment_, dir_ / "model3.onnx", Loading());
  EXPECT_FALSE(plain.has_context());
  EXPECT_TRUE(Computes(plain, 3));
  first.reset();
  EXPECT_TRUE(Computes(plain, 3));
}

TEST_F(Sharing, ADamagedBinaryIsRefusedToEverySession) {
  CompileAll(2);
  std::string bytes = ReadFile(dir_ / "model1_recorder_a.bin");
  std::string damaged = bytes;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  dir_.Write("model1_recorder_a.bin", damaged);
  for (int n : {1, 2, 1}) {
    EXPECT_THAT(FailureOf([&] { Load(n, Loading()); }),
                AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("model1_recorder_a.bin"), HasSubstr("digest")));
  }
  EXPECT_EQ(ledger_.Count("parse"), 0u);
  dir_.Write("model1_recorder_a.bin", bytes);
  EXPECT_TRUE(Computes(*Load(1, Loading()), 1));
}

// The files are replaced while a group uses them. Old sessions keep the old bytes; new sessions get the new ones.
TEST_F(Sharing, ABinaryReplacedInTheMeantimeIsAnotherPayload) {
  CompileAll(2);
  auto old_first = Load(1, Loading());
  dir_.Write("model1.onnx", ModelBytes(5));
  for (int n : {1, 2}) {
    SessionOptions options = Compiling(n == 2);
    options.Set("epiphyte.context_overwrite", "1");
    Compile(Name(n) + ".onnx", options);
  }
  auto new_first = Load(1, Loading());
  auto second = Load(2, Loading());
  EXPECT_TRUE(Computes(*old_first, 1));
  EXPECT_TRUE(Computes(*new_first, 5));
  EXPECT_TRUE(Computes(*second, 2));
  old_first.reset();
  EXPECT_TRUE(Computes(*new_first, 5));
  EXPECT_TRUE(Computes(*Load(1, Loading()), 5));
}

// The bundled CPU provider, listed by name, shares contexts like the recording plugins.
TEST_F(Sharing, TheCpuProviderSharesToo) {
  for (int n : {1, 2}) {
    SessionOptions options = OptionsFor({"cpu"});
    options.Set("ep.context_enable", "1");
    options.Set("ep.share_ep_contexts", "1");
    if (n == 2) options.Set("ep.stop_share_ep_contexts", "1");
    Compile(Name(n) + ".onnx", options);
  }
  EXPECT_THAT(Written(), ElementsAre("model1_cpu.bin", "model1_ctx.onnx", "model2_ctx.onnx"));
  EXPECT_LT(fs::file_size(dir_ / "model1_cpu.bin"), 2 * kWeights * sizeof(float));
  SessionOptions loading = OptionsFor({"cpu"});
  loading.Set("ep.share_ep_contexts", "1");
  auto first = Load(1, loading);
  auto second = Load(2, loading);
  EXPECT_EQ(MappingsOf(dir_ / "model1_cpu.bin"), 1u);
  first.reset();
  EXPECT_TRUE(Computes(*second, 2));
  EXPECT_TRUE(Computes(*Load(1, loading), 1));
}

}  // namespace
}  // namespace epiphyte::test
