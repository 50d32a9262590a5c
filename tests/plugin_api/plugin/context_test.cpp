// Contexts made with the kit: all attributes of a node, several payloads and sources, share groups, loading, verdicts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "tests/plugin_api/plugin/scripted.h"

namespace epiphyte::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// A model of two nodes, each a partition of its own.
constexpr std::string_view kTwo = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[1] x) => (float[1] a, float[1] b) { a = Abs(x) b = Neg(x) })";

class KitContext : public testing::Test {
 protected:
  KitContext() {
    scripted_.script.claim = [](const kit::GraphView& graph, kit::Claims& claims) {
      for (const kit::NodeView& node : graph.nodes()) {
        const EpNode* const handle = node.handle();
        claims.Exactly({&handle, 1});
      }
    };
  }
  SavedContext Saved(core::ShareMembership share = {}) {
    provider_ = scripted_.Make(std::move(share));
    model_ = scripted_.harness().Compile(*provider_, kTwo);
    return Save(*provider_);
  }
  // Returns the context nodes of the model that Saved compiled.
  std::vector<core::ContextNodeToLoad> NodesToLoad() const {
    std::vector<core::ContextNodeToLoad> nodes;
    for (const core::Partition& partition : model_.partitions) {
      core::ContextNodeToLoad& node = nodes.emplace_back();
      node.node = partition.node;
      node.blob = 0;
      node.source = "Scripted";
      node.partition_name = partition.name;
      for (const core::ValueDef* output : partition.node->outputs()) node.output_types.push_back(output->type());
    }
    return nodes;
  }

  Scripted scripted_;
  std::shared_ptr<core::Provider> provider_;
  CompiledModel model_;
};

TEST_F(KitContext, ANodeSaysAllThatItCanSay) {
  scripted_.script.save = [](kit::ContextSink& sink) {
    EXPECT_FALSE(sink.embeds());
    EXPECT_FALSE(sink.defers_payload());
    EXPECT_EQ(sink.node_name_prefix(), "");
    ASSERT_EQ(sink.partitions().size(), 2u);
    EXPECT_EQ(sink.partitions()[1].name, "g_scripted_1");
    kit::ContextWriter payload = sink.BeginPayload();
    payload.Write("abc", 3);
    payload.Write("de", 2);
    payload.End();
    sink.AddNode({.partition = 0,
                  .payload = &payload,
                  .source = "OlderScripted",
                  .sdk_version = "2.3",
                  .hardware = "x1",
                  .notes = "tiled",
                  .attributes = {{"acme_tiles", "4"}, {"acme.order", "nhwc"}},
                  .max_size = 4096});
    sink.AddNode({.partition = 1, .payload = &payload, .sdk_version = "2.3"});
    sink.SetCompatibilityInfo("driver=2.3");
  };
  const SavedContext saved = Saved();
  EXPECT_THAT(saved.payloads, ElementsAre("abcde"));
  EXPECT_EQ(saved.compatibility_info, "driver=2.3");
  ASSERT_EQ(saved.nodes.size(), 2u);
  const core::ContextNode& node = saved.nodes[0];
  EXPECT_EQ(node.partition, 0u);
  EXPECT_EQ(node.main_context, 1);
  EXPECT_EQ(node.payload, 0);
  EXPECT_EQ(node.source, "OlderScripted");
  EXPECT_EQ(node.ep_sdk_version, "2.3");
  EXPECT_EQ(node.hardware_architecture, "x1");
  EXPECT_EQ(node.notes, "tiled");
  EXPECT_EQ(node.extras, (core::ContextExtras{{"acme_tiles", "4"}, {"acme.order", "nhwc"}}));
  EXPECT_EQ(node.max_size, 4096);
  EXPECT_EQ(saved.nodes[1].main_context, 0) << "the first node of a payload carries it";
  EXPECT_EQ(saved.nodes[1].payload, -1);
}

