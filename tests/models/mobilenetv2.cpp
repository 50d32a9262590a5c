// MobileNetV2, width 1.0: inverted residuals with depthwise convolutions and ReLU6.

#include "tests/models/architectures.h"
#include "tests/models/vision.h"

namespace epiphyte::test {
namespace {

struct Stage {
  int64_t expansion, channels, repeats, stride;
};
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

std::string ConvBnRelu6(GraphBuilder& graph, const std::string& x, const std::string& name, const ConvShape& shape) {
  const std::string y = BatchNorm(graph, Conv(graph, x, name + ".0", shape, false), name + ".1", shape.out);
  return graph.Node("Clip", {y, graph.FloatConstant(0), graph.FloatConstant(6)});
}

std::string InvertedResidual(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t in,
                             const Stage& stage, int64_t stride) {
  graph.SetScope("/" + name);
  const int64_t hidden = in * stage.expansion;
  std::string y = x;
  if (stage.expansion != 1) y = ConvBnRelu6(graph, y, name + ".expand", {.in = in, .out = hidden});
  y = ConvBnRelu6(graph, y, name + ".depthwise",
                  {.in = hidden, .out = hidden, .kernel = 3, .stride = stride, .padding = 1, .groups = hidden});
  y = Conv(graph, y, name + ".project", {.in = hidden, .out = stage.channels}, false);
  y = BatchNorm(graph, y, name + ".project_bn", stage.channels);
  return stride == 1 && in == stage.channels ? graph.Node("Add", {x, y}) : y;
}

}  // namespace

onnx::ModelProto BuildMobileNetV2() {
  GraphBuilder graph("mobilenetv2");
  std::string x = graph.Input("image", onnx::TensorProto::FLOAT, {1, 3, 224, 224});
  x = ConvBnRelu6(graph, x, "features.0", {.in = 3, .out = 32, .kernel = 3, .stride = 2, .padding = 1});
  int64_t channels = 32;
  int64_t block = 1;
  for (const Stage& stage : kStages) {
    for (int64_t i = 0; i < stage.repeats; ++i, ++block) {
      const std::string name = "features." + std::to_string(block);
      x = InvertedResidual(graph, x, name, channels, stage, i == 0 ? stage.stride : 1);
      channels = stage.channels;
    }
  }
  graph.SetScope("");
  x = ConvBnRelu6(graph, x, "features.18", {.in = channels, .out = 1280});
  x = Classifier(graph, graph.Node("GlobalAveragePool", {x}), "classifier.1", 1280, 1000);
  graph.Output(x, "logits", onnx::TensorProto::FLOAT, {1, 1000});
  return FinishModel(std::move(graph), 17);
}

}  // namespace epiphyte::test
