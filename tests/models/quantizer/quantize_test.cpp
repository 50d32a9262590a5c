// The rules of the quantized graph, each on a graph that is small enough to be read.

#include "tests/models/quantizer/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/checker.h>

#include <cstring>
#include <set>
#include <stdexcept>
#include <string>

#include "tests/models/quantizer/quantizer_fixture.h"
#include "tests/models/rewrite/graph_index.h"

namespace epiphyte::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kFloat = onnx::TensorProto::FLOAT;
constexpr QuantizeOptions kSymmetric = {.activations = {onnx::TensorProto::INT8, true}};

// A graph with one input x of shape [1, 4, 6, 6]. Its convolutions keep that shape.
class SmallGraph {
 public:
  SmallGraph() : graph_("small"), x_(graph_.Input("x", kFloat, {1, 4, 6, 6})) {}

  const std::string& x() const { return x_; }
  std::string Weights(const std::string& name) { return graph_.Random(name, {4, 4, 1, 1}, 0.5f); }
  std::string Conv(const std::string& x, const std::string& name) { return graph_.Node("Conv", {x, Weights(name)}); }
  std::string Node(const std::string& op_type, const std::vector<std::string>& inputs,
                   const std::vector<Attribute>& attributes = {}) {
    return graph_.Node(op_type, inputs, attributes);
  }
  GraphBuilder& builder() { return graph_; }
  void Output(const std::string& value, const std::string& name) { graph_.Output(value, name, kFloat, {1, 4, 6, 6}); }
  onnx::ModelProto Model(int opset = 17) { return FinishModel(std::move(graph_), opset); }

 private:
  GraphBuilder graph_;
  std::string x_;
};

std::vector<const onnx::NodeProto*> ReadersOf(const onnx::ModelProto& model, const std::string& value) {
  const GraphIndex index(model.graph());
  std::vector<const onnx::NodeProto*> readers;
  for (const int n : index.Readers(value)) readers.push_back(&index.node(n));
  return readers;
}

// Return the QuantizeLinear behind a node, and the DequantizeLinear in front of one of its inputs.
const onnx::NodeProto& QuantizeBehind(const onnx::ModelProto& model, const onnx::NodeProto& node) {
  return *ReadersOf(model, node.output(0)).at(0);
}
const onnx::NodeProto& DequantizeBefore(const onnx::ModelProto& model, const onnx::NodeProto& node, int input) {
  return *ProducerOf(model, node.input(input));
}

template <typename T>
std::vector<T> Elements(const onnx::ModelProto& model, const std::string& name) {
  const std::string& raw = FindInitializer(model, name)->raw_data();
  std::vector<T> elements(raw.size() / sizeof(T));
  std::memcpy(elements.data(), raw.data(), raw.size());
  return elements;
}

// --- borders

TEST(Quantize, OutputsOfTheGraphStayFloatUnderTheirNames) {
  SmallGraph graph;
  graph.Output(graph.Conv(graph.x(), "w"), "y");
  const onnx::ModelProto quantized = Quantized(graph.Model());
  EXPECT_EQ(quantized.graph().output(0).name(), "y");
  EXPECT_EQ(ProducerOf(quantized, "y")->op_type(), "DequantizeLinear");
  EXPECT_EQ(QuantizeBehind(quantized, *FirstNode(quantized, "Conv")).op_type(), "QuantizeLinear");
}

TEST(Quantize, AnOutputThatIsReadToo) {
  SmallGraph graph;
  const std::string middle = graph.Conv(graph.x(), "w1");
  graph.Output(graph.Conv(middle, "w2"), "y");
  graph.Output(middle, "middle");
  const onnx::ModelProto model = graph.Model();
  const onnx::ModelProto quantized = Quantized(model);
  EXPECT_THAT(UnitsOf(quantized), ElementsAre("Conv", "Conv"));
  EXPECT_GT(SignalToNoise(model, quantized), 25);
}

// ONNX Runtime refuses models in which two nodes have the same name.
TEST(Quantize, NoTwoNodesHaveOneName) {
  SmallGraph graph;
  const std::string middle = graph.Conv(graph.x(), "w1");
  graph.Output(graph.Conv(middle, "w2"), "y");
  graph.Output(middle, "middle");
  const onnx::ModelProto quantized = Quantized(graph.Model());
  std::set<std::string> names;
  for (const onnx::NodeProto& node : quantized.graph().node())
    EXPECT_TRUE(node.name().empty() || names.insert(node.name()).second) << node.name();
}

