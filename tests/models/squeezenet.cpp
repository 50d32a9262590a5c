// SqueezeNet 1.1: fire modules, pooling with ceil_mode, a convolution as the classifier.

#include "tests/models/architectures.h"
#include "tests/models/vision.h"

namespace epiphyte::test {
namespace {

std::string ConvRelu(GraphBuilder& graph, const std::string& x, const std::string& name, const ConvShape& shape) {
  return graph.Node("Relu", {Conv(graph, x, name, shape, true)});
}

std::string Fire(GraphBuilder& graph, const std::string& x, int64_t index, int64_t in, int64_t squeeze,
                 int64_t expand) {
  const std::string name = "features." + std::to_string(index);
  graph.SetScope("/" + name);
  const std::string y = ConvRelu(graph, x, name + ".squeeze", {.in = in, .out = squeeze});
  const std::string one = ConvRelu(graph, y, name + ".expand1x1", {.in = squeeze, .out = expand});
  const std::string three =
      ConvRelu(graph, y, name + ".expand3x3", {.in = squeeze, .out = expand, .kernel = 3, .padding = 1});
  return graph.Node("Concat", {one, three}, {{"axis", 1}});
}

std::string MaxPool(GraphBuilder& graph, const std::string& x) {
  return graph.Node(
      "MaxPool", {x},
      {{"ceil_mode", 1}, {"kernel_shape", std::vector<int64_t>{3, 3}}, {"strides", std::vector<int64_t>{2, 2}}});
}

}  // namespace

onnx::ModelProto BuildSqueezeNet11() {
  GraphBuilder graph("squeezenet1.1");
  std::string x = graph.Input("image", onnx::TensorProto::FLOAT, {1, 3, 224, 224});
  x = MaxPool(graph, ConvRelu(graph, x, "features.0", {.in = 3, .out = 64, .kernel = 3, .stride = 2}));
  x = Fire(graph, x, 3, 64, 16, 64);
  x = MaxPool(graph, Fire(graph, x, 4, 128, 16, 64));
  x = Fire(graph, x, 6, 128, 32, 128);
  x = MaxPool(graph, Fire(graph, x, 7, 256, 32, 128));
  x = Fire(graph, x, 9, 256, 48, 192);
  x = Fire(graph, x, 10, 384, 48, 192);
  x = Fire(graph, x, 11, 384, 64, 256);
  x = Fire(graph, x, 12, 512, 64, 256);
  graph.SetScope("");
  x = graph.Node("GlobalAveragePool", {ConvRelu(graph, x, "classifier.1", {.in = 512, .out = 1000})});
  graph.Output(graph.Node("Flatten", {x}, {{"axis", 1}}), "logits", onnx::TensorProto::FLOAT, {1, 1000});
  return FinishModel(std::move(graph), 13);
}

}  // namespace epiphyte::test
