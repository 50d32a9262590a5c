// A text recogniser: a small convolutional network over lines of text of any width, two attention blocks over its
// columns, and a classifier over an alphabet. Every Reshape takes its sizes from shapes at run time, as exporters write
// it for open dimensions: Shape, Slice or Gather, arithmetic, Unsqueeze, Concat, Cast.

#include "tests/models/architectures.h"
#include "tests/models/builder.h"

namespace epiphyte::test {
namespace {

constexpr auto kFloat = onnx::TensorProto::FLOAT;
constexpr int64_t kChannels = 120;
constexpr int64_t kHeads = 8;
constexpr int64_t kAlphabet = 6625;

using Ints = std::vector<int64_t>;

class Recogniser {
 public:
  Recogniser() : graph_("text_recogniser") {}

  onnx::ModelProto Build() {
    std::string x = graph_.Input("image", kFloat, {"batch", 3, 48, "width"});
    graph_.SetScope("/backbone");
    x = HardSwish(Conv(x, 3, 16, 3, {2, 2}, 1));
    x = Separable(x, 16, 32, {1, 1});
    x = Separable(x, 32, 64, {2, 1});
    x = Separable(x, 64, 64, {1, 1});
    x = Separable(x, 64, kChannels, {2, 1});
    x = Separable(x, kChannels, kChannels, {1, 1});
    x = Separable(x, kChannels, kChannels, {2, 1});
    x = graph_.Node("AveragePool", {x}, {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{3, 2}}});
    graph_.SetScope("/neck");
    x = ToSequence(x);
    for (int block = 0; block < 2; ++block) {
      graph_.SetScope("/neck/block." + std::to_string(block));
      x = Attention(x);
      x = Perceptron(x);
    }
    graph_.SetScope("/head");
    x = Linear(x, kChannels, kAlphabet);
    x = graph_.Node("Softmax", {x}, {{"axis", 2}});
    graph_.Output(x, "characters", kFloat, {"batch", "columns", kAlphabet});
    return FinishModel(std::move(graph_), 13);
  }

 private:
  std::string Weight(const Ints& dims, float deviation) {
    return graph_.Random("weight." + std::to_string(weights_++), dims, deviation);
  }
  std::string Conv(const std::string& x, int64_t in, int64_t out, int64_t size, const Ints& strides, int64_t groups) {
    const int64_t pad = size / 2;
    const float deviation = 1.2f / static_cast<float>(size) / (groups == 1 ? static_cast<float>(in) / 6 : 1.0f);
    return graph_.Node("Conv", {x, Weight({out, in / groups, size, size}, deviation), Weight({out}, 0.1f)},
                       {{"kernel_shape", Ints{size, size}},
                        {"strides", strides},
                        {"pads", Ints{pad, pad, pad, pad}},
                        {"group", groups}});
  }
  std::string HardSwish(const std::string& x) {
    std::string y = graph_.Node("Add", {x, graph_.FloatConstant(3)});
    y = graph_.Node("Clip", {y, graph_.FloatConstant(0), graph_.FloatConstant(6)});
    return graph_.Node("Div", {graph_.Node("Mul", {x, y}), graph_.FloatConstant(6)});
  }
  std::string Separable(const std::string& x, int64_t in, int64_t out, const Ints& strides) {
    const std::string y = HardSwish(Conv(x, in, in, 3, strides, in));
    return HardSwish(Conv(y, in, out, 1, {1, 1}, 1));
  }
  std::string Linear(const std::string& x, int64_t in, int64_t out) {
    return graph_.Node("Add", {graph_.Node("MatMul", {x, Weight({in, out}, 0.1f)}), Weight({out}, 0.1f)});
  }

