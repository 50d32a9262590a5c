// Function calls and their bodies.
#include <gmock/gmock.h>

#include "core/onnx/infer/inference.h"
#include "core/onnx/write/model_writer.h"
#include "tests/onnx/proto_model.h"

namespace epiphyte::test {
namespace {

using core::Model;
using core::StatusCode;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;

bool InlineAll(Model& model) {
  return core::InlineFunctions(model, [](const core::Node&) { return false; });
}

std::vector<std::string> Operators(const core::Graph& graph) {
  std::vector<std::string> operators;
  for (const auto& node : graph.nodes()) operators.push_back(node->op_type());
  return operators;
}

onnx::FunctionProto& AddFunction(ProtoModel& model, const std::string& name, std::vector<std::string> inputs,
                                 std::vector<std::string> outputs) {
  onnx::FunctionProto* function = model.proto.add_functions();
  function->set_name(name);
  function->set_domain("local");
  for (const std::string& input : inputs) function->add_input(input);
  for (const std::string& output : outputs) function->add_output(output);
  function->add_opset_import()->set_version(17);
  onnx::OperatorSetIdProto* import = function->add_opset_import();
  import->set_domain("local");
  import->set_version(1);
  return *function;
}

ProtoModel CallModel() {
  ProtoModel model;
  model.Opset("local", 1);
  model.Input("x", kFloat, {"2", "3"}).Output("y");
  return model;
}

TEST(Functions, AreKeptUntilTheyAreInlined) {
  ProtoModel source = CallModel();
  source.Node("Half", {"x"}, {"y"}, "local");
  onnx::FunctionProto& function = AddFunction(source, "Half", {"a"}, {"b"});
  ProtoModel::FillNode(function.add_node(), "Add", {"a", "a"}, {"t"});
  ProtoModel::FillNode(function.add_node(), "Neg", {"t"}, {"b"});
  Model model = source.Read();
  EXPECT_THAT(Operators(*model.graph), ElementsAre("Half"));
  EXPECT_NE(model.functions, nullptr);
  EXPECT_TRUE(InlineAll(model));
  EXPECT_THAT(Operators(*model.graph), ElementsAre("Add", "Neg"));
  EXPECT_EQ(model.functions, nullptr);
  EXPECT_EQ(TypeOf(model, "y"), "tensor(float)[2,3]");
  EXPECT_EQ(model.graph->outputs()[0]->producer()->name(), "make_y/make_b");
  EXPECT_FALSE(InlineAll(model));
}

TEST(Functions, TheCallerDecidesWhatIsKept) {
  ProtoModel source = CallModel();
  source.Node("A", {"x"}, {"m"}, "local");
  source.Node("B", {"m"}, {"y"}, "local");
  for (const char* name : {"A", "B"}) {
    ProtoModel::FillNode(AddFunction(source, name, {"a"}, {"b"}).add_node(), "Neg", {"a"}, {"b"});
  }
  core::ReadOptions options;
  options.keep_function = [](const core::Node& node) { return node.op_type() == "B"; };
  const Model model = source.Read(options);
  EXPECT_THAT(Operators(*model.graph), ElementsAre("Neg", "B"));
  EXPECT_NE(model.functions, nullptr);
}

TEST(Functions, CalledTwiceGetNamesOfTheirOwn) {
  ProtoModel source = CallModel();
  source.Node("F", {"x"}, {"m"}, "local");
  source.Node("F", {"m"}, {"y"}, "local");
  onnx::FunctionProto& function = AddFunction(source, "F", {"x"}, {"y"});  // the same names as in the calling graph
  ProtoModel::FillNode(function.add_node(), "Neg", {"x"}, {"m"});
  ProtoModel::FillNode(function.add_node(), "Abs", {"m"}, {"y"});
  Model model = source.Read();
  EXPECT_TRUE(InlineAll(model));
  EXPECT_THAT(Operators(*model.graph), ElementsAre("Neg", "Abs", "Neg", "Abs"));
  EXPECT_EQ(model.graph->nodes()[0]->output(0)->name(), "make_m/m");
  EXPECT_EQ(model.graph->nodes()[2]->output(0)->name(), "make_y/m");
}

TEST(Functions, NestedCallsAreInlinedToo) {
  ProtoModel source = CallModel();
  source.Node("Outer", {"x"}, {"y"}, "local");
  ProtoModel::FillNode(AddFunction(source, "Outer", {"a"}, {"b"}).add_node(), "Inner", {"a"}, {"b"}, "local");
  ProtoModel::FillNode(AddFunction(source, "Inner", {"a"}, {"b"}).add_node(), "Neg", {"a"}, {"b"});
  Model model = source.Read();
  EXPECT_TRUE(InlineAll(model));
  EXPECT_THAT(Operators(*model.graph), ElementsAre("Neg"));
}

TEST(Functions, AttributesComeFromTheCallOrTheDefault) {
  for (const bool given : {true, false}) {
    ProtoModel source = CallModel();
    onnx::NodeProto& call = source.Node("Leak", {"x"}, {"y"}, "local");
    if (given) ProtoModel::Attribute(call, "top", onnx::AttributeProto::FLOAT).set_f(0.25f);
    onnx::FunctionProto& function = AddFunction(source, "Leak", {"a"}, {"b"});
    onnx::NodeProto* node = function.add_node();
    ProtoModel::FillNode(node, "RandomUniformLike", {"a"}, {"b"});
    ProtoModel::Attribute(*node, "high", onnx::AttributeProto::FLOAT).set_ref_attr_name("top");
    // FunctionProto.attribute_proto (field 11), which libonnx 1.12 doesn't know, has the default of `top`.
    onnx::AttributeProto fallback;
    fallback.set_name("top");
    fallback.set_type(onnx::AttributeProto::FLOAT);
    fallback.set_f(0.5f);
    function.GetReflection()->MutableUnknownFields(&function)->AddLengthDelimited(11, fallback.SerializeAsString());
    Model model = source.Read();
    EXPECT_TRUE(InlineAll(model));
    EXPECT_EQ(model.graph->nodes()[0]->FloatAttribute("high", 0), given ? 0.25f : 0.5f);
  }
}

TEST(Functions, OptionalInputsMayBeLeftOut) {
  ProtoModel source = CallModel();
  source.Node("Bound", {"x"}, {"y"}, "local");
  ProtoModel::FillNode(AddFunction(source, "Bound", {"a", "low"}, {"b"}).add_node(), "Clip", {"a", "low"}, {"b"});
  Model model = source.Read();
  EXPECT_TRUE(InlineAll(model));
  EXPECT_EQ(model.graph->nodes()[0]->input(1), nullptr);
}

TEST(Functions, NestedGraphsInBodies) {
  ProtoModel source = CallModel();
  source.Input("c", kBool, {});
  source.Node("Choose", {"x", "c"}, {"y"}, "local");
  onnx::FunctionProto& function = AddFunction(source, "Choose", {"a", "flag"}, {"b"});
  onnx::NodeProto* node = function.add_node();
  ProtoModel::FillNode(node, "If", {"flag"}, {"b"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::GraphProto* branch = ProtoModel::Attribute(*node, name, onnx::AttributeProto::GRAPH).mutable_g();
    branch->set_name(name);
    ProtoModel::AddNode(branch, "Neg", {"a"}, {"x"});  // the branch's own x, not the caller's
    branch->add_output()->set_name("x");
  }
  Model model = source.Read();
  EXPECT_TRUE(InlineAll(model));
  const core::Graph& branch = *model.graph->nodes()[0]->subgraphs()[0];
  EXPECT_EQ(branch.nodes()[0]->input(0)->outer(), model.graph->FindValue("x"));
  EXPECT_EQ(TypeOf(model, "y"), "tensor(float)[2,3]");
}

TEST(Functions, AnInputMayBeHandedThrough) {
  ProtoModel source = CallModel();
  source.Node("Pass", {"x"}, {"y"}, "local");
  AddFunction(source, "Pass", {"a"}, {"a"});
  Model model = source.Read();
  EXPECT_TRUE(InlineAll(model));
  EXPECT_THAT(Operators(*model.graph), ElementsAre("Identity"));
}

TEST(Functions, OverloadsAreToldApart) {
  ProtoModel source = CallModel();
  const auto set_overload = [](auto& message, int field, const std::string& overload) {
    message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(field, overload);
  };
  set_overload(source.Node("F", {"x"}, {"m"}, "local"), 8, "one");
  set_overload(source.Node("F", {"m"}, {"y"}, "local"), 8, "two");
  for (const auto& [overload, op] : {std::pair{"one", "Neg"}, std::pair{"two", "Abs"}}) {
    onnx::FunctionProto& function = AddFunction(source, "F", {"a"}, {"b"});
    set_overload(function, 13, overload);
    ProtoModel::FillNode(function.add_node(), op, {"a"}, {"b"});
  }
  Model model = source.Read();
  EXPECT_THAT(Operators(*model.graph), ElementsAre("F:one", "F:two"));
  EXPECT_TRUE(InlineAll(model));
  EXPECT_THAT(Operators(*model.graph), ElementsAre("Neg", "Abs"));
}

TEST(Functions, BodiesThatDoNotFitAreRefused) {
  ProtoModel unmade = CallModel();
  unmade.Node("F", {"x"}, {"y"}, "local");
  ProtoModel::FillNode(AddFunction(unmade, "F", {"a"}, {"b"}).add_node(), "Neg", {"a"}, {"c"});
  Model model = unmade.Read();
  ExpectError([&] { InlineAll(model); }, StatusCode::kInvalidGraph, {"'F'", "'y'"});

  ProtoModel dangling = CallModel();
  dangling.Node("F", {"x"}, {"y"}, "local");
  // `x` exists in the caller, but a function sees only its own names.
  ProtoModel::FillNode(AddFunction(dangling, "F", {"a"}, {"b"}).add_node(), "Neg", {"x"}, {"b"});
  Model second = dangling.Read();
  ExpectError([&] { InlineAll(second); }, StatusCode::kInvalidGraph, {"'x'"});

  ProtoModel too_many = CallModel();
  too_many.Node("F", {"x", "x"}, {"y"}, "local");
  ProtoModel::FillNode(AddFunction(too_many, "F", {"a"}, {"b"}).add_node(), "Neg", {"a"}, {"b"});
  Model third = too_many.Read();
  ExpectError([&] { InlineAll(third); }, StatusCode::kInvalidGraph, {"F node 'make_y'", "2 inputs"});

  ProtoModel twice = CallModel();
  twice.Node("F", {"x"}, {"y"}, "local");
  AddFunction(twice, "F", {"a"}, {"b"});
  AddFunction(twice, "F", {"a"}, {"b"});
  ExpectError([&] { twice.Read(); }, StatusCode::kInvalidGraph, {"'F'", "twice"});
}

TEST(SchemaFunctions, AreInlinedOnDemand) {
  ProtoModel source;
  source.Input("x", kFloat, {"2", "3"}).Output("y");
  source.Node("HardSwish", {"x"}, {"y"});
  Model model = source.Read();
  EXPECT_THAT(Operators(*model.graph), ElementsAre("HardSwish"));
  EXPECT_TRUE(InlineAll(model));
  EXPECT_THAT(Operators(*model.graph), Not(Contains("HardSwish")));
  EXPECT_EQ(TypeOf(model, "y"), "tensor(float)[2,3]");
}

TEST(SchemaFunctions, ContextDependentBodiesUseTypesAndAttributes) {
  ProtoModel source;
  source.Input("x", kFloat, {"2", "3"}).Input("s", kFloat, {"3"}).Output("y");
  onnx::NodeProto& node = source.Node("LayerNormalization", {"x", "s"}, {"y"});
  ProtoModel::Int(node, "axis", 1);
  Model model = source.Read();
  EXPECT_TRUE(InlineAll(model));
  EXPECT_THAT(Operators(*model.graph), Contains("ReduceMean"));
  EXPECT_EQ(TypeOf(model, "y"), "tensor(float)[2,3]");
}

// libonnx's body flattens scale and bias. A scale that differs between rows would be applied to the wrong elements.
TEST(SchemaFunctions, BodyThatDoesNotComputeTheNodeIsNotUsed) {
  ProtoModel source;
  source.Input("x", kFloat, {"4", "4", "4"}).Input("s", kFloat, {"4", "4", "1"}).Output("y");
  ProtoModel::Int(source.Node("LayerNormalization", {"x", "s"}, {"y"}), "axis", 1);
  Model model = source.Read();
  InlineAll(model);
  EXPECT_THAT(Operators(*model.graph), ElementsAre("LayerNormalization"));
}

TEST(SchemaFunctions, BodyThatDoesNotHaveTheNodesTypeIsNotUsed) {
  ProtoModel source;
  source.Input("x", onnx::TensorProto::DOUBLE, {"2", "3", "4", "5"}).Output("y");
  source.Node("MeanVarianceNormalization", {"x"}, {"y"});
  Model model = source.Read();
  InlineAll(model);
  EXPECT_THAT(Operators(*model.graph), ElementsAre("MeanVarianceNormalization"));
}

TEST(SchemaFunctions, BodiesAreBroughtToTheModelsOpset) {
  // In libonnx's body of MeanVarianceNormalization, ReduceMean has an attribute `axes`. Opset 18 made it an input.
  ProtoModel source(20);
  source.Input("x", kFloat, {"1", "2", "3", "4"}).Output("y");
  source.Node("MeanVarianceNormalization", {"x"}, {"y"});
  Model model = source.Read();
  EXPECT_TRUE(InlineAll(model));
  bool found = false;
  for (const auto& node : model.graph->nodes()) {
    if (!node->Is("ReduceMean")) continue;
    found = true;
    EXPECT_EQ(node->since_version(), 18);
    EXPECT_EQ(node->FindAttribute("axes"), nullptr);
    // It is a constant of the graph, or a Constant node in the body of a newer libonnx.
    const core::ValueDef* axes = node->input(1);
    ASSERT_NE(axes, nullptr);
    EXPECT_TRUE(axes->IsConstant() || (axes->producer() != nullptr && axes->producer()->Is("Constant")));
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(TypeOf(model, "y"), "tensor(float)[1,2,3,4]");
}

TEST(SchemaFunctions, ABodyOfALaterOpsetThanTheModelsIsNotUsed) {
  // Shrink exists since opset 9. Its body in libonnx 1.17 needs Constant and CastLike of opset 15.
  ProtoModel source(9);
  source.Input("x", kFloat, {"2", "3"}).Output("y");
  source.Node("Shrink", {"x"}, {"y"});
  Model model = source.Read();
  InlineAll(model);
  for (const auto& node : model.graph->nodes()) {
    if (node == nullptr) continue;
    EXPECT_EQ(node->since_version(), core::SinceVersion("", node->op_type(), 9)) << node->op_type();
  }
}

}  // namespace
}  // namespace epiphyte::test