TEST_F(KitContext, EachOfSeveralPayloadsHasAMainNode) {
  scripted_.script.save = [](kit::ContextSink& sink) {
    std::vector<kit::ContextWriter> payloads;
    for (const kit::SavedPartition& partition : sink.partitions()) {
      payloads.push_back(sink.BeginPayload());
      payloads.back().Write(partition.name.data(), partition.name.size());
      payloads.back().End();
    }
    for (const kit::SavedPartition& partition : sink.partitions())
      sink.AddNode({.partition = partition.index, .payload = &payloads[partition.index], .sdk_version = "1"});
  };
  const SavedContext saved = Saved();
  EXPECT_THAT(saved.payloads, ElementsAre("g_scripted_0", "g_scripted_1"));
  EXPECT_EQ(saved.nodes[0].main_context, 1);
  EXPECT_EQ(saved.nodes[1].main_context, 1);
  EXPECT_EQ(saved.nodes[1].payload, 1);
}

TEST_F(KitContext, AContextWithoutAVersionIsNotWritten) {
  scripted_.script.save = [](kit::ContextSink& sink) {
    kit::ContextWriter payload = sink.BeginPayload();
    payload.End();
    sink.AddNode({.partition = 0, .payload = &payload});
  };
  EXPECT_THAT(FailureOf([&] { Saved(); }), AllOf(HasSubstr("without a version"), HasSubstr("kSdkVersion")));
}

// A provider that overrides the simple functions SaveContext and LoadContext. The scripted provider calls it.
class Short final : public kit::Provider {
 public:
  void SaveContext(const std::vector<std::string>& partitions, kit::ContextWriter& writer) override {
    for (const std::string& name : partitions) writer.Write(name.data(), name.size());
  }
  void KeepContext(const std::vector<std::string>& partitions) override { kept = partitions; }
  std::unique_ptr<kit::Kernel> LoadContext(std::string_view partition, std::span<const std::byte> payload) override {
    const std::string_view text(reinterpret_cast<const char*>(payload.data()), payload.size());
    const size_t place = text.find(partition);
    if (place == std::string_view::npos) throw kit::Error(EP_STATUS_INVALID_GRAPH, "it isn't in this payload");
    return std::make_unique<AddKernel>(static_cast<float>(place));
  }
  std::string SdkVersion() const override { return "1.5"; }
  std::string Hardware() const override { return "x1"; }

  std::vector<std::string> kept;
};

TEST_F(KitContext, TheShortWayWritesOnePayloadForAll) {
  Short provider;
  scripted_.script.save = [&](kit::ContextSink& sink) { provider.SaveContexts(sink); };
  const SavedContext saved = Saved();
  EXPECT_THAT(saved.payloads, ElementsAre("g_scripted_0g_scripted_1"));
  ASSERT_EQ(saved.nodes.size(), 2u);
  EXPECT_EQ(saved.nodes[0].ep_sdk_version, "1.5");
  EXPECT_EQ(saved.nodes[1].hardware_architecture, "x1");
  EXPECT_EQ(saved.nodes[1].main_context, 0);
}

TEST_F(KitContext, ASessionOfAGroupThatGoesOnKeepsWhatItCompiled) {
  Short provider;
  scripted_.script.save = [&](kit::ContextSink& sink) {
    EXPECT_TRUE(sink.defers_payload());
    provider.SaveContexts(sink);
  };
  const SavedContext saved = Saved({std::make_shared<core::ShareWorkspaces>("a"), true, false});
  EXPECT_THAT(saved.payloads, IsEmpty());
  EXPECT_THAT(provider.kept, ElementsAre("g_scripted_0", "g_scripted_1"));
  ASSERT_EQ(saved.nodes.size(), 2u);
  EXPECT_EQ(saved.nodes[0].main_context, 1);
  EXPECT_EQ(saved.nodes[0].payload, -1) << "the last session's";
  EXPECT_EQ(saved.nodes[1].main_context, 0);
}

TEST_F(KitContext, NodesGetTheirPayloads) {
  Short provider;
  scripted_.script.load = [&](kit::ContextLoading& loading) {
    EXPECT_EQ(loading.size(), 2u);
    EXPECT_EQ(loading.payloads().size(), 2u);
    provider.LoadContexts(loading);
  };
  Saved();
  const std::vector<core::ContextBlob> blobs = {ToBlob("-g_scripted_1"), ToBlob("--g_scripted_0")};
  std::vector<core::ContextNodeToLoad> nodes = NodesToLoad();
  nodes[0].blob = 1;
  nodes[1].blob = -1;  // in any payload
  nodes[1].main_context = 0;
  auto loader = scripted_.Make();
  const auto kernels = loader->LoadContext(nodes, blobs);
  EXPECT_THAT(RunKernel(*kernels[0], {Floats({1}, {10})}), ElementsAre(12));
  EXPECT_THAT(RunKernel(*kernels[1], {Floats({1}, {10})}), ElementsAre(11));
  // A partition must be in the payload that its node names.
  nodes[0].blob = 0;
  EXPECT_THAT(FailureOf([&] { scripted_.Make()->LoadContext(nodes, blobs); }),
              AllOf(StartsWith("INVALID_GRAPH"), HasSubstr("it isn't in this payload")));
}

