// EfficientNet-B0: inverted residuals with squeeze and excitation, kernels of 3 and 5, and SiLU, which exporters write
// as Sigmoid and Mul.

#include "tests/models/architectures.h"
#include "tests/models/vision.h"

namespace epiphyte::test {
namespace {

struct Stage {
  int64_t expansion, kernel, stride, channels, repeats;
};
constexpr Stage kStages[] = {{1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3},
                             {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1}};
// SiLU weakens a signal more than ReLU does, for which the deviations of the weights are chosen; this gain compensates.
constexpr float kSiluGain = 1.1f;

std::string Silu(GraphBuilder& graph, const std::string& x) {
  return graph.Node("Mul", {x, graph.Node("Sigmoid", {x})});
}

std::string ConvBnSilu(GraphBuilder& graph, const std::string& x, const std::string& name, const ConvShape& shape) {
  const std::string y = Conv(graph, x, name + ".0", shape, false);
  return Silu(graph, BatchNorm(graph, y, name + ".1", shape.out, kSiluGain));
}

std::string SqueezeExcitation(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t channels,
                              int64_t squeezed) {
  std::string y = graph.Node("GlobalAveragePool", {x});
  y = Silu(graph, Conv(graph, y, name + ".fc1", {.in = channels, .out = squeezed}, true));
  y = graph.Node("Sigmoid", {Conv(graph, y, name + ".fc2", {.in = squeezed, .out = channels}, true)});
  return graph.Node("Mul", {y, x});
}

std::string Block(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t in, const Stage& stage,
                  int64_t stride) {
  graph.SetScope("/" + name);
  const int64_t hidden = in * stage.expansion;
  std::string y = x;
  if (stage.expansion != 1) y = ConvBnSilu(graph, y, name + ".expand", {.in = in, .out = hidden});
  const ConvShape depthwise{.in = hidden,
                            .out = hidden,
                            .kernel = stage.kernel,
                            .stride = stride,
                            .padding = stage.kernel / 2,
                            .groups = hidden};
  y = ConvBnSilu(graph, y, name + ".depthwise", depthwise);
  y = SqueezeExcitation(graph, y, name + ".se", hidden, in / 4);
  y = Conv(graph, y, name + ".project.0", {.in = hidden, .out = stage.channels}, false);
  y = BatchNorm(graph, y, name + ".project.1", stage.channels);
  return stride == 1 && in == stage.channels ? graph.Node("Add", {y, x}) : y;
}

}  // namespace

onnx::ModelProto BuildEfficientNetB0() {
  GraphBuilder graph("efficientnet_b0");
  std::string x = graph.Input("image", onnx::TensorProto::FLOAT, {1, 3, 224, 224});
  x = ConvBnSilu(graph, x, "features.0", {.in = 3, .out = 32, .kernel = 3, .stride = 2, .padding = 1});
  int64_t channels = 32;
  for (size_t s = 0; s < std::size(kStages); ++s) {
    for (int64_t i = 0; i < kStages[s].repeats; ++i) {
      const std::string name = "features." + std::to_string(s + 1) + "." + std::to_string(i);
      x = Block(graph, x, name, channels, kStages[s], i == 0 ? kStages[s].stride : 1);
      channels = kStages[s].channels;
    }
  }
  graph.SetScope("");
  x = ConvBnSilu(graph, x, "features.8", {.in = channels, .out = 1280});
  x = Classifier(graph, graph.Node("GlobalAveragePool", {x}), "classifier.1", 1280, 1000);
  graph.Output(x, "logits", onnx::TensorProto::FLOAT, {1, 1000});
  return FinishModel(std::move(graph), 14);
}

}  // namespace epiphyte::test
