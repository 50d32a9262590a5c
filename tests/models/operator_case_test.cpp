#include "tests/models/operators/operator_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>

#include <map>
#include <set>
#include <string>
#include <unordered_map>

namespace epiphyte::test {
namespace {

TEST(OperatorCases, AreManyAndEachHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const OperatorCase& one : OperatorCases()) EXPECT_TRUE(names.insert(one.name).second) << one.name;
  EXPECT_GE(names.size(), 400u);
}

const OperatorCase& CaseOf(const std::vector<OperatorCase>& cases, std::string_view name) {
  for (const OperatorCase& one : cases) {
    if (one.name == name) return one;
  }
  throw std::invalid_argument("no case " + std::string(name));
}

// Checks nodes with the ONNX checker, and types with inference. A check of the whole model would require shapes of the
// outputs, which these models lack.
void Check(onnx::ModelProto model) {
  onnx::checker::CheckerContext context;
  context.set_ir_version(static_cast<int>(model.ir_version()));
  std::unordered_map<std::string, int> opsets;
  for (const onnx::OperatorSetIdProto& import : model.opset_import())
    opsets[import.domain()] = static_cast<int>(import.version());
  context.set_opset_imports(opsets);
  onnx::checker::LexicalScopeContext scope;
  for (const onnx::NodeProto& node : model.graph().node()) onnx::checker::check_node(node, context, scope);
  onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), {true, 1, false});
}

bool IsKnownToLibonnx(const onnx::ModelProto& model) {
  const auto& newest = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  for (const onnx::OperatorSetIdProto& import : model.opset_import()) {
    const auto range = newest.find(import.domain());
    if (range == newest.end() || import.version() > range->second.second) return false;
  }
  for (const onnx::NodeProto& node : model.graph().node()) {
    if (onnx::OpSchemaRegistry::Schema(node.op_type(), 17, node.domain()) == nullptr) return false;
  }
  return true;
}

// Only the smallest size of each row is checked, because the sizes differ in numbers only.
TEST(OperatorCases, PassTheOnnxCheckerWhereItKnowsThem) {
  int checked = 0;
  for (const OperatorCase& one : OperatorCases()) {
    if (one.size != 2) continue;
    const OperatorModel made = MakeOperatorModel(one);
    EXPECT_EQ(made.inputs.size(), static_cast<size_t>(made.model.graph().input_size())) << one.name;
    if (!IsKnownToLibonnx(made.model)) continue;
    EXPECT_NO_THROW(Check(made.model)) << one.name;
    ++checked;
  }
  EXPECT_GT(checked, 200);
}

TEST(OperatorCases, AreTheSameBytesEachTime) {
  const std::vector<OperatorCase> cases = OperatorCases();
  const OperatorCase& one = CaseOf(cases, "MatMul#row/float16/1x64_64x1000");
  const OperatorModel first = MakeOperatorModel(one), second = MakeOperatorModel(one);
  EXPECT_EQ(first.model.SerializeAsString(), second.model.SerializeAsString());
  EXPECT_EQ(first.inputs[0].SerializeAsString(), second.inputs[0].SerializeAsString());
}

TEST(OperatorCases, HaveTheRowsTypesAttributesAndInitializers) {
  const std::vector<OperatorCase> cases = OperatorCases();
  const OperatorModel made = MakeOperatorModel(CaseOf(cases, "Gemm/double/1x2048_1000x2048"));
  const onnx::GraphProto& graph = made.model.graph();
  ASSERT_EQ(graph.node_size(), 1);
  EXPECT_EQ(graph.node(0).op_type(), "Gemm");
  ASSERT_EQ(graph.node(0).attribute_size(), 1);
  EXPECT_EQ(graph.node(0).attribute(0).name(), "transB");
  EXPECT_EQ(graph.node(0).attribute(0).i(), 1);
  ASSERT_EQ(made.inputs.size(), 1u);
  EXPECT_EQ(made.inputs[0].data_type(), onnx::TensorProto::DOUBLE);
  EXPECT_EQ(made.inputs[0].raw_data().size(), 2048 * sizeof(double));
  ASSERT_EQ(graph.initializer_size(), 2);
  EXPECT_EQ(graph.initializer(0).dims(0), 1000);
}

TEST(OperatorCases, QuantisedOnesStandBetweenDequantizeAndQuantize) {
  const std::vector<OperatorCase> cases = OperatorCases();
  const OperatorModel made = MakeOperatorModel(CaseOf(cases, "QDQ/Conv#1x1/uint8/1x24x56x56_144x24x1x1"));
  std::map<std::string, int> operators;
  for (const onnx::NodeProto& node : made.model.graph().node()) ++operators[node.op_type()];
  EXPECT_EQ(operators, (std::map<std::string, int>{{"Conv", 1}, {"DequantizeLinear", 3}, {"QuantizeLinear", 1}}));
  EXPECT_EQ(made.inputs[0].data_type(), onnx::TensorProto::UINT8);
}

}  // namespace
}  // namespace epiphyte::test
