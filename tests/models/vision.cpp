#include "tests/models/vision.h"

#include "tests/models/random_weights.h"

namespace epiphyte::test {

std::string Conv(GraphBuilder& graph, const std::string& x, const std::string& name, const ConvShape& shape,
                 bool bias) {
  const int64_t in_per_group = shape.in / shape.groups;
  const bool square = shape.kernel_width == 0;
  const int64_t k = shape.kernel, kw = square ? k : shape.kernel_width;
  const int64_t p = shape.padding, pw = square ? p : shape.padding_width, s = shape.stride;
  const int64_t fan_in = in_per_group * k * kw;
  std::vector<std::string> inputs = {
      x, graph.Random(name + ".weight", {shape.out, in_per_group, k, kw}, HeDeviation(fan_in))};
  if (bias) inputs.push_back(graph.Random(name + ".bias", {shape.out}, 0.05f));
  return graph.Node("Conv", inputs,
                    {{"dilations", std::vector<int64_t>{1, 1}},
                     {"group", shape.groups},
                     {"kernel_shape", std::vector<int64_t>{k, kw}},
                     {"pads", std::vector<int64_t>{p, pw, p, pw}},
                     {"strides", std::vector<int64_t>{s, s}}});
}

std::string BatchNorm(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t channels,
                      float gain) {
  const std::string scale = graph.Random(name + ".weight", {channels}, 0.1f * gain, gain);
  const std::string bias = graph.Random(name + ".bias", {channels}, 0.1f);
  const std::string mean = graph.Random(name + ".running_mean", {channels}, 0.1f);
  const std::string variance = graph.Random(name + ".running_var", {channels}, 0.1f, 1);
  return graph.Node("BatchNormalization", {x, scale, bias, mean, variance}, {{"epsilon", 1e-5f}, {"momentum", 0.9f}});
}

std::string MaxPool(GraphBuilder& graph, const std::string& x, int64_t kernel, int64_t stride, int64_t padding) {
  return graph.Node("MaxPool", {x},
                    {{"kernel_shape", std::vector<int64_t>{kernel, kernel}},
                     {"pads", std::vector<int64_t>{padding, padding, padding, padding}},
                     {"strides", std::vector<int64_t>{stride, stride}}});
}

std::string Classifier(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t in, int64_t out) {
  const std::string flat = graph.Node("Flatten", {x}, {{"axis", 1}});
  const std::string weight = graph.Random(name + ".weight", {out, in}, XavierDeviation(in, out));
  const std::string bias = graph.Random(name + ".bias", {out}, 0.05f);
  return graph.Node("Gemm", {flat, weight, bias}, {{"alpha", 1.0f}, {"beta", 1.0f}, {"transB", 1}});
}

}  // namespace epiphyte::test