TEST(Quantize, AnInputThatTwoOperatorsReadIsQuantisedOnce) {
  SmallGraph graph;
  graph.Output(graph.Node("Add", {graph.Conv(graph.x(), "w1"), graph.Conv(graph.x(), "w2")}), "y");
  const onnx::ModelProto quantized = Quantized(graph.Model());
  ASSERT_EQ(ReadersOf(quantized, "x").size(), 1u);
  EXPECT_EQ(ReadersOf(quantized, "x")[0]->op_type(), "QuantizeLinear");
  EXPECT_THAT(UnitsOf(quantized), ElementsAre("Conv", "Conv", "Add"));
}

TEST(Quantize, WhatReadsAValueInFloatHasItsOwnDequantize) {
  SmallGraph graph;
  const std::string x = graph.Conv(graph.x(), "w1");
  graph.Output(graph.Conv(x, "w2"), "y");
  graph.Output(graph.Node("Sin", {graph.Conv(graph.x(), "w3")}), "z");
  graph.Output(graph.Node("Sqrt", {x}), "root");
  const onnx::ModelProto quantized = Quantized(graph.Model());
  EXPECT_THAT(UnitsOf(quantized), ElementsAre("Conv", "Conv", "float Conv", "float Sin", "float Sqrt"));
  EXPECT_EQ(DequantizeBefore(quantized, *FirstNode(quantized, "Sqrt"), 0).op_type(), "DequantizeLinear");
  EXPECT_EQ(ReadersOf(quantized, FirstNode(quantized, "Sqrt")->input(0)).size(), 1u);
}

TEST(Quantize, AValueThatABodyReadsKeepsItsName) {
  SmallGraph graph;
  const std::string x = graph.Conv(graph.x(), "w");
  GraphBuilder body("body");
  body.Output(body.Node("Identity", {x}), "taken", kFloat, {1, 4, 6, 6});
  const onnx::GraphProto branch = body.Take();
  graph.Output(
      graph.Node("If", {graph.builder().BoolConstant(true)}, {{"then_branch", branch}, {"else_branch", branch}}), "y");
  graph.Output(graph.Node("Relu", {x}), "z");
  const onnx::ModelProto model = graph.Model();
  EXPECT_GT(SignalToNoise(model, Quantized(model)), 25);
}

// --- sharing

TEST(Quantize, EachReaderOfAValueHasItsOwnDequantize) {
  SmallGraph graph;
  const std::string x = graph.Conv(graph.x(), "w1");
  graph.Output(graph.Node("Add", {x, graph.Conv(x, "w2")}), "y");
  const onnx::ModelProto model = graph.Model();
  const onnx::ModelProto quantized = Quantized(model);
  const onnx::NodeProto& quantize = QuantizeBehind(quantized, *FirstNode(quantized, "Conv"));
  EXPECT_EQ(ReadersOf(quantized, quantize.output(0)).size(), 2u);

  QuantizeOptions shared;
  shared.dedicated_dequantize = false;
  const onnx::ModelProto with_shared = Quantized(model, shared);
  const onnx::NodeProto& same = QuantizeBehind(with_shared, *FirstNode(with_shared, "Conv"));
  ASSERT_EQ(ReadersOf(with_shared, same.output(0)).size(), 1u);
  EXPECT_EQ(ReadersOf(with_shared, ReadersOf(with_shared, same.output(0))[0]->output(0)).size(), 2u);
}

TEST(Quantize, WeightsOfTwoOperatorsAreStoredOnce) {
  SmallGraph graph;
  const std::string w = graph.Weights("w");
  graph.Output(graph.Node("Conv", {graph.Node("Conv", {graph.x(), w}), w}), "y");
  const onnx::ModelProto quantized = Quantized(graph.Model());
  EXPECT_EQ(ReadersOf(quantized, "w_quantized").size(), 2u);
  EXPECT_EQ(FindInitializer(quantized, "w"), nullptr);
  EXPECT_EQ(FindInitializer(quantized, "w_quantized_1"), nullptr);
}

