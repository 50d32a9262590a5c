// Inception-v3 of torchvision: branches with 1x7 and 7x1 convolutions, average pooling that counts its border
// (PyTorch's exporter writes it with a separate Pad), and rescaling of the input's channels one by one.

#include "tests/models/architectures.h"
#include "tests/models/vision.h"

namespace epiphyte::test {
namespace {

class Inception {
 public:
  Inception() : graph_("inceptionv3") {}

  onnx::ModelProto Build() {
    std::string x = Rescaled(graph_.Input("image", onnx::TensorProto::FLOAT, {1, 3, 299, 299}));
    x = Cell(x, "Conv2d_1a_3x3", {.in = 3, .out = 32, .kernel = 3, .stride = 2});
    x = Cell(x, "Conv2d_2a_3x3", {.in = 32, .out = 32, .kernel = 3});
    x = Cell(x, "Conv2d_2b_3x3", {.in = 32, .out = 64, .kernel = 3, .padding = 1});
    x = MaxPool(graph_, x, 3, 2, 0);
    x = Cell(x, "Conv2d_3b_1x1", {.in = 64, .out = 80});
    x = Cell(x, "Conv2d_4a_3x3", {.in = 80, .out = 192, .kernel = 3});
    x = MaxPool(graph_, x, 3, 2, 0);
    x = BlockA(x, "Mixed_5b", 192, 32);
    x = BlockA(x, "Mixed_5c", 256, 64);
    x = BlockA(x, "Mixed_5d", 288, 64);
    x = BlockB(x, "Mixed_6a", 288);
    x = BlockC(x, "Mixed_6b", 128);
    x = BlockC(x, "Mixed_6c", 160);
    x = BlockC(x, "Mixed_6d", 160);
    x = BlockC(x, "Mixed_6e", 192);
    x = BlockD(x, "Mixed_7a");
    x = BlockE(x, "Mixed_7b", 1280);
    x = BlockE(x, "Mixed_7c", 2048);
    graph_.SetScope("");
    x = Classifier(graph_, graph_.Node("GlobalAveragePool", {x}), "fc", 2048, 1000);
    graph_.Output(x, "logits", onnx::TensorProto::FLOAT, {1, 1000});
    return FinishModel(std::move(graph_), 11);
  }

 private:
  std::string Rescaled(const std::string& image) {
    constexpr float kFactors[] = {0.458f, 0.448f, 0.45f};
    constexpr float kOffsets[] = {-0.03f, -0.088f, -0.188f};
    std::vector<std::string> channels;
    for (int i = 0; i < 3; ++i) {
      std::string x = graph_.Node("Gather", {image, graph_.IntConstant(i)}, {{"axis", 1}});
      x = graph_.Node("Unsqueeze", {x}, {{"axes", std::vector<int64_t>{1}}});
      x = graph_.Node("Mul", {x, graph_.FloatConstant(kFactors[i])});
      channels.push_back(graph_.Node("Add", {x, graph_.FloatConstant(kOffsets[i])}));
    }
    return graph_.Node("Concat", channels, {{"axis", 1}});
  }

  std::string Cell(const std::string& x, const std::string& name, const ConvShape& shape) {
    graph_.SetScope("/" + name);
    const std::string y = Conv(graph_, x, name + ".conv", shape, false);
    return graph_.Node("Relu", {BatchNorm(graph_, y, name + ".bn", shape.out)});
  }
  std::string Row(const std::string& x, const std::string& name, int64_t in, int64_t out, int64_t size) {
    const ConvShape shape{
        .in = in, .out = out, .kernel = 1, .padding = 0, .kernel_width = size, .padding_width = size / 2};
    return Cell(x, name, shape);
  }
  std::string Column(const std::string& x, const std::string& name, int64_t in, int64_t out, int64_t size) {
    const ConvShape shape{
        .in = in, .out = out, .kernel = size, .padding = size / 2, .kernel_width = 1, .padding_width = 0};
    return Cell(x, name, shape);
  }
  std::string Join(const std::vector<std::string>& branches) { return graph_.Node("Concat", branches, {{"axis", 1}}); }

  std::string PoolBranch(const std::string& x, const std::string& name, int64_t in, int64_t out) {
    graph_.SetScope("/" + name);
    const std::string padded = graph_.Node(
        "Pad", {x, graph_.IntsConstant({0, 0, 1, 1, 0, 0, 1, 1}), graph_.FloatConstant(0)}, {{"mode", "constant"}});
    const std::string mean = graph_.Node("AveragePool", {padded},
                                         {{"kernel_shape", std::vector<int64_t>{3, 3}},
                                          {"pads", std::vector<int64_t>{0, 0, 0, 0}},
                                          {"strides", std::vector<int64_t>{1, 1}}});
    return Cell(mean, name + ".branch_pool", {.in = in, .out = out});
  }