TEST_F(KitContext, SearchGoesOnOnlyAfterAnIncompatiblePayload) {
  int asked = 0;
  scripted_.script.load = [&](kit::ContextLoading& loading) {
    loading.FirstThatHas(1, [&](std::span<const std::byte>) -> std::unique_ptr<kit::Kernel> {
      ++asked;
      throw kit::Error(EP_STATUS_OUT_OF_MEMORY, "the chip is full");
    });
  };
  Saved();
  const std::vector<core::ContextBlob> blobs = {ToBlob("a"), ToBlob("b")};
  std::vector<core::ContextNodeToLoad> nodes = NodesToLoad();
  nodes[1].blob = -1;
  nodes[1].main_context = 0;
  FailureOf([&] { scripted_.Make()->LoadContext(nodes, blobs); });
  EXPECT_EQ(asked, 1);
}

TEST_F(KitContext, ALoadedNodeSaysWhatTheWrittenOneSaid) {
  scripted_.script.load = [&](kit::ContextLoading& loading) {
    const kit::ContextNodeView& node = loading.node(0);
    EXPECT_EQ(node.partition_name(), "g_scripted_0");
    EXPECT_EQ(node.origin().sdk_version, "2.3");
    EXPECT_EQ(node.origin().notes, "tiled");
    EXPECT_EQ(node.Attribute("acme_tiles"), "4");
    EXPECT_EQ(node.Attribute("acme_tile"), std::nullopt);
    EXPECT_EQ(node.onnx_model_filename(), "m.onnx");
    EXPECT_EQ(node.max_size(), 77);
    EXPECT_TRUE(node.is_main());
    EXPECT_EQ(node.node().output_count(), 1u);
    for (size_t i = 0; i < 2; ++i) loading.SetKernel(i, std::make_unique<AddKernel>(0.0f));
  };
  Saved();
  std::vector<core::ContextNodeToLoad> nodes = NodesToLoad();
  nodes[0].ep_sdk_version = "2.3";
  nodes[0].notes = "tiled";
  nodes[0].extras = {{"acme_tiles", "4"}};
  nodes[0].onnx_model_filename = "m.onnx";
  nodes[0].max_size = 77;
  const core::ContextBlob blob = ToBlob("x");
  scripted_.Make()->LoadContext(nodes, {&blob, 1});
}

TEST_F(KitContext, NodeWithoutKernelIsNamed) {
  scripted_.script.load = [](kit::ContextLoading& loading) { loading.SetKernel(0, std::make_unique<AddKernel>(0.0f)); };
  Saved();
  const core::ContextBlob blob = ToBlob("x");
  EXPECT_THAT(FailureOf([&] {
                scripted_.Make()->LoadContext(NodesToLoad(), {&blob, 1});
              }),
              HasSubstr("no kernel for partition 'g_scripted_1'"));
  scripted_.script.load = [](kit::ContextLoading& loading) { loading.SetKernel(1, nullptr); };
  EXPECT_THAT(FailureOf([&] {
                scripted_.Make()->LoadContext(NodesToLoad(), {&blob, 1});
              }),
              AllOf(HasSubstr("'g_scripted_1'"), HasSubstr("INVALID_GRAPH for a context that can't be used")));
}