TEST(Quantize, ATableThatIsGatheredFromStaysFloatWhereItIsRead) {
  GraphBuilder graph("tied");
  const std::string x = graph.Input("x", kFloat, {2, 8});
  const std::string table = graph.Random("table", {8, 8}, 0.5f);
  const std::string rows = graph.Node("Gather", {table, graph.IntsConstant({1, 3})});
  const std::string scores = graph.Node("MatMul", {x, table});
  graph.Output(rows, "rows", kFloat, {2, 8});
  graph.Output(scores, "scores", kFloat, {2, 8});
  const onnx::ModelProto quantized = Quantized(FinishModel(std::move(graph), 17));
  EXPECT_THAT(UnitsOf(quantized), ElementsAre("float Gather", "MatMul"));
  EXPECT_NE(FindInitializer(quantized, "table"), nullptr);
  EXPECT_NE(FindInitializer(quantized, "table_quantized"), nullptr);
}

// --- scales

TEST(Quantize, WeightsHaveAScaleForEachChannelUnlessAskedOtherwise) {
  SmallGraph graph;
  graph.Output(graph.Conv(graph.x(), "w"), "y");
  const onnx::ModelProto model = graph.Model();
  EXPECT_EQ(Elements<float>(Quantized(model), "w_scale").size(), 4u);
  QuantizeOptions options;
  options.per_channel = false;
  EXPECT_EQ(Elements<float>(Quantized(model, options), "w_scale").size(), 1u);
}

TEST(Quantize, BiasesAreCountedInStepsOfInputAndWeights) {
  SmallGraph graph;
  const std::string bias = graph.builder().Random("b", {4}, 1);
  graph.Output(graph.Node("Conv", {graph.x(), graph.Weights("w"), bias}), "y");
  const onnx::ModelProto model = graph.Model();
  const onnx::ModelProto quantized = Quantized(model);
  const float x = LinearOf(quantized, *FirstNode(quantized, "QuantizeLinear")).scale;
  const auto weights = Elements<float>(quantized, "w_scale");
  const auto steps = Elements<float>(quantized, "b_quantized_scale");
  const auto floats = Elements<float>(model, "b");
  const auto numbers = Elements<int32_t>(quantized, "b_quantized");
  ASSERT_EQ(numbers.size(), 4u);
  for (size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(steps[c], x * weights[c]);
    EXPECT_NEAR(static_cast<float>(numbers[c]) * steps[c], floats[c], steps[c]);
  }
}

TEST(Quantize, ABiasBeyondInt32MakesItsChannelCoarser) {
  SmallGraph graph;
  const std::string bias = graph.builder().Floats("b", {4}, {1e9f, 0, 0, 0});
  const std::string weights = graph.builder().Floats("w", {4, 4, 1, 1}, std::vector<float>(16, 1e-6f));
  graph.Output(graph.Node("Conv", {graph.x(), weights, bias}), "y");
  const onnx::ModelProto quantized = Quantized(graph.Model());
  EXPECT_NEAR(Elements<int32_t>(quantized, "b_quantized")[0], 1 << 30, 1 << 8);
  EXPECT_GT(Elements<float>(quantized, "w_scale")[0], Elements<float>(quantized, "w_scale")[1] * 1000);
}

