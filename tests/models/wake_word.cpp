// A wake-word classifier over the features of a second of speech: three Gemms on one row with normalizations between
// them. It takes microseconds, so the overhead around its products counts.

#include "tests/models/architectures.h"
#include "tests/models/transformer.h"

namespace epiphyte::test {

onnx::ModelProto BuildWakeWord() {
  constexpr int64_t kFrames = 16, kFeatures = 96, kHidden = 128;
  GraphBuilder graph("wake_word");
  std::string x = graph.Input("features", onnx::TensorProto::FLOAT, {"batch", kFrames, kFeatures});
  const auto gemm = [&](const std::string& name, int64_t in, int64_t out, float deviation) {
    return graph.Node(
        "Gemm", {x, graph.Random(name + ".weight", {out, in}, deviation), graph.Random(name + ".bias", {out}, 0.05f)},
        {{"alpha", 1.0f}, {"beta", 1.0f}, {"transB", 1}});
  };
  x = graph.Node("Flatten", {x}, {{"axis", 1}});
  x = gemm("layer1", kFrames * kFeatures, kHidden, 0.036f);
  x = graph.Node("Relu", {LayerNorm(graph, x, "norm1", kHidden, 1e-5f)});
  x = gemm("layer2", kHidden, kHidden, 0.12f);
  x = graph.Node("Relu", {LayerNorm(graph, x, "norm2", kHidden, 1e-5f)});
  x = graph.Node("Sigmoid", {gemm("last", kHidden, 1, 0.12f)});
  graph.Output(x, "probability", onnx::TensorProto::FLOAT, {"batch", 1});
  return FinishModel(std::move(graph), 11);
}

}  // namespace epiphyte::test
