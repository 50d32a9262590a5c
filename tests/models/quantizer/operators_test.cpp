// Each quantized operator makes a QDQ unit for the kit in each form of activations, and results stay close to float's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <ostream>
#include <tuple>

#include "tests/models/quantizer/quantizer_fixture.h"

namespace epiphyte::test {
namespace {

using ::testing::ElementsAreArray;
using Strings = std::vector<std::string>;

struct OperatorCase {
  const char* name;
  std::string (*build)(GraphBuilder& graph, const std::string& x);  // x: shape [1, 8, 6, 6], from a convolution
  Strings units;                                                    // expected units behind that convolution
};

void PrintTo(const OperatorCase& operator_case, std::ostream* stream) { *stream << operator_case.name; }

std::string Product(GraphBuilder& graph, const std::string& op, const std::string& x, const std::string& name,
                    const std::vector<int64_t>& dims, const std::vector<Attribute>& attributes = {}) {
  return graph.Node(op, {x, graph.Random(name, dims, 0.3f)}, attributes);
}

std::string Rows(GraphBuilder& graph, const std::string& x) {
  return graph.Node("Reshape", {x, graph.IntsConstant({8, 36})});
}

std::string Biased(GraphBuilder& graph, const std::string& op, const std::string& x, const std::vector<int64_t>& dims,
                   int64_t channels, const std::vector<Attribute>& attributes) {
  return graph.Node(op, {x, graph.Random("w", dims, 0.3f), graph.Random("b", {channels}, 0.5f)}, attributes);
}

using Ints = std::vector<int64_t>;

const OperatorCase kCases[] = {
    {"Conv",
     [](GraphBuilder& g, const std::string& x) {
       return Product(g, "Conv", x, "w", {4, 8, 3, 3});
     },
     {"Conv"}},
    {"ConvWithBias",
     [](GraphBuilder& g, const std::string& x) {
       return Biased(g, "Conv", x, {4, 8, 3, 3}, 4, {});
     },
     {"Conv"}},
    {"DepthwiseConv",
     [](GraphBuilder& g, const std::string& x) {
       return Biased(g, "Conv", x, {8, 1, 3, 3}, 8, {{"group", 8}});
     },
     {"Conv"}},
    {"ConvTranspose",
     [](GraphBuilder& g, const std::string& x) {
       return Biased(g, "ConvTranspose", x, {8, 4, 3, 3}, 4, {});
     },
     {"ConvTranspose"}},
    {"GroupedConvTranspose",
     [](GraphBuilder& g, const std::string& x) {
       return Biased(g, "ConvTranspose", x, {8, 2, 3, 3}, 4, {{"group", 2}});
     },
     {"ConvTranspose"}},
    {"Gemm",
     [](GraphBuilder& g, const std::string& x) {
       return Biased(g, "Gemm", Rows(g, x), {36, 5}, 5, {});
     },
     {"Reshape", "Gemm"}},
    {"GemmTransposed",
     [](GraphBuilder& g, const std::string& x) {
       return Biased(g, "Gemm", Rows(g, x), {5, 36}, 5, {{"transB", 1}});
     },
     {"Reshape", "Gemm"}},
    {"GemmWithoutBias",
     [](GraphBuilder& g, const std::string& x) {
       return Product(g, "Gemm", Rows(g, x), "w", {36, 5});
     },
     {"Reshape", "Gemm"}},
    {"MatMul",
     [](GraphBuilder& g, const std::string& x) {
       return Product(g, "MatMul", x, "w", {6, 5});
     },
     {"MatMul"}},
    {"MatMulOfActivations",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("MatMul", {x, g.Node("Transpose", {x}, {{"perm", Ints{0, 1, 3, 2}}})});
     },
     {"Transpose", "MatMul"}},
    {"Add",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("Add", {x, x});
     },
     {"Add"}},
    {"AddConstant",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("Add", {g.Random("c", {8, 1, 1}, 1), x});
     },
     {"Add"}},
    {"Sub",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("Sub", {x, g.FloatConstant(0.7f)});
     },
     {"Sub"}},
    {"Mul",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("Mul", {x, x});
     },
     {"Mul"}},
    {"DivByConstantIsMul",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("Div", {x, g.FloatConstant(3)});
     },
     {"Mul"}},
    {"Relu",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("Relu", {g.Node("MaxPool", {x}, {{"kernel_shape", Ints{2, 2}}})});
     },
     {"MaxPool", "Relu"}},
    {"LeakyRelu", [](GraphBuilder& g, const std::string& x) { return g.Node("LeakyRelu", {x}); }, {"LeakyRelu"}},
    {"PRelu",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("PRelu", {x, g.Random("slope", {8, 1, 1}, 0.1f, 0.2f)});
     },
     {"PRelu"}},
    {"Sigmoid", [](GraphBuilder& g, const std::string& x) { return g.Node("Sigmoid", {x}); }, {"Sigmoid"}},
    {"Tanh", [](GraphBuilder& g, const std::string& x) { return g.Node("Tanh", {x}); }, {"Tanh"}},
    {"Erf", [](GraphBuilder& g, const std::string& x) { return g.Node("Erf", {x}); }, {"Erf"}},
    {"HardSwish", [](GraphBuilder& g, const std::string& x) { return g.Node("HardSwish", {x}); }, {"HardSwish"}},
    {"Softmax",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("Softmax", {x}, {{"axis", -1}});
     },
     {"Softmax"}},
    {"LayerNormalization",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("LayerNormalization", {x, g.Random("scale", {6}, 0.2f, 1), g.Random("shift", {6}, 0.3f)});
     },
     {"LayerNormalization"}},
    {"MaxPool",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("MaxPool", {x}, {{"kernel_shape", Ints{2, 2}}});
     },
     {"MaxPool"}},
    {"AveragePool",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("AveragePool", {x}, {{"kernel_shape", Ints{2, 2}}});
     },
     {"AveragePool"}},
    {"GlobalAveragePool",
     [](GraphBuilder& g, const std::string& x) { return g.Node("GlobalAveragePool", {x}); },
     {"GlobalAveragePool"}},
    {"ReduceMean",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("ReduceMean", {x}, {{"axes", Ints{2, 3}}});
     },
     {"ReduceMean"}},
    {"Concat",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("Concat", {x, g.Node("Tanh", {x})}, {{"axis", 1}});
     },
     {"Tanh", "Concat"}},
    {"Split",
     [](GraphBuilder& g, const std::string& x) {
       const Strings halves = g.NodeWithOutputs("Split", {x}, 2, {{"axis", 1}});
       return g.Node("Mul", {halves[0], g.Node("Sigmoid", {halves[1]})});
     },
     {"Split", "Sigmoid", "Mul"}},
    {"Slice",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("Slice", {x, g.IntsConstant({1}), g.IntsConstant({7}), g.IntsConstant({1})});
     },
     {"Slice"}},
    {"Pad",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("Pad", {x, g.IntsConstant({0, 0, 1, 1, 0, 0, 1, 1})});
     },
     {"Pad"}},
    {"Resize",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("Resize", {x, "", g.Floats("scales", {4}, {1, 1, 2, 2})}, {{"mode", "nearest"}});
     },
     {"Resize"}},
    {"Squeezes",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("Unsqueeze", {g.Node("Squeeze", {x, g.IntsConstant({0})}), g.IntsConstant({2})});
     },
     {"Squeeze", "Unsqueeze"}},
    {"Flatten", [](GraphBuilder& g, const std::string& x) { return g.Node("Flatten", {x}); }, {"Flatten"}},
    {"DepthToSpace",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("DepthToSpace", {x}, {{"blocksize", 2}});
     },
     {"DepthToSpace"}},
    {"Gather",
     [](GraphBuilder& g, const std::string& x) {
       return g.Node("Gather", {x, g.IntsConstant({5, 0})}, {{"axis", 1}});
     },
     {"Gather"}},
};