  std::string BlockA(const std::string& x, const std::string& name, int64_t in, int64_t pooled) {
    const std::string one = Cell(x, name + ".branch1x1", {.in = in, .out = 64});
    std::string five = Cell(x, name + ".branch5x5_1", {.in = in, .out = 48});
    five = Cell(five, name + ".branch5x5_2", {.in = 48, .out = 64, .kernel = 5, .padding = 2});
    std::string twice = Cell(x, name + ".branch3x3dbl_1", {.in = in, .out = 64});
    twice = Cell(twice, name + ".branch3x3dbl_2", {.in = 64, .out = 96, .kernel = 3, .padding = 1});
    twice = Cell(twice, name + ".branch3x3dbl_3", {.in = 96, .out = 96, .kernel = 3, .padding = 1});
    return Join({one, five, twice, PoolBranch(x, name, in, pooled)});
  }
  std::string BlockB(const std::string& x, const std::string& name, int64_t in) {
    const std::string three = Cell(x, name + ".branch3x3", {.in = in, .out = 384, .kernel = 3, .stride = 2});
    std::string twice = Cell(x, name + ".branch3x3dbl_1", {.in = in, .out = 64});
    twice = Cell(twice, name + ".branch3x3dbl_2", {.in = 64, .out = 96, .kernel = 3, .padding = 1});
    twice = Cell(twice, name + ".branch3x3dbl_3", {.in = 96, .out = 96, .kernel = 3, .stride = 2});
    return Join({three, twice, MaxPool(graph_, x, 3, 2, 0)});
  }
  std::string BlockC(const std::string& x, const std::string& name, int64_t inner) {
    const std::string one = Cell(x, name + ".branch1x1", {.in = 768, .out = 192});
    std::string seven = Cell(x, name + ".branch7x7_1", {.in = 768, .out = inner});
    seven = Row(seven, name + ".branch7x7_2", inner, inner, 7);
    seven = Column(seven, name + ".branch7x7_3", inner, 192, 7);
    std::string twice = Cell(x, name + ".branch7x7dbl_1", {.in = 768, .out = inner});
    twice = Column(twice, name + ".branch7x7dbl_2", inner, inner, 7);
    twice = Row(twice, name + ".branch7x7dbl_3", inner, inner, 7);
    twice = Column(twice, name + ".branch7x7dbl_4", inner, inner, 7);
    twice = Row(twice, name + ".branch7x7dbl_5", inner, 192, 7);
    return Join({one, seven, twice, PoolBranch(x, name, 768, 192)});
  }
  std::string BlockD(const std::string& x, const std::string& name) {
    std::string three = Cell(x, name + ".branch3x3_1", {.in = 768, .out = 192});
    three = Cell(three, name + ".branch3x3_2", {.in = 192, .out = 320, .kernel = 3, .stride = 2});
    std::string seven = Cell(x, name + ".branch7x7x3_1", {.in = 768, .out = 192});
    seven = Row(seven, name + ".branch7x7x3_2", 192, 192, 7);
    seven = Column(seven, name + ".branch7x7x3_3", 192, 192, 7);
    seven = Cell(seven, name + ".branch7x7x3_4", {.in = 192, .out = 192, .kernel = 3, .stride = 2});
    return Join({three, seven, MaxPool(graph_, x, 3, 2, 0)});
  }
  std::string BlockE(const std::string& x, const std::string& name, int64_t in) {
    const auto both = [&](const std::string& y, const std::string& branch) {
      return Join({Row(y, branch + "a", 384, 384, 3), Column(y, branch + "b", 384, 384, 3)});
    };
    const std::string one = Cell(x, name + ".branch1x1", {.in = in, .out = 320});
    const std::string three = Cell(x, name + ".branch3x3_1", {.in = in, .out = 384});
    std::string twice = Cell(x, name + ".branch3x3dbl_1", {.in = in, .out = 448});
    twice = Cell(twice, name + ".branch3x3dbl_2", {.in = 448, .out = 384, .kernel = 3, .padding = 1});
    const std::string joined = both(three, name + ".branch3x3_2");
    return Join({one, joined, both(twice, name + ".branch3x3dbl_3"), PoolBranch(x, name, in, 192)});
  }

  GraphBuilder graph_;
};

}  // namespace

onnx::ModelProto BuildInceptionV3() { return Inception().Build(); }

}  // namespace epiphyte::test
