// DenseNet-121: every layer reads the concatenated results of all earlier layers of its block. It normalizes before it
// convolves, so that a normalization follows a Concat and folds into no convolution in front of it.

#include "tests/models/architectures.h"
#include "tests/models/vision.h"

namespace epiphyte::test {
namespace {

constexpr int64_t kGrowth = 32;
constexpr int64_t kBottleneck = 4 * kGrowth;
constexpr int64_t kLayersOf[] = {6, 12, 24, 16};

std::string NormRelu(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t channels) {
  return graph.Node("Relu", {BatchNorm(graph, x, name, channels)});
}

std::string Layer(GraphBuilder& graph, const std::vector<std::string>& features, const std::string& name, int64_t in) {
  graph.SetScope("/" + name);
  // The exporter writes a Concat even for a single value.
  std::string y = graph.Node("Concat", features, {{"axis", 1}});
  y = NormRelu(graph, y, name + ".norm1", in);
  y = Conv(graph, y, name + ".conv1", {.in = in, .out = kBottleneck}, false);
  y = NormRelu(graph, y, name + ".norm2", kBottleneck);
  return Conv(graph, y, name + ".conv2", {.in = kBottleneck, .out = kGrowth, .kernel = 3, .padding = 1}, false);
}

std::string Transition(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t in) {
  graph.SetScope("/" + name);
  std::string y = NormRelu(graph, x, name + ".norm", in);
  y = Conv(graph, y, name + ".conv", {.in = in, .out = in / 2}, false);
  return graph.Node("AveragePool", {y},
                    {{"kernel_shape", std::vector<int64_t>{2, 2}},
                     {"pads", std::vector<int64_t>{0, 0, 0, 0}},
                     {"strides", std::vector<int64_t>{2, 2}}});
}

}  // namespace

onnx::ModelProto BuildDenseNet121() {
  GraphBuilder graph("densenet121");
  std::string x = graph.Input("image", onnx::TensorProto::FLOAT, {1, 3, 224, 224});
  graph.SetScope("/features");
  x = Conv(graph, x, "features.conv0", {.in = 3, .out = 64, .kernel = 7, .stride = 2, .padding = 3}, false);
  x = MaxPool(graph, NormRelu(graph, x, "features.norm0", 64), 3, 2, 1);
  int64_t channels = 64;
  for (int block = 0; block < 4; ++block) {
    const std::string number = std::to_string(block + 1);
    std::vector<std::string> features = {x};
    for (int64_t layer = 0; layer < kLayersOf[block]; ++layer) {
      const std::string name = "features.denseblock" + number + ".denselayer" + std::to_string(layer + 1);
      features.push_back(Layer(graph, features, name, channels));
      channels += kGrowth;
    }
    graph.SetScope("/features.denseblock" + number);
    x = graph.Node("Concat", features, {{"axis", 1}});
    if (block == 3) break;
    x = Transition(graph, x, "features.transition" + number, channels);
    channels /= 2;
  }
  graph.SetScope("");
  x = NormRelu(graph, x, "features.norm5", channels);
  x = Classifier(graph, graph.Node("GlobalAveragePool", {x}), "classifier", channels, 1000);
  graph.Output(x, "logits", onnx::TensorProto::FLOAT, {1, 1000});
  return FinishModel(std::move(graph), 12);
}

}  // namespace epiphyte::test
