// ShuffleNet-v2 of torchvision, width 1.0, for any number of images. Half of the channels pass a block unchanged. The
// channels of both halves are shuffled by Reshape, Transpose and Reshape with sizes computed from shapes.

#include "tests/models/architectures.h"
#include "tests/models/transformer.h"
#include "tests/models/vision.h"

namespace epiphyte::test {
namespace {

using Ints = std::vector<int64_t>;

std::string ConvNorm(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t index,
                     const ConvShape& shape) {
  const std::string y = Conv(graph, x, name + "." + std::to_string(index), shape, false);
  return BatchNorm(graph, y, name + "." + std::to_string(index + 1), shape.out);
}

std::string Shuffle(GraphBuilder& graph, const std::string& x, int64_t channels) {
  const std::string batch = SizeOf(graph, x, 0), height = SizeOf(graph, x, 2), width = SizeOf(graph, x, 3);
  const std::string split =
      ReshapeTo(graph, x, {batch, graph.IntsConstant({2}), graph.IntsConstant({channels / 2}), height, width});
  const std::string turned = graph.Node("Transpose", {split}, {{"perm", Ints{0, 2, 1, 3, 4}}});
  return ReshapeTo(graph, turned, {batch, graph.IntsConstant({channels}), height, width});
}

// A branch: pointwise, depthwise and pointwise convolution.
std::string Branch(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t in, int64_t out,
                   int64_t stride) {
  std::string y = graph.Node("Relu", {ConvNorm(graph, x, name, 0, {.in = in, .out = out})});
  y = ConvNorm(graph, y, name, 3, {.in = out, .out = out, .kernel = 3, .stride = stride, .padding = 1, .groups = out});
  return graph.Node("Relu", {ConvNorm(graph, y, name, 5, {.in = out, .out = out})});
}

std::string Block(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t in, int64_t out) {
  graph.SetScope("/" + name);
  const int64_t half = out / 2;
  if (in == out) {
    const std::vector<std::string> halves =
        graph.NodeWithOutputs("Split", {x, graph.IntsConstant({half, half})}, 2, {{"axis", 1}});
    const std::string y = Branch(graph, halves[1], name + ".branch2", half, half, 1);
    return Shuffle(graph, graph.Node("Concat", {halves[0], y}, {{"axis", 1}}), out);
  }
  std::string around = ConvNorm(graph, x, name + ".branch1", 0,
                                {.in = in, .out = in, .kernel = 3, .stride = 2, .padding = 1, .groups = in});
  around = graph.Node("Relu", {ConvNorm(graph, around, name + ".branch1", 2, {.in = in, .out = half})});
  const std::string y = Branch(graph, x, name + ".branch2", in, half, 2);
  return Shuffle(graph, graph.Node("Concat", {around, y}, {{"axis", 1}}), out);
}

}  // namespace

onnx::ModelProto BuildShuffleNetV2() {
  constexpr int64_t kRepeats[] = {4, 8, 4}, kChannels[] = {116, 232, 464};
  GraphBuilder graph("shufflenetv2");
  std::string x = graph.Input("image", onnx::TensorProto::FLOAT, {"batch", 3, 224, 224});
  x = graph.Node("Relu",
                 {ConvNorm(graph, x, "conv1", 0, {.in = 3, .out = 24, .kernel = 3, .stride = 2, .padding = 1})});
  x = MaxPool(graph, x, 3, 2, 1);
  int64_t channels = 24;
  for (int stage = 0; stage < 3; ++stage) {
    for (int64_t block = 0; block < kRepeats[stage]; ++block) {
      const std::string name = "stage" + std::to_string(stage + 2) + "." + std::to_string(block);
      x = Block(graph, x, name, channels, kChannels[stage]);
      channels = kChannels[stage];
    }
  }
  graph.SetScope("");
  x = graph.Node("Relu", {ConvNorm(graph, x, "conv5", 0, {.in = channels, .out = 1024})});
  x = graph.Node("ReduceMean", {x}, {{"axes", Ints{2, 3}}, {"keepdims", 0}});
  x = Classifier(graph, x, "fc", 1024, 1000);
  graph.Output(x, "logits", onnx::TensorProto::FLOAT, {"batch", 1000});
  return FinishModel(std::move(graph), 13);
}

}  // namespace epiphyte::test
