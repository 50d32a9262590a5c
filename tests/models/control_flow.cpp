// A Loop with carried state, an end decided at run time and a scan output, and an If on a condition known at run time.
// Both read values of the outer scope.

#include "tests/models/architectures.h"
#include "tests/models/builder.h"

namespace epiphyte::test {
namespace {

constexpr int64_t kRows = 4;
constexpr int64_t kColumns = 8;
constexpr auto kFloat = onnx::TensorProto::FLOAT;

// The body grows the state until its largest element exceeds the limit.
onnx::GraphProto LoopBody(const std::string& weight, const std::string& limit) {
  GraphBuilder body("loop_body");
  body.SetScope("/loop");
  body.Input("iteration", onnx::TensorProto::INT64, {});
  body.Input("keep_going", onnx::TensorProto::BOOL, {});
  const std::string state = body.Input("state_in", kFloat, {kRows, kColumns});
  const std::string product = body.Node("MatMul", {state, weight});
  const std::string next = body.Node("Add", {body.Node("Mul", {state, body.FloatConstant(1.25f)}), product});
  const std::string largest = body.Node("ReduceMax", {body.Node("Abs", {next})}, {{"keepdims", 0}});
  const std::string go_on = body.Node("Less", {largest, limit});
  const std::string mean = body.Node("ReduceMean", {next}, {{"axes", std::vector<int64_t>{0}}, {"keepdims", 0}});
  body.Output(go_on, "keep_going_out", onnx::TensorProto::BOOL, {});
  body.Output(next, "state_out", kFloat, {kRows, kColumns});
  body.Output(mean, "mean_out", kFloat, {kColumns});
  return body.Take();
}

onnx::GraphProto ThenBranch(const std::string& state, const std::string& weight) {
  GraphBuilder branch("then_branch");
  branch.SetScope("/then");
  const std::string y = branch.Node("Tanh", {branch.Node("MatMul", {state, weight})});
  branch.Output(y, "then_result", kFloat, {kRows, kColumns});
  return branch.Take();
}

onnx::GraphProto ElseBranch(const std::string& state, const std::string& x) {
  GraphBuilder branch("else_branch");
  branch.SetScope("/else");
  const std::string y = branch.Node("Sub", {branch.Node("Relu", {state}), x});
  branch.Output(y, "else_result", kFloat, {kRows, kColumns});
  return branch.Take();
}

}  // namespace

onnx::ModelProto BuildControlFlow() {
  GraphBuilder graph("control_flow");
  const std::string x = graph.Input("x", kFloat, {kRows, kColumns});
  const std::string weight = graph.Random("weight", {kColumns, kColumns}, 0.1f);
  const std::string limit = graph.Floats("limit", {}, {8.0f});
  const std::vector<std::string> loop = graph.NodeWithOutputs(
      "Loop", {graph.IntConstant(20), graph.BoolConstant(true), x}, 2, {{"body", LoopBody(weight, limit)}});
  const std::string sum = graph.Node("ReduceSum", {x}, {{"keepdims", 0}});
  const std::string positive = graph.Node("Greater", {sum, graph.FloatConstant(0)});
  const std::string result = graph.Node(
      "If", {positive}, {{"then_branch", ThenBranch(loop[0], weight)}, {"else_branch", ElseBranch(loop[0], x)}});
  graph.Output(result, "result", kFloat, {kRows, kColumns});
  graph.Output(loop[1], "means", kFloat, {"iterations", kColumns});
  return FinishModel(std::move(graph), 17);
}

}  // namespace epiphyte::test
