// ep.explain: a plugin's notes on its nodes reach the placement report. The host refuses notes on nodes that the plugin
// was not shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <stdexcept>
#include <string>

#include "core/abi/handles.h"
#include "core/abi/provider.h"
#include "core/onnx/model_reader.h"
#include "epiphyte/draft/ep_explain.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

EpStatus* EP_CALL CreateProvider(EpPlugin* plugin, const EpProviderConfig*, EpProvider** provider) {
  *provider = reinterpret_cast<EpProvider*>(plugin);
  return nullptr;
}
void EP_CALL DestroyProvider(EpProvider*) {}

// A plugin that only adds notes; each test supplies the function that adds them.
class ExplainTest : public testing::Test {
 protected:
  using Notes = std::function<EpStatus*(std::span<const EpPartitionInfo* const>, const EpNoteSink&)>;

  ExplainTest() {
    provider_api_.struct_size = sizeof provider_api_;
    provider_api_.CreateProvider = CreateProvider;
    provider_api_.DestroyProvider = DestroyProvider;
    table_ = {sizeof(EpExplainApi), 0, Explain};
    descriptor_.struct_size = sizeof descriptor_;
    descriptor_.provider = &provider_api_;
    descriptor_.GetExtension = GetExtension;
    plugin_.descriptor = &descriptor_;
    plugin_.plugin = reinterpret_cast<EpPlugin*>(this);
    plugin_.name = "acme_ep";
    model_ = core::ReadModelMemory(bytes_.data(), bytes_.size(), nullptr, {});
    model_.graph->Finalize();
    partition_.name = "p";
    partition_.graph = std::move(model_.graph);
  }

  std::vector<core::NodeNote> Explained() {
    const core::Partition* const partitions[] = {&partition_};
    return core::Provider::Create(plugin_, {})->Explain(partitions);
  }
  std::string ErrorOf() {
    try {
      Explained();
      return "";
    } catch (const core::Error& error) {
      return error.message();
    }
  }
  const EpNode* Node(size_t i) const { return core::ToAbi(partition_.graph->nodes()[i].get()); }

  static EpStatus* EP_CALL Explain(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count,
                                   const EpNoteSink* sink) {
    return reinterpret_cast<ExplainTest*>(provider)->notes_({partitions, count}, *sink);
  }
  static const void* EP_CALL GetExtension(EpPlugin* plugin, const char* id) {
    return std::string_view(id) == EP_EXPLAIN_EXTENSION ? reinterpret_cast<ExplainTest*>(plugin)->answer_ : nullptr;
  }

  EpProviderApi provider_api_ = {};
  EpPluginDescriptor descriptor_ = {};
  EpExplainApi table_;
  const EpExplainApi* answer_ = &table_;
  core::LoadedPlugin plugin_;
  const std::string bytes_ = OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y) { a = Relu(x)  y = Neg(a) })");
  core::Model model_;
  core::Partition partition_;
  Notes notes_;
};

TEST_F(ExplainTest, NotesAreOfTheNodesThatWereShown) {
  notes_ = [](std::span<const EpPartitionInfo* const> partitions, const EpNoteSink& sink) -> EpStatus* {
    EXPECT_STREQ(partitions[0]->name, "p");
    EpGraphInfo graph = {};
    graph.struct_size = sizeof graph;
    if (EpStatus* status = core::HostInfo()->graph->GetGraphInfo(partitions[0]->graph, &graph)) return status;
    sink.NoteNode(sink.notes, graph.nodes[1], "negates\nin one go");
    return nullptr;
  };
  const std::vector<core::NodeNote> notes = Explained();
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_EQ(core::ToAbi(notes[0].node), Node(1));
  EXPECT_THAT(notes[0].text, HasSubstr("in one go"));
  EXPECT_EQ(notes[0].text.find('\n'), std::string::npos);
}

TEST_F(ExplainTest, NotesOnOtherNodesAndEmptyOnesAreDropped) {
  notes_ = [this](auto, const EpNoteSink& sink) -> EpStatus* {
    sink.NoteNode(sink.notes, nullptr, "nothing");
    sink.NoteNode(sink.notes, reinterpret_cast<const EpNode*>(this), "no node");
    sink.NoteNode(sink.notes, Node(0), nullptr);
    sink.NoteNode(sink.notes, Node(0), "");
    sink.NoteNode(nullptr, Node(0), "nowhere");
    return nullptr;
  };
  EXPECT_THAT(Explained(), IsEmpty());
}

TEST_F(ExplainTest, ANodeHasEightNotesAtMostAndNoneIsEndless) {
  notes_ = [this](auto, const EpNoteSink& sink) -> EpStatus* {
    for (int i = 0; i < 1000; ++i) sink.NoteNode(sink.notes, Node(0), std::string(100'000, 'x').c_str());
    return nullptr;
  };
  const std::vector<core::NodeNote> notes = Explained();
  ASSERT_THAT(notes, SizeIs(8));
  EXPECT_LE(notes[0].text.size(), 600u);
}

TEST_F(ExplainTest, APluginWithoutTheExtensionSaysNothing) {
  answer_ = nullptr;
  EXPECT_THAT(Explained(), IsEmpty());
}

TEST_F(ExplainTest, ATableThatIsNotWholeIsAnError) {
  table_.struct_size = 8;
  EXPECT_THAT(ErrorOf(), HasSubstr("struct_size 8"));
  table_ = {sizeof(EpExplainApi), 0, nullptr};
  EXPECT_THAT(ErrorOf(), HasSubstr("a function Explain"));
}

TEST_F(ExplainTest, AFailureNamesTheProviderAndTheCall) {
  notes_ = [](auto, const EpNoteSink&) -> EpStatus* { throw std::runtime_error("out of words"); };
  EXPECT_THAT(ErrorOf(), HasSubstr("provider 'acme_ep': Explain let an exception escape (out of words)"));
}

}  // namespace
}  // namespace epiphyte::test