TEST_F(KitContext, OneMadeBySomethingElseIsRefusedBeforeItIsLoaded) {
  Short provider;
  scripted_.script.load = [&](kit::ContextLoading& loading) { provider.LoadContexts(loading); };
  Saved();
  const core::ContextBlob blob = ToBlob("g_scripted_0g_scripted_1");
  std::vector<core::ContextNodeToLoad> nodes = NodesToLoad();
  nodes[1].ep_sdk_version = "1.4";
  EXPECT_THAT(FailureOf([&] {
                scripted_.Make()->LoadContext(nodes, {&blob, 1});
              }),
              AllOf(StartsWith("INVALID_GRAPH"), HasSubstr("'1.4'"), HasSubstr("'1.5'")));
  nodes[1].ep_sdk_version = "1.5";
  nodes[1].hardware_architecture = "x2";
  EXPECT_THAT(FailureOf([&] {
                scripted_.Make()->LoadContext(nodes, {&blob, 1});
              }),
              AllOf(HasSubstr("'x2'"), HasSubstr("'x1'")));
}

class KitVerdict : public KitContext {
 protected:
  core::ContextCheck Judge(const core::ContextHeader& header, const core::ContextPlace& place = {}) {
    return core::CheckContext(scripted_.plugin(), header, place);
  }
};

TEST_F(KitVerdict, TheDefaultLooksAtTheSourceAndWhatTheNodeSays) {
  core::ContextHeader header;
  header.source = "OlderScripted";
  EXPECT_EQ(Judge(header).verdict, core::ContextVerdict::kOptimal);
  header.hardware_architecture = "scripted";  // the architecture of the plugin's only device
  EXPECT_EQ(Judge(header).verdict, core::ContextVerdict::kOptimal);
  header.hardware_architecture = "x1";
  EXPECT_EQ(Judge(header).verdict, core::ContextVerdict::kUnsupported);
  header.source = "Somebody";
  EXPECT_EQ(Judge(header).verdict, core::ContextVerdict::kNotApplicable);
  EXPECT_THAT(Judge(header).reason, AllOf(HasSubstr("'Somebody'"), HasSubstr("'Scripted' or 'OlderScripted'")));
}

TEST_F(KitVerdict, APluginsOwnSeesAllThatThereIs) {
  scripted_.script.check = [](const kit::ContextHeader& header) {
    EXPECT_EQ(header.compatibility_info(), "driver=2");
    EXPECT_EQ(header.Attribute("acme_tiles"), "4");
    EXPECT_EQ(header.Option("tiles"), "8");
    EXPECT_EQ(header.Option("tile"), std::nullopt);
    EXPECT_THAT(header.devices(), ElementsAre(0));
    EXPECT_TRUE(header.has_payload());
    EXPECT_EQ(header.payload().size(), 3u);
    return kit::ContextVerdict::PreferRecompilation("made for 4 tiles, 8 are used");
  };
  core::ContextHeader header;
  header.source = "Scripted";
  header.compatibility_info = "driver=2";
  header.extras = {{"acme_tiles", "4"}};
  header.blob = ToBlob("abc");
  const core::ContextCheck check = Judge(header, {{0}, {{"tiles", "8"}}});
  EXPECT_EQ(check.verdict, core::ContextVerdict::kPreferRecompilation);
  EXPECT_EQ(check.reason, "made for 4 tiles, 8 are used");
}

TEST_F(KitVerdict, MetadataAloneHasNoPayload) {
  scripted_.script.check = [](const kit::ContextHeader& header) {
    EXPECT_FALSE(header.has_payload());
    EXPECT_TRUE(header.payload().empty());
    return kit::ContextVerdict::NotApplicable("nothing to look at");
  };
  core::ContextHeader header;
  header.source = "Scripted";
  EXPECT_EQ(Judge(header).reason, "nothing to look at");
}

TEST(ContextVerdict, OfTwoTheWorseCounts) {
  kit::ContextVerdict verdict = kit::ContextVerdict::NotApplicable("?");
  verdict.Worsen(kit::ContextVerdict::Optimal());
  EXPECT_EQ(verdict.verdict, EP_CONTEXT_OPTIMAL);
  EXPECT_EQ(verdict.reason, "");
  verdict.Worsen(kit::ContextVerdict::Unsupported("another chip"));
  verdict.Worsen(kit::ContextVerdict::PreferRecompilation("slower"));
  EXPECT_EQ(verdict.reason, "another chip");
  EXPECT_THROW(verdict.ThrowIfUnsupported(), kit::Error);
  kit::ContextVerdict::PreferRecompilation("slower").ThrowIfUnsupported();
}

}  // namespace
}  // namespace epiphyte::test