TEST(Quantize, WhatMovesElementsHasTheScaleOfWhatItMoves) {
  SmallGraph graph;
  std::string y = graph.Conv(graph.x(), "w1");
  y = graph.Node("MaxPool", {y},
                 {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  y = graph.Node("Transpose", {y}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  graph.Output(graph.Conv(y, "w2"), "y");
  const onnx::ModelProto quantized = Quantized(graph.Model());
  const std::string& scale = QuantizeBehind(quantized, *FirstNode(quantized, "Conv")).input(1);
  EXPECT_EQ(QuantizeBehind(quantized, *FirstNode(quantized, "MaxPool")).input(1), scale);
  EXPECT_EQ(QuantizeBehind(quantized, *FirstNode(quantized, "Transpose")).input(1), scale);
}

TEST(Quantize, InputsOfConcatHaveTheirOwnScales) {
  SmallGraph graph;
  const std::string x = graph.Conv(graph.x(), "w");
  const std::string both = graph.Node("Concat", {x, graph.Node("Sigmoid", {x})}, {{"axis", 1}});
  graph.Output(graph.Node("Slice", {both, graph.builder().IntsConstant({0}), graph.builder().IntsConstant({4}),
                                    graph.builder().IntsConstant({1})}),
               "y");
  const onnx::ModelProto quantized = Quantized(graph.Model());
  const onnx::NodeProto& concat = *FirstNode(quantized, "Concat");
  EXPECT_NE(LinearOf(quantized, DequantizeBefore(quantized, concat, 0)).scale,
            LinearOf(quantized, DequantizeBefore(quantized, concat, 1)).scale);
}

TEST(Quantize, PercentilesGiveUpOutliers) {
  SmallGraph graph;
  // Ninth powers are mostly small, but large at both ends of the range.
  graph.Output(graph.Node("MatMul", {graph.Node("Pow", {graph.x(), graph.builder().FloatConstant(9)}),
                                     graph.builder().Random("w", {6, 6}, 0.5f)}),
               "y");
  const onnx::ModelProto model = graph.Model();
  QuantizeOptions options;
  options.calibration = Calibration::kPercentile;
  options.percentile = 90;
  const onnx::ModelProto all = Quantized(model), most = Quantized(model, options);
  EXPECT_LT(LinearOf(most, *FirstNode(most, "QuantizeLinear")).scale,
            LinearOf(all, *FirstNode(all, "QuantizeLinear")).scale * 0.8f);
}

// --- Relu and Clip

TEST(Quantize, AReluGoesIntoTheRange) {
  SmallGraph graph;
  graph.Output(graph.Node("Relu", {graph.Conv(graph.x(), "w")}), "y");
  const onnx::ModelProto model = graph.Model();
  const onnx::ModelProto quantized = Quantized(model);
  EXPECT_EQ(CountNodes(quantized, "Relu"), 0);
  EXPECT_EQ(LinearOf(quantized, QuantizeBehind(quantized, *FirstNode(quantized, "Conv"))).zero_point, 0);
  EXPECT_GT(SignalToNoise(model, quantized), 25);
}

TEST(Quantize, AReluStaysInTheUnitWhereTheRangeHasNegativeNumbers) {
  SmallGraph graph;
  graph.Output(graph.Node("Relu", {graph.Conv(graph.x(), "w")}), "y");
  const onnx::ModelProto model = graph.Model();
  const onnx::ModelProto quantized = Quantized(model, kSymmetric);
  ASSERT_EQ(ReadersOf(quantized, FirstNode(quantized, "Conv")->output(0)).at(0)->op_type(), "Relu");
  EXPECT_EQ(QuantizeBehind(quantized, *FirstNode(quantized, "Relu")).op_type(), "QuantizeLinear");
  EXPECT_THAT(UnitsOf(quantized), ElementsAre("Conv"));
  EXPECT_GT(SignalToNoise(model, quantized), 25);
}

TEST(Quantize, AClipGoesWhereTheRangeEndsWithin) {
  SmallGraph graph;
  const std::string x = graph.Conv(graph.x(), "w");
  graph.Output(graph.Node("Clip", {x, graph.builder().FloatConstant(0), graph.builder().FloatConstant(0.5f)}), "y");
  const onnx::ModelProto model = graph.Model();
  const onnx::ModelProto quantized = Quantized(model);
  EXPECT_EQ(CountNodes(quantized, "Clip"), 0);
  EXPECT_FLOAT_EQ(LinearOf(quantized, QuantizeBehind(quantized, *FirstNode(quantized, "Conv"))).scale, 0.5f / 255);
  EXPECT_GT(SignalToNoise(model, quantized), 25);
}

TEST(Quantize, AReluBesideAnotherReaderIsAUnit) {
  SmallGraph graph;
  const std::string x = graph.Conv(graph.x(), "w");
  graph.Output(graph.Node("Add", {x, graph.Node("Relu", {x})}), "y");
  EXPECT_THAT(UnitsOf(Quantized(graph.Model())), ElementsAre("Conv", "Relu", "Add"));
}

// --- what stays float

TEST(Quantize, ArithmeticOfShapesStaysAsItIs) {
  SmallGraph graph;
  const std::string x = graph.Conv(graph.x(), "w");
  const std::string shape = graph.Node(
      "Concat",
      {graph.builder().IntsConstant({1, 4}),
       graph.Node("Slice",
                  {graph.Node("Shape", {x}), graph.builder().IntsConstant({2}), graph.builder().IntsConstant({4})})},
      {{"axis", 0}});
  graph.Output(graph.Node("Reshape", {x, shape}), "y");
  EXPECT_THAT(UnitsOf(Quantized(graph.Model())),
              ElementsAre("Conv", "float Shape", "float Slice", "float Concat", "Reshape"));
}

TEST(Quantize, RootMeanSquaresStayFloatBetweenProducts) {
  SmallGraph graph;
  const std::string x = graph.Node("Add", {graph.x(), graph.Conv(graph.x(), "w1")});
  const std::string square = graph.Node("Pow", {x, graph.builder().FloatConstant(2)});
  const std::string mean = graph.Node("ReduceMean", {square}, {{"axes", std::vector<int64_t>{-1}}});
  const std::string root = graph.Node("Sqrt", {graph.Node("Add", {mean, graph.builder().FloatConstant(1e-5f)})});
  graph.Output(graph.Conv(graph.Node("Mul", {x, graph.Node("Reciprocal", {root})}), "w2"), "y");
  EXPECT_THAT(UnitsOf(Quantized(graph.Model())),
              ElementsAre("Conv", "float Add", "float Pow", "float ReduceMean", "float Add", "float Sqrt",
                          "float Reciprocal", "float Mul", "Conv"));
}

TEST(Quantize, RotationsStayFloatWithWhatLeadsToThem) {
  SmallGraph graph;
  const std::string angle = graph.Node("MatMul", {graph.x(), graph.builder().Random("frequency", {6, 6}, 1)});
  const std::string x =
      graph.Node("Transpose", {graph.Conv(graph.x(), "w1")}, {{"perm", std::vector<int64_t>{0, 1, 2, 3}}});
  const std::string turned = graph.Node("Mul", {graph.Node("Neg", {x}), graph.Node("Sin", {angle})});
  graph.Output(graph.Conv(turned, "w2"), "y");
  EXPECT_THAT(UnitsOf(Quantized(graph.Model())),
              ElementsAre("float MatMul", "Conv", "float Transpose", "float Neg", "float Sin", "float Mul", "Conv"));
}

// A model that masks two of six positions.
onnx::ModelProto Masked() {
  GraphBuilder graph("masked");
  const std::string x = graph.Input("x", kFloat, {1, 6, 6});
  const std::string scores = graph.Node("MatMul", {x, graph.Random("w", {6, 6}, 0.5f)});
  const std::string allowed = graph.Floats("allowed", {6}, {1, 1, 1, 1, 0, 0});
  const std::string input = graph.Node("Mul", {x, graph.FloatConstant(0)});
  const std::string some = graph.Node("Sub", {graph.FloatConstant(1), graph.Node("Add", {input, allowed})});
  const std::string mask = graph.Node("Mul", {some, graph.FloatConstant(-3.4028235e38f)});
  graph.Output(graph.Node("Softmax", {graph.Node("Add", {scores, mask})}, {{"axis", -1}}), "y", kFloat, {1, 6, 6});
  return FinishModel(std::move(graph), 17);
}

TEST(Quantize, MasksAreMadeInFloatAndSaturateTheScores) {
  const onnx::ModelProto model = Masked();
  for (const QuantizeOptions& options : {QuantizeOptions{}, kSymmetric}) {
    const onnx::ModelProto quantized = Quantized(model, options);
    EXPECT_THAT(UnitsOf(quantized),
                ElementsAre("MatMul", "float Mul", "float Add", "float Sub", "float Mul", "Add", "Softmax"));
    const std::vector<float> y = RunModel(quantized, RandomSample(model, 100)).at("y");
    for (size_t row = 0; row < 6; ++row) {
      EXPECT_EQ(y[row * 6 + 4], 0);
      EXPECT_EQ(y[row * 6 + 5], 0);
    }
    EXPECT_GT(SignalToNoise(model, quantized), 22);
  }
}

// --- refusals

TEST(Quantize, RefusesAModelWithoutScalesForChannels) {
  SmallGraph graph;
  graph.Output(graph.Conv(graph.x(), "w"), "y");
  const onnx::ModelProto model = graph.Model(12);
  try {
    Quantized(model);
    ADD_FAILURE() << "it was quantised";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("opset 12"));
  }
}

TEST(Quantize, RefusesToCalibrateWithNothing) {
  SmallGraph graph;
  graph.Output(graph.Conv(graph.x(), "w"), "y");
  EXPECT_THROW(QuantizeModel({graph.Model(), "."}, {}, {}), std::invalid_argument);
}

}  // namespace
}  // namespace epiphyte::test