  // Returns dimension `axis` of `x` as an int32 tensor of shape [1], as exporters write it.
  std::string Size(const std::string& x, int64_t axis) {
    const std::string shape = graph_.Node("Cast", {graph_.Node("Shape", {x})}, {{"to", 6}});
    return graph_.Node("Slice",
                       {shape, graph_.IntsConstant({axis}), graph_.IntsConstant({axis + 1}), graph_.IntsConstant({0})});
  }
  std::string SizesToShape(const std::vector<std::string>& sizes) {
    return graph_.Node("Cast", {graph_.Node("Concat", sizes, {{"axis", 0}})}, {{"to", 7}});
  }
  std::string Known(int64_t size) { return graph_.Node("Cast", {graph_.IntsConstant({size})}, {{"to", 6}}); }

  // The shape [batch, channels, 1, columns] becomes [batch, columns, channels].
  std::string ToSequence(const std::string& x) {
    const std::string shape = SizesToShape({Size(x, 0), Known(kChannels), Size(x, 3)});
    const std::string flat = graph_.Node("Reshape", {x, shape});
    return graph_.Node("Transpose", {flat}, {{"perm", Ints{0, 2, 1}}});
  }
  std::string Attention(const std::string& x) {
    constexpr int64_t kWidth = kChannels / kHeads;
    const std::string normal = Normalized(x);
    std::string qkv = Linear(normal, kChannels, 3 * kChannels);
    qkv = graph_.Node("Reshape", {qkv, SizesToShape({Size(x, 0), Size(x, 1), Known(3), Known(kHeads), Known(kWidth)})});
    qkv = graph_.Node("Transpose", {qkv}, {{"perm", Ints{2, 0, 3, 1, 4}}});
    const auto part = [&](int64_t index) {
      const std::string slice = graph_.Node(
          "Slice", {qkv, graph_.IntsConstant({index}), graph_.IntsConstant({index + 1}), graph_.IntsConstant({0})});
      return graph_.Node("Squeeze", {slice, graph_.IntsConstant({0})});
    };
    const std::string query = graph_.Node("Mul", {part(0), graph_.FloatConstant(0.2582f)});
    const std::string key = graph_.Node("Transpose", {part(1)}, {{"perm", Ints{0, 1, 3, 2}}});
    const std::string weights = graph_.Node("Softmax", {graph_.Node("MatMul", {query, key})}, {{"axis", -1}});
    std::string y = graph_.Node("MatMul", {weights, part(2)});
    y = graph_.Node("Transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}});
    y = graph_.Node("Reshape", {y, SizesToShape({Size(x, 0), Size(x, 1), Known(kChannels)})});
    return graph_.Node("Add", {x, Linear(y, kChannels, kChannels)});
  }
  std::string Perceptron(const std::string& x) {
    const std::string y = Linear(Normalized(x), kChannels, 2 * kChannels);
    const std::string swish = graph_.Node("Mul", {y, graph_.Node("Sigmoid", {y})});
    return graph_.Node("Add", {x, Linear(swish, 2 * kChannels, kChannels)});
  }
  std::string Normalized(const std::string& x) {
    const std::string mean = graph_.Node("ReduceMean", {x}, {{"axes", Ints{-1}}});
    const std::string centred = graph_.Node("Sub", {x, mean});
    const std::string square = graph_.Node("Pow", {centred, graph_.FloatConstant(2)});
    const std::string variance = graph_.Node("ReduceMean", {square}, {{"axes", Ints{-1}}});
    const std::string root = graph_.Node("Sqrt", {graph_.Node("Add", {variance, graph_.FloatConstant(1e-6f)})});
    const std::string scaled = graph_.Node("Mul", {graph_.Node("Div", {centred, root}), Weight({kChannels}, 0.1f)});
    return graph_.Node("Add", {scaled, Weight({kChannels}, 0.1f)});
  }

  GraphBuilder graph_;
  int weights_ = 0;
};

}  // namespace

onnx::ModelProto BuildTextRecogniser() { return Recogniser().Build(); }

}  // namespace epiphyte::test
