// An application's transforms and rewrite rules, through the public API and the bundled CPU plugin.
#include "epiphyte/transform.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <optional>
#include <span>
#include <stdexcept>

#include "epiphyte/epiphyte.hpp"
#include "tests/framework/temp_dir.h"
#include "tests/host/bundled_plugins.h"
#include "tests/host/small_models.h"

namespace epiphyte {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Value Floats(std::vector<float> data, const Shape& shape) { return Value::Copy<float>(data, shape); }

class TransformTest : public ::testing::Test {
 protected:
  // Makes a session without Epiphyte's own transforms, so that the graph is exactly the model's.
  Session Open(const std::string& model, SessionOptions options) {
    options.Set("epiphyte.graph_optimization_level", "0");
    return Session(environment_, std::as_bytes(std::span(model)), options);
  }
  Session Open(const std::string& model, std::function<void(GraphEditor&)> apply) {
    return Open(model, SessionOptions().AddTransform({"acme.Test", "", std::move(apply)}));
  }
  std::string ErrorOf(const std::string& model, const SessionOptions& options) {
    try {
      Open(model, options);
    } catch (const Error& error) {
      code_ = error.code();
      EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
      return error.what();
    }
    return "no error";
  }
  std::string ErrorOf(const std::string& model, std::function<void(GraphEditor&)> apply) {
    return ErrorOf(model, SessionOptions().AddTransform({"acme.Test", "", std::move(apply)}));
  }
  static std::vector<std::string> OperatorsOf(const Session& session) {
    std::vector<std::string> operators;
    for (const NodePlacement& node : session.placement().nodes()) operators.push_back(node.op_type);
    return operators;
  }
  static std::vector<float> RunOn(const Session& session, std::vector<float> x) {
    const Value y = session.Run({{"x", Floats(std::move(x), {2})}})[0];
    return {y.Data<float>().begin(), y.Data<float>().end()};
  }