constexpr ActivationForm kForms[] = {{onnx::TensorProto::UINT8, false},
                                     {onnx::TensorProto::UINT8, true},
                                     {onnx::TensorProto::INT8, false},
                                     {onnx::TensorProto::INT8, true}};

onnx::ModelProto ModelOf(const OperatorCase& operator_case) {
  GraphBuilder graph("operator");
  const std::string x = graph.Input("x", onnx::TensorProto::FLOAT, {1, 3, 8, 8});
  const std::string conv = graph.Node("Conv", {x, graph.Random("first", {8, 3, 3, 3}, 0.3f)});
  graph.Output(operator_case.build(graph, conv), "y", onnx::TensorProto::FLOAT, {});
  onnx::ModelProto model = FinishModel(std::move(graph), 17);
  // The output has the shape that inference finds.
  model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  onnx::shape_inference::InferShapes(model);
  model.mutable_graph()->clear_value_info();
  return model;
}

using Parameter = std::tuple<OperatorCase, ActivationForm>;

std::string NameOf(const ::testing::TestParamInfo<Parameter>& info) {
  const ActivationForm& form = std::get<1>(info.param);
  return std::get<0>(info.param).name + std::string(form.type == onnx::TensorProto::INT8 ? "_int8" : "_uint8") +
         (form.symmetric ? "_symmetric" : "");
}

class QuantizedOperator : public ::testing::TestWithParam<Parameter> {
 protected:
  QuantizeOptions Options() const {
    QuantizeOptions options;
    options.activations = std::get<1>(GetParam());
    return options;
  }
  const onnx::ModelProto model_ = ModelOf(std::get<0>(GetParam()));
};

INSTANTIATE_TEST_SUITE_P(Each, QuantizedOperator,
                         ::testing::Combine(::testing::ValuesIn(kCases), ::testing::ValuesIn(kForms)), NameOf);

TEST_P(QuantizedOperator, IsAUnitOfTheKit) {
  Strings expected = std::get<0>(GetParam()).units;
  expected.insert(expected.begin(), "Conv");
  EXPECT_THAT(UnitsOf(Quantized(model_, Options())), ElementsAreArray(expected));
}

TEST_P(QuantizedOperator, PassesTheOnnxChecker) {
  onnx::ModelProto quantized = Quantized(model_, Options());
  EXPECT_NO_THROW(onnx::checker::check_model(quantized));
  EXPECT_NO_THROW(onnx::shape_inference::InferShapes(quantized, onnx::OpSchemaRegistry::Instance(), {true, 1, true}));
}

TEST_P(QuantizedOperator, ComputesNearlyWhatItDid) {
  EXPECT_GT(SignalToNoise(model_, Quantized(model_, Options())), 25);
}

TEST_P(QuantizedOperator, IsTheSameEachTime) {
  EXPECT_EQ(Quantized(model_, Options()).SerializeAsString(), Quantized(model_, Options()).SerializeAsString());
}

}  // namespace
}  // namespace epiphyte::test
