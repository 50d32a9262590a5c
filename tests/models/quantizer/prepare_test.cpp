#include "tests/models/rewrite/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/checker.h>

#include "tests/models/quantizer/quantizer_fixture.h"
#include "tests/models/vision.h"

namespace epiphyte::test {
namespace {

using ::testing::ElementsAre;

onnx::ModelProto Prepared(const onnx::ModelProto& model) {
  ModelFile file{model, {}};
  PrepareForQuantization(&file);
  EXPECT_NO_THROW(onnx::checker::check_model(file.model));
  return file.model;
}

std::vector<std::string> OperatorsOf(const onnx::ModelProto& model) {
  std::vector<std::string> names;
  for (const onnx::NodeProto& node : model.graph().node()) names.push_back(node.op_type());
  return names;
}

// A layer normalization in pieces, as PyTorch exports it.
onnx::ModelProto LayerNormInPieces(int opset, bool mean_is_read_elsewhere = false) {
  GraphBuilder graph("pieces");
  const std::string x = graph.Input("x", onnx::TensorProto::FLOAT, {2, 16});
  const std::vector<int64_t> last = {-1};
  const std::string mean = graph.Node("ReduceMean", {x}, {{"axes", last}});
  const std::string centred = graph.Node("Sub", {x, mean});
  const std::string square = graph.Node("Pow", {centred, graph.FloatConstant(2)});
  const std::string variance = graph.Node("ReduceMean", {square}, {{"axes", last}});
  const std::string root = graph.Node("Sqrt", {graph.Node("Add", {variance, graph.FloatConstant(1e-5f)})});
  const std::string scaled =
      graph.Node("Mul", {graph.Node("Div", {centred, root}), graph.Random("weight", {16}, 0.1f, 1)});
  graph.Output(graph.Node("Add", {scaled, graph.Random("bias", {16}, 0.1f)}), "y", onnx::TensorProto::FLOAT, {2, 16});
  if (mean_is_read_elsewhere) graph.Output(graph.Node("Neg", {mean}), "z", onnx::TensorProto::FLOAT, {2, 1});
  return FinishModel(std::move(graph), opset);
}

onnx::ModelProto Normalised(bool bias, bool conv_is_output) {
  GraphBuilder graph("normalised");
  const std::string x = graph.Input("x", onnx::TensorProto::FLOAT, {1, 3, 8, 8});
  const std::string conv = Conv(graph, x, "conv", {.in = 3, .out = 4, .kernel = 3}, bias);
  graph.Output(BatchNorm(graph, conv, "bn", 4), "y", onnx::TensorProto::FLOAT, {1, 4, 6, 6});
  if (conv_is_output) graph.Output(conv, "z", onnx::TensorProto::FLOAT, {1, 4, 6, 6});
  return FinishModel(std::move(graph), 17);
}

TEST(Prepare, FoldsNormalisationIntoTheConvolution) {
  for (const bool bias : {false, true}) {
    const onnx::ModelProto model = Normalised(bias, false);
    const onnx::ModelProto prepared = Prepared(model);
    EXPECT_THAT(OperatorsOf(prepared), ElementsAre("Conv"));
    EXPECT_GT(SignalToNoise(model, prepared), 100);
    EXPECT_EQ(FindInitializer(prepared, "conv.weight"), nullptr);
  }
}

TEST(Prepare, KeepsANormalizationIfItsInputHasAnotherReader) {
  EXPECT_THAT(OperatorsOf(Prepared(Normalised(true, true))), ElementsAre("Conv", "BatchNormalization"));
}

TEST(Prepare, MakesOneLayerNormalizationOfThePieces) {
  const onnx::ModelProto model = LayerNormInPieces(14);
  const onnx::ModelProto prepared = Prepared(model);
  EXPECT_THAT(OperatorsOf(prepared), ElementsAre("LayerNormalization"));
  EXPECT_EQ(prepared.opset_import(0).version(), 17);
  EXPECT_GT(SignalToNoise(model, prepared), 100);
}

TEST(Prepare, LeavesPiecesThatOthersReadToo) {
  const onnx::ModelProto prepared = Prepared(LayerNormInPieces(14, true));
  EXPECT_EQ(CountNodes(prepared, "LayerNormalization"), 0);
  EXPECT_EQ(prepared.opset_import(0).version(), 14);
}

TEST(Prepare, DoesNotRaiseAnOpsetBelow13) {
  EXPECT_EQ(CountNodes(Prepared(LayerNormInPieces(12)), "LayerNormalization"), 0);
}

TEST(Prepare, MultipliesInsteadOfDividingByAConstant) {
  GraphBuilder graph("division");
  const std::string x = graph.Input("x", onnx::TensorProto::FLOAT, {4});
  const std::string quotient = graph.Node("Div", {x, graph.FloatConstant(8)});
  graph.Output(graph.Node("Div", {graph.FloatConstant(1), quotient}), "y", onnx::TensorProto::FLOAT, {4});
  const onnx::ModelProto model = FinishModel(std::move(graph), 17);
  const onnx::ModelProto prepared = Prepared(model);
  EXPECT_THAT(OperatorsOf(prepared), ElementsAre("Mul", "Div"));
  EXPECT_GT(SignalToNoise(model, prepared), 100);
}

}  // namespace
}  // namespace epiphyte::test
