// The host's graph as small C++ values.
#include "epiphyte/kit/abi/graph_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plugin_api/plugin/scripted.h"

namespace epiphyte::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Calls `look` with the graph that the provider gets in GetCapability.
void Look(std::string_view text, std::function<void(const kit::GraphView& graph)> look) {
  Scripted scripted;
  int looked = 0;
  scripted.script.claim = [&](const kit::GraphView& graph, kit::Claims&) {
    ++looked;
    look(graph);
  };
  const auto provider = scripted.Make();
  scripted.Claim(*provider, text);
  EXPECT_EQ(looked, 1);
}

TEST(GraphView, ShowsNodesWithWhatTheyReadAndMake) {
  Look(R"(<ir_version: 8, opset_import: ["" : 17, "acme" : 3]>
    g (float[N, 3] x, float[3] s) => (float[N, 3] y) <float[3] w = {1, 2, 3}> {
      m = Mul(x, w) y = Clip(m, , s) })",
       [](const kit::GraphView& graph) {
         EXPECT_EQ(graph.name(), "g");
         EXPECT_EQ(graph.OpsetOf(""), 17);
         EXPECT_EQ(graph.OpsetOf("acme"), 3);
         EXPECT_EQ(graph.OpsetOf("ai.onnx.ml"), 0);
         EXPECT_EQ(graph.inputs().size(), 2u);
         EXPECT_EQ(graph.outputs().at(0).name(), "y");
         EXPECT_EQ(graph.constants().at(0).name(), "w");
         ASSERT_EQ(graph.node_count(), 2u);
         const kit::NodeView mul = graph.node(0);
         EXPECT_EQ(mul.op_type(), "Mul");
         EXPECT_TRUE(mul.Is("Mul"));
         EXPECT_FALSE(mul.Is("Mul", "acme"));
         EXPECT_EQ(mul.since_version(), 14);
         EXPECT_FALSE(mul.placed());
         EXPECT_THAT(mul.input(0).dims(), ElementsAre(-1, 3));
         EXPECT_FALSE(mul.input(0).IsStatic());
         EXPECT_EQ(mul.input(0).element_type(), EP_TYPE_FLOAT);
         EXPECT_EQ(mul.input(0).producer(), nullptr);
         EXPECT_TRUE(mul.input(1).IsStatic());
         ASSERT_NE(mul.input(1).constant(), nullptr);
         EXPECT_EQ(mul.input(1).constant()->element_count, 3u);
         EXPECT_EQ(mul.output(0).consumers().size(), 1u);
         EXPECT_FALSE(mul.output(0).IsGraphOutput());
         const kit::NodeView clip = graph.nodes().at(1);
         EXPECT_FALSE(clip.input(1)) << "left out";
         EXPECT_TRUE(clip.input(2));
         EXPECT_FALSE(clip.input(3)) << "past the end";
         EXPECT_FALSE(clip.output(1));
         EXPECT_TRUE(clip.output(0).IsGraphOutput());
         EXPECT_EQ(clip.output(0).producer(), clip.handle());
         EXPECT_EQ(clip.input(0).id(), mul.output(0).id());
       });
}

TEST(GraphView, ReadsAttributesOfEachType) {
  Look(R"(<ir_version: 8, opset_import: ["" : 17, "acme" : 1]>
    g (float[2] x) => (y) {
      y = acme.Mix <count = 3, alpha = 0.5, mode = "fast", axes = [1, 2], scales = [0.5, 2.0], names = ["a", "bc"],
                    table = float[2] {1, 2}> (x) })",
       [](const kit::GraphView& graph) {
         const kit::NodeView node = graph.node(0);
         EXPECT_EQ(node.attribute_count(), 7u);
         EXPECT_EQ(std::string(node.attribute(0).name), "count");
         EXPECT_TRUE(node.HasAttribute("mode"));
         EXPECT_FALSE(node.HasAttribute("model"));
         EXPECT_EQ(node.Int("count", 1), 3);
         EXPECT_EQ(node.Int("counts", 1), 1);
         EXPECT_EQ(node.Float("alpha", 1), 0.5f);
         EXPECT_EQ(node.Float("beta", 1), 1.0f);
         EXPECT_EQ(node.String("mode", "slow"), "fast");
         EXPECT_EQ(node.String("modes", "slow"), "slow");
         EXPECT_THAT(node.Ints("axes"), ElementsAre(1, 2));
         EXPECT_THAT(node.Ints("axis"), IsEmpty());
         EXPECT_THAT(node.Floats("scales"), ElementsAre(0.5f, 2.0f));
         EXPECT_THAT(node.Floats("scale"), IsEmpty());
         EXPECT_THAT(node.Strings("names"), ElementsAre("a", "bc"));
         EXPECT_THAT(node.Strings("name"), IsEmpty());
         ASSERT_NE(node.Tensor("table"), nullptr);
         EXPECT_EQ(static_cast<const float*>(node.Tensor("table")->data)[1], 2.0f);
         EXPECT_EQ(node.Tensor("tables"), nullptr);
         try {
           node.Int("mode", 0);
           ADD_FAILURE() << "a text is no number";
         } catch (const kit::Error& error) {
           EXPECT_EQ(error.code(), EP_STATUS_INVALID_GRAPH);
           EXPECT_THAT(error.what(), AllOf(HasSubstr("'mode'"), HasSubstr("another type")));
         }
       });
}

TEST(GraphView, ShowsBodiesAndWhatTheyReadOfOutside) {
  Look(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[2] x) => (float[2] y) {
      y = If (c) <then_branch = t () => (float[2] p) { p = Neg(x) }, else_branch = e () => (float[2] q) { q = Abs(x) }>
    })",
       [](const kit::GraphView& graph) {
         const kit::NodeView node = graph.node(0);
         EXPECT_TRUE(node.has_subgraphs());
         ASSERT_EQ(node.subgraph_count(), 2u);
         EXPECT_TRUE(node.subgraph(0).node(0).Is("Neg"));
         EXPECT_EQ(node.subgraph(1).name(), "e");
         EXPECT_EQ(node.subgraph(1).info().parent, node.handle());
         const std::vector<kit::ValueView> outside = node.implicit_inputs();
         ASSERT_EQ(outside.size(), 1u);
         EXPECT_EQ(outside[0].name(), "x");
       });
}

}  // namespace
}  // namespace epiphyte::test
