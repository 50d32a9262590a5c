// A U-Net for images of any size; at 256 x 256 it takes about 14 billion multiplications. Pairs of convolutions go four
// levels down by MaxPool and four levels up by Resize. Resize reads its size from the shape of the skip connection. The
// output is a mask.

#include "tests/models/architectures.h"
#include "tests/models/vision.h"

namespace epiphyte::test {
namespace {

constexpr int kLevels = 4;
constexpr int64_t kWidth = 32;  // channels at full size; each level down doubles them

std::string Pair(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t in, int64_t out) {
  graph.SetScope("/" + name);
  const ConvShape first{.in = in, .out = out, .kernel = 3, .padding = 1};
  const ConvShape second{.in = out, .out = out, .kernel = 3, .padding = 1};
  std::string y = Conv(graph, x, name + ".0", first, false);
  y = graph.Node("Relu", {BatchNorm(graph, y, name + ".1", out)});
  y = Conv(graph, y, name + ".3", second, false);
  return graph.Node("Relu", {BatchNorm(graph, y, name + ".4", out)});
}

// Resizes `x` to the height and width of `like`.
std::string Upsample(GraphBuilder& graph, const std::string& x, const std::string& like) {
  const auto part = [&](const std::string& value, int64_t from, int64_t to) {
    return graph.Node("Slice", {graph.Node("Shape", {value}), graph.IntsConstant({from}), graph.IntsConstant({to}),
                                graph.IntsConstant({0})});
  };
  const std::string sizes = graph.Node("Concat", {part(x, 0, 2), part(like, 2, 4)}, {{"axis", 0}});
  return graph.Node("Resize", {x, "", "", sizes},
                    {{"coordinate_transformation_mode", "pytorch_half_pixel"},
                     {"cubic_coeff_a", -0.75f},
                     {"mode", "linear"},
                     {"nearest_mode", "floor"}});
}

}  // namespace

onnx::ModelProto BuildUnet() {
  GraphBuilder graph("unet");
  std::string x = graph.Input("image", onnx::TensorProto::FLOAT, {1, 3, "height", "width"});
  std::vector<std::string> across;
  int64_t channels = 3;
  for (int level = 0; level < kLevels; ++level) {
    x = Pair(graph, x, "down." + std::to_string(level), channels, kWidth << level);
    channels = kWidth << level;
    across.push_back(x);
    x = MaxPool(graph, x, 2, 2, 0);
  }
  x = Pair(graph, x, "bottom", channels, kWidth << kLevels);
  channels = kWidth << kLevels;
  for (int level = kLevels - 1; level >= 0; --level) {
    const std::string name = "up." + std::to_string(level);
    const std::string& skip = across[static_cast<size_t>(level)];
    graph.SetScope("/" + name);
    x = graph.Node("Concat", {skip, Upsample(graph, x, skip)}, {{"axis", 1}});
    x = Pair(graph, x, name, channels + (kWidth << level), kWidth << level);
    channels = kWidth << level;
  }
  graph.SetScope("");
  x = graph.Node("Sigmoid", {Conv(graph, x, "mask", {.in = channels, .out = 1}, true)});
  graph.Output(x, "mask", onnx::TensorProto::FLOAT, {1, 1, "height", "width"});
  return FinishModel(std::move(graph), 13);
}

}  // namespace epiphyte::test
