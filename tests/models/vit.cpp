// A vision transformer, ViT-S/16 of timm, for any number of images: patches by a convolution, a class token expanded to
// the batch, and twelve blocks of attention and perceptron. All shapes are computed from Shape.

#include "tests/models/architectures.h"
#include "tests/models/transformer.h"
#include "tests/models/vision.h"

namespace epiphyte::test {
namespace {

constexpr int64_t kHidden = 384;
constexpr int64_t kHeads = 6;
constexpr int64_t kHeadSize = kHidden / kHeads;
constexpr int64_t kTokens = 197;
constexpr int64_t kBlocks = 12;
constexpr float kEpsilon = 1e-6f;

using Ints = std::vector<int64_t>;

class VisionTransformer {
 public:
  VisionTransformer() : graph_("vit_s16") {}

  onnx::ModelProto Build() {
    const std::string image = graph_.Input("image", onnx::TensorProto::FLOAT, {"batch", 3, 224, 224});
    std::string x = Embeddings(image);
    for (int64_t block = 0; block < kBlocks; ++block) x = Block(x, "blocks." + std::to_string(block));
    graph_.SetScope("");
    x = LayerNorm(graph_, x, "norm", kHidden, kEpsilon);
    x = graph_.Node("Gather", {x, graph_.IntConstant(0)}, {{"axis", 1}});
    const std::string weight = graph_.Random("head.weight", {1000, kHidden}, 0.05f);
    x = graph_.Node("Gemm", {x, weight, graph_.Random("head.bias", {1000}, 0.05f)}, {{"transB", 1}});
    graph_.Output(x, "logits", onnx::TensorProto::FLOAT, {"batch", 1000});
    return FinishModel(std::move(graph_), 14);
  }

 private:
  std::string Embeddings(const std::string& image) {
    graph_.SetScope("/patch_embed");
    std::string x =
        Conv(graph_, image, "patch_embed.proj", {.in = 3, .out = kHidden, .kernel = 16, .stride = 16}, true);
    const std::string known = graph_.Node("Slice", {graph_.Node("Shape", {x}), graph_.IntsConstant({0}),
                                                    graph_.IntsConstant({2}), graph_.IntsConstant({0})});
    x = ReshapeTo(graph_, x, {known, graph_.IntsConstant({-1})});
    x = graph_.Node("Transpose", {x}, {{"perm", Ints{0, 2, 1}}});
    graph_.SetScope("");
    x = graph_.Node("Concat", {ClassTokens(x), x}, {{"axis", 1}});
    return graph_.Node("Add", {x, graph_.Random("pos_embed", {1, kTokens, kHidden}, 0.3f)});
  }

  // Writes `expand(batch, -1, -1)` as the exporter does: nodes in the graph replace each -1 by the size that it stands
  // for.
  std::string ClassTokens(const std::string& x) {
    const std::string wanted = graph_.Node(
        "Concat", {SizeOf(graph_, x, 0), graph_.IntsConstant({-1}), graph_.IntsConstant({-1})}, {{"axis", 0}});
    onnx::TensorProto one;
    one.add_dims(1);
    one.set_data_type(onnx::TensorProto::INT64);
    one.add_int64_data(1);
    const std::string ones = graph_.Node("ConstantOfShape", {graph_.IntsConstant({3})}, {{"value", one}});
    const std::string unknown = graph_.Node("Mul", {ones, graph_.IntConstant(-1)});
    const std::string shape = graph_.Node("Where", {graph_.Node("Equal", {wanted, unknown}), ones, wanted});
    return graph_.Node("Expand", {graph_.Random("cls_token", {1, 1, kHidden}, 1), shape});
  }

  std::string Block(const std::string& x, const std::string& name) {
    graph_.SetScope("/" + name);
    const std::string attended = graph_.Node("Add", {x, Attention(Norm(x, name + ".norm1"), name + ".attn")});
    std::string y = Dense(graph_, Norm(attended, name + ".norm2"), name + ".mlp.fc1", kHidden, 4 * kHidden, 0.05f);
    y = Dense(graph_, Gelu(graph_, y), name + ".mlp.fc2", 4 * kHidden, kHidden, 0.02f);
    return graph_.Node("Add", {attended, y});
  }

  std::string Norm(const std::string& x, const std::string& name) {
    return LayerNorm(graph_, x, name, kHidden, kEpsilon);
  }

  std::string Attention(const std::string& x, const std::string& name) {
    const std::string batch = SizeOf(graph_, x, 0), tokens = SizeOf(graph_, x, 1), size = SizeOf(graph_, x, 2);
    std::string qkv = Dense(graph_, x, name + ".qkv", kHidden, 3 * kHidden, 0.06f);
    const std::string per_head = graph_.Node(
        "Unsqueeze",
        {graph_.Node("Div", {graph_.Node("Squeeze", {size, graph_.IntsConstant({0})}), graph_.IntConstant(kHeads)}),
         graph_.IntsConstant({0})});
    qkv = ReshapeTo(graph_, qkv, {batch, tokens, graph_.IntsConstant({3}), graph_.IntsConstant({kHeads}), per_head});
    qkv = graph_.Node("Transpose", {qkv}, {{"perm", Ints{2, 0, 3, 1, 4}}});
    const auto part = [&](int64_t index) {
      return graph_.Node("Gather", {qkv, graph_.IntConstant(index)}, {{"axis", 0}});
    };
    const std::string key = graph_.Node("Transpose", {part(1)}, {{"perm", Ints{0, 1, 3, 2}}});
    std::string scores = graph_.Node("MatMul", {part(0), key});
    scores = graph_.Node("Mul", {scores, graph_.FloatConstant(0.125f)});
    static_assert(kHeadSize == 64, "the factor is 1 / sqrt(64)");
    const std::string weights = graph_.Node("Softmax", {scores}, {{"axis", -1}});
    std::string y = graph_.Node("MatMul", {weights, part(2)});
    y = graph_.Node("Transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}});
    y = ReshapeTo(graph_, y, {batch, tokens, size});
    return Dense(graph_, y, name + ".proj", kHidden, kHidden, 0.04f);
  }

  GraphBuilder graph_;
};

}  // namespace

onnx::ModelProto BuildVitS16() { return VisionTransformer().Build(); }

}  // namespace epiphyte::test
