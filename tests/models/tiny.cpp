// Models that measure the overhead of the runtime: their nodes are so small that their own work is negligible.

#include <algorithm>

#include "tests/models/architectures.h"
#include "tests/models/builder.h"

namespace epiphyte::test {

onnx::ModelProto BuildTinyAdd() {
  GraphBuilder graph("tiny_add");
  const std::string x = graph.Input("x", onnx::TensorProto::FLOAT, {4});
  const std::string y = graph.Input("y", onnx::TensorProto::FLOAT, {4});
  graph.Output(graph.Node("Add", {x, y}), "z", onnx::TensorProto::FLOAT, {4});
  return FinishModel(std::move(graph), 17);
}

// Mul and Add alternate, so that no rewrite shortens the chain. All nodes share 16 constants: with a constant for each
// node, ONNX Runtime takes time quadratic in the chain's length, and a comparison would measure only that.
onnx::ModelProto BuildChain(int64_t node_count) {
  constexpr int64_t kConstants = 16;
  GraphBuilder graph("chain_" + std::to_string(node_count));
  std::string x = graph.Input("x", onnx::TensorProto::FLOAT, {4});
  std::vector<std::string> constants;
  for (int64_t i = 0; i < std::min(kConstants, node_count); ++i) {
    const bool factor = i % 2 == 0;
    constants.push_back(graph.Random("c" + std::to_string(i), {4}, factor ? 0.01f : 0.1f, factor ? 0.998f : 0.0f));
  }
  for (int64_t i = 0; i < node_count; ++i) {
    x = graph.Node(i % 2 == 0 ? "Mul" : "Add", {x, constants[static_cast<size_t>(i % kConstants)]});
  }
  graph.Output(x, "y", onnx::TensorProto::FLOAT, {4});
  return FinishModel(std::move(graph), 17);
}

}  // namespace epiphyte::test
