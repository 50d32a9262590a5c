// ResNet-50 (v1.5: the stride is in the 3x3 convolution) with its batch normalizations, as in the ONNX model zoo.

#include "tests/models/architectures.h"
#include "tests/models/vision.h"

namespace epiphyte::test {
namespace {

constexpr int64_t kExpansion = 4;
// Gain of the last normalization of a block. It scales the branch down, so that sixteen residual sums stay in range.
constexpr float kBranchGain = 0.3f;

std::string Bottleneck(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t in, int64_t width,
                       int64_t stride) {
  graph.SetScope("/" + name);
  const int64_t out = width * kExpansion;
  std::string y = Conv(graph, x, name + ".conv1", {.in = in, .out = width}, false);
  y = graph.Node("Relu", {BatchNorm(graph, y, name + ".bn1", width)});
  y = Conv(graph, y, name + ".conv2", {.in = width, .out = width, .kernel = 3, .stride = stride, .padding = 1}, false);
  y = graph.Node("Relu", {BatchNorm(graph, y, name + ".bn2", width)});
  y = Conv(graph, y, name + ".conv3", {.in = width, .out = out}, false);
  y = BatchNorm(graph, y, name + ".bn3", out, kBranchGain);

  std::string shortcut = x;
  if (stride != 1 || in != out) {
    shortcut = Conv(graph, x, name + ".downsample.0", {.in = in, .out = out, .stride = stride}, false);
    shortcut = BatchNorm(graph, shortcut, name + ".downsample.1", out);
  }
  return graph.Node("Relu", {graph.Node("Add", {y, shortcut})});
}

}  // namespace

onnx::ModelProto BuildResNet50() {
  GraphBuilder graph("resnet50");
  std::string x = graph.Input("image", onnx::TensorProto::FLOAT, {1, 3, 224, 224});
  x = Conv(graph, x, "conv1", {.in = 3, .out = 64, .kernel = 7, .stride = 2, .padding = 3}, false);
  x = graph.Node("Relu", {BatchNorm(graph, x, "bn1", 64)});
  x = MaxPool(graph, x, 3, 2, 1);

  const int64_t depths[] = {3, 4, 6, 3};
  int64_t channels = 64;
  for (int64_t stage = 0; stage < 4; ++stage) {
    const int64_t width = 64 << stage;
    for (int64_t block = 0; block < depths[stage]; ++block) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
      x = Bottleneck(graph, x, name, channels, width, stage > 0 && block == 0 ? 2 : 1);
      channels = width * kExpansion;
    }
  }
  graph.SetScope("");
  x = Classifier(graph, graph.Node("GlobalAveragePool", {x}), "fc", channels, 1000);
  graph.Output(x, "logits", onnx::TensorProto::FLOAT, {1, 1000});
  return FinishModel(std::move(graph), 17);
}

}  // namespace epiphyte::test