  Environment environment_ = test::BundledPlugins();
  StatusCode code_ = StatusCode::kOk;
};

RewriteRule DoubleToMul() {
  RewriteRule rule;
  rule.name = "acme.DoubleToMul";
  rule.op_type = "Add";
  rule.matches = [](const GraphNode& node) { return node.input(0) == node.input(1); };
  rule.rewrite = [](GraphEditor& graph, const GraphNode& node) {
    const GraphValue two = graph.AddConstant(Value::Copy<float>(std::vector<float>{2}, {}), "two");
    graph.Replace(node, graph.AddNode({.op_type = "Mul", .inputs = {node.input(0), two}}).output(0));
  };
  return rule;
}

GraphNode NodeOf(const GraphEditor& graph, const std::string& op_type) {
  for (const GraphNode& node : graph.nodes()) {
    if (node.op_type() == op_type) return node;
  }
  return {};
}

TEST_F(TransformTest, ARuleRewritesWhatItMatches) {
  Session session = Open(test::ChainModel({"Relu", "double", "Neg"}), SessionOptions().AddRewriteRule(DoubleToMul()));
  EXPECT_THAT(OperatorsOf(session), ElementsAre("Relu", "Mul", "Neg"));
  EXPECT_THAT(RunOn(session, {3, -1}), ElementsAre(-6, 0));
}

TEST_F(TransformTest, ARuleGoesOnUntilNothingMatches) {
  RewriteRule rule;  // Neg(Neg(x)) becomes x
  rule.name = "acme.CancelNeg";
  rule.op_type = "Neg";
  rule.matches = [](const GraphNode& node) {
    return node.input(0).producer() && node.input(0).producer().op_type() == "Neg";
  };
  rule.rewrite = [](GraphEditor& graph, const GraphNode& node) {
    graph.Replace(node, node.input(0).producer().input(0));
  };
  Session session =
      Open(test::ChainModel({"Relu", "Neg", "Neg", "Neg", "Neg", "Abs"}), SessionOptions().AddRewriteRule(rule));
  EXPECT_THAT(OperatorsOf(session), ElementsAre("Relu", "Abs"));
}

TEST_F(TransformTest, AModelsOutputKeepsItsName) {
  Session direct = Open(test::ChainModel({"Relu", "Identity"}), [](GraphEditor& graph) {
    const GraphNode identity = NodeOf(graph, "Identity");
    graph.Replace(identity, identity.input(0));
  });
  EXPECT_THAT(OperatorsOf(direct), ElementsAre("Relu"));
  EXPECT_EQ(direct.outputs()[0].name, "y");
  EXPECT_THAT(RunOn(direct, {1, -1}), ElementsAre(1, 0));
  // An input can't have the output's name, so an Identity connects them.
  Session from_input = Open(test::ChainModel({"Relu"}),
                            [](GraphEditor& graph) { graph.Replace(NodeOf(graph, "Relu"), graph.inputs()[0]); });
  EXPECT_THAT(OperatorsOf(from_input), ElementsAre("Identity"));
  EXPECT_THAT(RunOn(from_input, {1, -1}), ElementsAre(1, -1));
}

// The simple rule "remove Identity", applied to a graph that needs one.
TEST_F(TransformTest, AnIdentityThatMustStayIsNoEndlessRule) {
  RewriteRule rule;
  rule.name = "acme.NoIdentity";
  rule.op_type = "Identity";
  rule.rewrite = [](GraphEditor& graph, const GraphNode& node) { graph.Replace(node, node.input(0)); };
  Session session = Open(test::ChainModel({"Identity"}), SessionOptions().AddRewriteRule(rule));
  EXPECT_THAT(RunOn(session, {1, -1}), ElementsAre(1, -1));
}

TEST_F(TransformTest, NodesCanBePutBehindAValue) {
  Session session = Open(test::ChainModel({"Relu", "Neg"}), [](GraphEditor& graph) {
    const GraphValue x = graph.inputs()[0];
    const GraphValue one = graph.AddConstant(Value::Copy<float>(std::vector<float>{1}, {}));
    const GraphNode sum = graph.AddNode({.op_type = "Add", .inputs = {x, one}});
    const GraphNode product = graph.AddNode({.op_type = "Add", .inputs = {sum.output(0), sum.output(0)}});
    graph.ReplaceUses(x, product.output(0));
    const GraphValue y = graph.outputs()[0];
    graph.ReplaceUses(y, graph.AddNode({.op_type = "Abs", .inputs = {y}}).output(0));
  });
  EXPECT_THAT(OperatorsOf(session), ElementsAre("Add", "Add", "Relu", "Neg", "Abs"));
  EXPECT_THAT(RunOn(session, {3, -5}), ElementsAre(8, 0));
}

TEST_F(TransformTest, SeesWhatTheModelSays) {
  std::vector<std::string> seen;
  Open(test::MaskModel(), [&](GraphEditor& graph) {
    EXPECT_FALSE(graph.is_nested());
    EXPECT_EQ(graph.opset(), 17);
    EXPECT_EQ(graph.opset("ai.onnx"), 17);
    EXPECT_EQ(graph.opset("com.acme"), 0);
    ASSERT_THAT(graph.inputs(), SizeIs(2));
    EXPECT_EQ(graph.inputs()[0].name(), "x");
    EXPECT_EQ(graph.inputs()[1].type().ToString(), "tensor(int64)[batch]");
    EXPECT_TRUE(graph.inputs()[0].is_input());
    EXPECT_FALSE(graph.inputs()[0].producer());
    const GraphNode cast = NodeOf(graph, "Cast");
    ASSERT_TRUE(cast);
    EXPECT_EQ(cast.domain(), "");
    EXPECT_EQ(cast.since_version(), 13);
    EXPECT_FALSE(cast.has_bodies());
    EXPECT_THAT(cast.attribute_names(), ElementsAre("to"));
    EXPECT_EQ(cast.attribute_or<int64_t>("to", 0), 1);
    EXPECT_EQ(cast.attribute_or<float>("to", 0.5f), 0.5f) << "it is no float";
    EXPECT_FALSE(cast.attribute("saturate").has_value());
    EXPECT_EQ(cast.output(0).consumers(), std::vector<GraphNode>{NodeOf(graph, "Mul")});
    EXPECT_EQ(cast.output(0).producer(), cast);
    EXPECT_FALSE(cast.input(1));
    EXPECT_FALSE(NodeOf(graph, "Relu"));
    EXPECT_TRUE(graph.FindValue("y").is_output());
    EXPECT_THAT(graph.FindValue("y").consumers(), ElementsAre(NodeOf(graph, "Shape")));
    EXPECT_FALSE(graph.FindValue("nothing"));
    for (const GraphNode& node : graph.nodes()) seen.push_back(node.op_type());
  });
  EXPECT_THAT(seen, ElementsAre("Cast", "Mul", "Shape"));
}

TEST_F(TransformTest, ConstantsCanBeReadAndReplaced) {
  Session session = Open(test::MatMulModel(), [](GraphEditor& graph) {
    const GraphNode product = NodeOf(graph, "MatMul");
    EXPECT_TRUE(product.input(1).is_constant());
    EXPECT_FALSE(product.input(0).is_constant());
    EXPECT_FALSE(product.input(0).constant());
    Value weights = product.input(1).constant();
    const auto refusal = [](auto&& write) {
      try {
        write();
      } catch (const Error& error) {
        return std::string(error.what());
      }
      return std::string("it was written to");
    };
    EXPECT_THAT(refusal([&] { weights.mutable_data(); }), HasSubstr("read-only"));
    EXPECT_THAT(refusal([&] { weights.MutableData<float>(); }), HasSubstr("read-only"));
    EXPECT_THAT(refusal([&] { weights.CopyFrom(weights.CopyTo({})); }), HasSubstr("read-only"));
    weights.CopyTo({}).MutableData<float>()[0] = 77;
    std::vector<float> doubled;
    for (const float weight : weights.Data<float>()) doubled.push_back(2 * weight);
    graph.SetInput(product, 1, graph.AddConstant(Value::Copy<float>(doubled, weights.shape()), "w2"));
  });
  Value y = session.Run({{"x", Floats({1, 0, 0, 0, 0, 0, 0, 1}, {2, 4})}})[0];
  EXPECT_THAT(y.Data<float>(), ElementsAre(-2, -1.5f, -1, 2.5f, 3, 3.5f));
}

TEST_F(TransformTest, AttributesOfEveryKindGoInAndComeOut) {
  const std::vector<AttributeValue> values = {int64_t{7},
                                              0.5f,
                                              std::string("text"),
                                              std::vector<int64_t>{1, 2},
                                              std::vector<float>{0.25f},
                                              std::vector<std::string>{"a", "b"}};
  Open(test::ChainModel({"Relu"}), [&](GraphEditor& graph) {
    graph.ImportDomain("com.acme", 3);
    graph.ImportDomain("com.acme", 3);
    EXPECT_EQ(graph.opset("com.acme"), 3);
    std::map<std::string, AttributeValue> attributes;
    for (size_t i = 0; i < values.size(); ++i) attributes["a" + std::to_string(i)] = values[i];
    attributes["tensor"] = Value::Copy<float>(std::vector<float>{4}, {1});
    const GraphNode node = graph.AddNode({.op_type = "Thing", .attributes = attributes, .domain = "com.acme"});
    for (size_t i = 0; i < values.size(); ++i) {
      const std::optional<AttributeValue> found = node.attribute("a" + std::to_string(i));
      ASSERT_TRUE(found);
      EXPECT_EQ(found->index(), i);
    }
    EXPECT_EQ(node.attribute_or<std::string>("a2", ""), "text");
    EXPECT_THAT(std::get<std::vector<std::string>>(*node.attribute("a5")), ElementsAre("a", "b"));
    EXPECT_THAT(std::get<Value>(*node.attribute("tensor")).Data<float>(), ElementsAre(4));
    graph.SetAttribute(node, "a0", int64_t{8});
    EXPECT_EQ(node.attribute_or<int64_t>("a0", 0), 8);
    graph.RemoveAttribute(node, "a0");
    graph.RemoveAttribute(node, "a0");
    EXPECT_FALSE(node.attribute("a0").has_value());
    EXPECT_EQ(node.name(), "acme.Test/Thing");
    graph.Remove(node);
  });
}

TEST_F(TransformTest, NestedGraphsHaveTheirTurn) {
  std::vector<std::string> seen;
  Session session = Open(test::IfModel(), [&](GraphEditor& graph) {
    for (const GraphNode& node : graph.nodes()) {
      seen.push_back(node.op_type());
      EXPECT_EQ(node.has_bodies(), node.op_type() == "If");
      if (node.op_type() != "Add") continue;
      EXPECT_TRUE(graph.is_nested());
      EXPECT_TRUE(node.input(1).is_constant()) << "a constant of the graph around it";
      EXPECT_FALSE(node.input(0).is_input());
      const GraphNode sum = graph.AddNode({.op_type = "Sub", .inputs = node.inputs()});
      graph.Replace(node, sum.output(0));
    }
  });
  EXPECT_THAT(seen, ElementsAre("If", "Add", "Neg"));
  bool flag = true;
  const Value x = Floats({1, 2}, {2});
  Value y = session.Run({{"flag", Value::Copy<bool>(std::span<const bool>(&flag, 1), {})}, {"x", x}})[0];
  EXPECT_THAT(y.Data<float>(), ElementsAre(0, 1));
}

TEST_F(TransformTest, RunsAfterEpiphytesOwnAndCanBeLeftOutByName) {
  std::vector<std::string> seen;
  SessionOptions options;
  options.AddTransform({"acme.Look", "", [&](GraphEditor& graph) {
                          for (const GraphNode& node : graph.nodes()) seen.push_back(node.op_type());
                        }});
  const std::string model = test::ChainModel({"Relu", "Identity", "Neg"});
  Session(environment_, std::as_bytes(std::span(model)), options);
  EXPECT_THAT(seen, ElementsAre("Relu", "Neg")) << "the Identity has gone before";
  seen.clear();
  options.Set("optimization.disable_specified_optimizers", "RemoveIdentity;acme.Look");
  Session(environment_, std::as_bytes(std::span(model)), options);
  EXPECT_THAT(seen, IsEmpty());
  options.Set("optimization.disable_specified_optimizers", "acme.Lok");
  EXPECT_THAT(ErrorOf(model, options), HasSubstr("did you mean 'acme.Look'"));
}

TEST_F(TransformTest, ThePlacementShowsTheGraphThatTheyMade) {
  test::TempDir folder;
  const auto model = folder.Write("model.onnx", test::ChainModel({"double"}));
  const Placement placement = Placement::Of(environment_, model, SessionOptions().AddRewriteRule(DoubleToMul()));
  ASSERT_THAT(placement.nodes(), SizeIs(1));
  EXPECT_EQ(placement.nodes()[0].op_type, "Mul");
  ASSERT_THAT(placement.removed(), SizeIs(1));
  EXPECT_EQ(placement.removed()[0].name, "Add_0");
  EXPECT_EQ(placement.removed()[0].fate, "rewritten");
  EXPECT_EQ(placement.removed()[0].into, "acme.DoubleToMul");
}

TEST_F(TransformTest, AContextModelIsWhatCameOfThemAndIsLeftAlone) {
  test::TempDir folder;
  const auto model = folder.Write("model.onnx", test::ChainModel({"Relu", "double"}));
  int runs = 0;
  SessionOptions options;
  options.AddProvider("cpu").Set("ep.context_enable", "1");
  options.AddTransform({"acme.Count", "", [&](GraphEditor&) { ++runs; }}).AddRewriteRule(DoubleToMul());
  const ContextFiles files = *Session(environment_, model, options).context_files();
  EXPECT_EQ(runs, 1);
  options.Set("ep.context_enable", "0");
  Session loaded(environment_, files.model, options);
  EXPECT_EQ(runs, 1);
  EXPECT_THAT(RunOn(loaded, {3, -1}), ElementsAre(6, 0));
}

TEST_F(TransformTest, CacheKeyHasNameAndVersion) {
  test::TempDir folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
  const auto model = folder.Write("model.onnx", test::ChainModel({"Relu"}));
  const auto run = [&](float factor, const std::string& version) {
    SessionOptions options;
    options.AddProvider("cpu").Set("session.context_cache_dir", (folder / "cache").string());
    options.AddTransform({"acme.Scale", version, [factor](GraphEditor& graph) {
                            const GraphValue y = graph.outputs()[0];
                            const GraphValue by = graph.AddConstant(Value::Copy<float>(std::vector<float>{factor}, {}));
                            graph.ReplaceUses(y, graph.AddNode({.op_type = "Mul", .inputs = {y, by}}).output(0));
                          }});
    Session session(environment_, model, options);
    return std::pair(RunOn(session, {1, 1})[0], session.has_context());
  };
  EXPECT_EQ(run(2, "1"), std::pair(2.0f, false));
  EXPECT_EQ(run(2, "1"), std::pair(2.0f, true)) << "found again";
  EXPECT_EQ(run(3, "2"), std::pair(3.0f, false)) << "another version is another model";
  EXPECT_EQ(run(4, ""), std::pair(4.0f, false)) << "nobody knows what one without a version does";
  EXPECT_EQ(run(5, ""), std::pair(5.0f, false));
  EXPECT_THAT(ListCache(folder / "cache"), SizeIs(2));
}

// --- hostile transforms

TEST_F(TransformTest, OneThatIsNoTransformIsRefused) {
  const auto refused = [](const std::function<void(SessionOptions&)>& add) {
    SessionOptions options;
    try {
      add(options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::kInvalidArgument);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const auto nothing = [](GraphEditor&) {};
  EXPECT_THAT(refused([](auto& options) { options.AddTransform({"a", "", nullptr}); }), HasSubstr("'apply'"));
  EXPECT_THAT(refused([](auto& options) { options.AddRewriteRule({.name = "a"}); }), HasSubstr("'rewrite'"));
  for (const std::string& name : {std::string(), std::string("a;b"), std::string("a\nb"), std::string(129, 'a')}) {
    EXPECT_THAT(refused([&](auto& options) { options.AddTransform({name, "", nothing}); }), HasSubstr("is no name"));
  }
  EXPECT_THAT(refused([&](auto& options) {
                options.AddTransform({"a", "", nothing}).AddTransform({"a", "", nothing});
              }),
              HasSubstr("'a' was added already"));
  EXPECT_THAT(ErrorOf(test::ChainModel({"Relu"}), SessionOptions().AddTransform({"RemoveIdentity", "", nothing})),
              HasSubstr("'RemoveIdentity'"));
  EXPECT_EQ(code_, StatusCode::kInvalidArgument);
}

TEST_F(TransformTest, ACycleNamesTheTransform) {
  EXPECT_THAT(ErrorOf(test::ChainModel({"Relu", "Neg", "Abs"}),
                      [](GraphEditor& graph) { graph.SetInput(NodeOf(graph, "Relu"), 0, graph.FindValue("v1")); }),
              AllOf(HasSubstr("transform 'acme.Test'"), HasSubstr("cycle")));
  EXPECT_EQ(code_, StatusCode::kInvalidGraph);
}

TEST_F(TransformTest, TypesThatDoNotFitNameTheTransform) {
  EXPECT_THAT(
      ErrorOf(test::MaskModel(),
              [](GraphEditor& graph) { graph.SetInput(NodeOf(graph, "Mul"), 1, graph.FindValue("attention_mask")); }),
      AllOf(HasSubstr("transform 'acme.Test'"), HasSubstr("int64")));
  EXPECT_EQ(code_, StatusCode::kInvalidGraph);
  EXPECT_THAT(
      ErrorOf(test::MaskModel(),
              [](GraphEditor& graph) { graph.ReplaceUses(graph.outputs()[0], graph.FindValue("attention_mask")); }),
      AllOf(HasSubstr("transform 'acme.Test'"), HasSubstr("'y'")));
}

TEST_F(TransformTest, ARuleWithoutAnEndNamesItself) {
  RewriteRule rule;
  rule.name = "acme.Forever";
  rule.op_type = "Relu";
  rule.rewrite = [](GraphEditor& graph, const GraphNode& node) {
    graph.Replace(node, graph.AddNode({.op_type = "Relu", .inputs = {node.input(0)}}).output(0));
  };
  EXPECT_THAT(ErrorOf(test::ChainModel({"Relu", "Neg"}), SessionOptions().AddRewriteRule(rule)),
              AllOf(HasSubstr("rewrite rule 'acme.Forever'"), HasSubstr("`matches` must be false")));
}

TEST_F(TransformTest, OneThatAddsForEverIsStopped) {
  EXPECT_THAT(ErrorOf(test::ChainModel({"Relu"}),
                      [](GraphEditor& graph) {
                        for (;;) graph.AddNode({.op_type = "Neg", .inputs = {graph.inputs()[0]}});
                      }),
              AllOf(HasSubstr("transform 'acme.Test'"), HasSubstr("make sure that it ends")));
}

TEST_F(TransformTest, WhatItThrowsIsTheSessionsError) {
  EXPECT_THAT(ErrorOf(test::ChainModel({"Relu"}), [](GraphEditor&) { throw std::runtime_error("a\nb"); }),
              AllOf(HasSubstr("transform 'acme.Test'"), HasSubstr("a b")));
  EXPECT_EQ(code_, StatusCode::kFail);
  EXPECT_THAT(ErrorOf(test::ChainModel({"Relu"}), [](GraphEditor&) { throw Error(StatusCode::kNotFound, "no table"); }),
              AllOf(HasSubstr("transform 'acme.Test'"), HasSubstr("no table")));
  EXPECT_EQ(code_, StatusCode::kNotFound);
  EXPECT_THAT(ErrorOf(test::ChainModel({"Relu"}), [](GraphEditor&) { throw 7; }), HasSubstr("'acme.Test'"));
}

// Each edit is refused at once and leaves the graph unchanged.
TEST_F(TransformTest, EditsThatCannotBeAreRefused) {
  const auto refused = [](const std::function<void()>& edit) {
    try {
      edit();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::kInvalidArgument) << error.what();
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  Session session = Open(test::ChainModel({"Relu", "Neg"}), [&](GraphEditor& graph) {
    const GraphNode relu = NodeOf(graph, "Relu");
    const GraphNode neg = NodeOf(graph, "Neg");
    const GraphValue x = graph.inputs()[0];
    EXPECT_THAT(refused([&] { graph.Remove(relu); }), AllOf(HasSubstr("can't be removed"), HasSubstr("Neg")));
    EXPECT_THAT(refused([&] { graph.Remove(neg); }), HasSubstr("output of the graph"));
    EXPECT_THAT(refused([&] { graph.Replace(relu, relu.output(0)); }), HasSubstr("depends on its outputs"));
    EXPECT_THAT(refused([&] { graph.Replace(relu, std::vector<GraphValue>()); }), HasSubstr("no value was given"));
    EXPECT_THAT(refused([&] { graph.ReplaceUses(GraphValue(), x); }), HasSubstr("empty value"));
    EXPECT_THAT(refused([&] { graph.ReplaceUses(x, GraphValue()); }), HasSubstr("empty value"));
    EXPECT_THAT(refused([&] { graph.Remove(GraphNode()); }), HasSubstr("empty node"));
    EXPECT_THAT(refused([&] { GraphNode().name(); }), HasSubstr("empty node"));
    EXPECT_THAT(refused([&] { GraphValue().type(); }), HasSubstr("empty value"));
    EXPECT_THAT(refused([&] { graph.SetInput(relu, std::numeric_limits<size_t>::max(), x); }), HasSubstr("at most"));
    EXPECT_THAT(refused([&] { graph.AddNode({.op_type = "Rellu", .inputs = {x}}); }), HasSubstr("did you mean Relu"));
    EXPECT_THAT(refused([&] { graph.AddNode({.op_type = "A", .domain = "com.acme"}); }), HasSubstr("ImportDomain"));
    EXPECT_THAT(refused([&] { graph.AddNode({.op_type = "Relu", .output_count = 0}); }), HasSubstr("0 outputs"));
    EXPECT_THAT(refused([&] { graph.AddNode({.op_type = ""}); }), HasSubstr("without an operator"));
    EXPECT_THAT(refused([&] { graph.AddConstant(Value()); }), HasSubstr("no tensor"));
    EXPECT_THAT(refused([&] { graph.AddConstant(Value::EmptyOptional()); }), HasSubstr("no tensor"));
    EXPECT_THAT(refused([&] { graph.SetAttribute(relu, "", int64_t{1}); }), HasSubstr("no name"));
    EXPECT_THAT(refused([&] { graph.SetAttribute(relu, std::string("a\0b", 3), int64_t{1}); }), HasSubstr("zero byte"));
    EXPECT_THAT(refused([&] { graph.SetAttribute(relu, "a", Value()); }), HasSubstr("no tensor"));
    EXPECT_THAT(refused([&] { graph.ImportDomain("", 21); }), HasSubstr("imports version 17"));
    EXPECT_THAT(refused([&] { graph.ImportDomain("com.acme", 0); }), HasSubstr("1 or more"));
  });
  EXPECT_THAT(OperatorsOf(session), ElementsAre("Relu", "Neg"));
}

TEST_F(TransformTest, AHandleThatIsTooOldIsFoundOut) {
  std::optional<GraphNode> kept_node;
  std::optional<GraphValue> kept_value;
  const std::string error = ErrorOf(test::ChainModel({"Relu", "Neg", "Abs"}), [&](GraphEditor& graph) {
    const GraphNode neg = NodeOf(graph, "Neg");
    const GraphValue made = neg.output(0);
    kept_node = NodeOf(graph, "Relu");
    kept_value = graph.inputs()[0];
    graph.Replace(neg, neg.input(0));
    EXPECT_THROW(neg.name(), Error);
    EXPECT_THROW(made.type(), Error);
    EXPECT_THROW(graph.ReplaceUses(made, graph.inputs()[0]), Error);
    graph.SetInput(NodeOf(graph, "Abs"), 0, made);
  });
  EXPECT_THAT(error, AllOf(HasSubstr("transform 'acme.Test'"), HasSubstr("after the node that made it")));
  EXPECT_EQ(code_, StatusCode::kInvalidArgument);
  EXPECT_THROW(kept_node->name(), Error) << "the call is over";
  EXPECT_THROW(kept_value->consumers(), Error);
  EXPECT_THAT(ErrorOf(test::ChainModel({"Relu"}),
                      [&](GraphEditor& graph) { graph.SetInput(NodeOf(graph, "Relu"), 0, *kept_value); }),
              HasSubstr("'acme.Test'"))
      << "and of another graph";
}

TEST_F(TransformTest, OptionsMayGoWhileTheSessionIsMade) {
  auto options = std::make_unique<SessionOptions>();
  options->AddTransform({"acme.Drop", "", [&](GraphEditor&) { options.reset(); }});
  options->AddRewriteRule(DoubleToMul());
  const std::string model = test::ChainModel({"double"});
  Session session(environment_, std::as_bytes(std::span(model)), *options);
  EXPECT_EQ(options, nullptr);
  EXPECT_THAT(OperatorsOf(session), ElementsAre("Mul"));
}

}  // namespace
}  // namespace epiphyte
