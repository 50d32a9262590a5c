// BERT-base for 128 tokens, decomposed as PyTorch exports it at opset 14: layer normalization from ReduceMean and Sqrt,
// Gelu from Erf, attention from Reshape, Transpose, MatMul and Softmax.

#include <cmath>
#include <numeric>

#include "tests/models/architectures.h"
#include "tests/models/transformer.h"

namespace epiphyte::test {
namespace {

constexpr int64_t kLayers = 12;
constexpr int64_t kHidden = 768;
constexpr int64_t kHeads = 12;
constexpr int64_t kHeadSize = kHidden / kHeads;
constexpr int64_t kFeedForward = 3072;
constexpr int64_t kSequence = 128;
constexpr int64_t kVocabulary = 30522;
constexpr int64_t kTokenTypes = 16;  // default of BERT's configuration; its checkpoints use two
// Twice the standard deviation of BERT's initialization. Attention scores then spread over about one unit, as after
// training.
constexpr float kDeviation = 0.04f;

class Bert {
 public:
  explicit Bert(GraphBuilder& graph) : graph_(graph) {}

  std::string Embeddings(const std::string& ids, const std::string& token_types) {
    graph_.SetScope("/embeddings");
    std::vector<int64_t> positions(kSequence);
    std::iota(positions.begin(), positions.end(), 0);
    const std::string position_ids = graph_.Ints("embeddings.position_ids", {1, kSequence}, positions);
    std::string x = Gather("embeddings.word_embeddings.weight", kVocabulary, ids);
    x = graph_.Node("Add", {x, Gather("embeddings.token_type_embeddings.weight", kTokenTypes, token_types)});
    x = graph_.Node("Add", {x, Gather("embeddings.position_embeddings.weight", 512, position_ids)});
    return LayerNorm(x, "embeddings.LayerNorm");
  }

  // Returns the mask to add to scores: 0 where attention is allowed, the most negative float elsewhere.
  std::string ExtendedMask(const std::string& mask) {
    graph_.SetScope("");
    std::string x = graph_.Node("Unsqueeze", {mask, graph_.IntsConstant({1})});
    x = graph_.Node("Unsqueeze", {x, graph_.IntsConstant({2})});
    x = graph_.Node("Cast", {x}, {{"to", int64_t{onnx::TensorProto::FLOAT}}});
    x = graph_.Node("Sub", {graph_.FloatConstant(1), x});
    return graph_.Node("Mul", {x, graph_.FloatConstant(-3.4028235e38f)});
  }

  std::string Layer(const std::string& x, const std::string& mask, int64_t index) {
    const std::string name = "encoder.layer." + std::to_string(index);
    graph_.SetScope("/" + name);
    std::string y = Attention(x, mask, name + ".attention.self");
    y = Dense(y, name + ".attention.output.dense", kHidden, kHidden);
    const std::string attended = LayerNorm(graph_.Node("Add", {y, x}), name + ".attention.output.LayerNorm");
    y = Gelu(graph_, Dense(attended, name + ".intermediate.dense", kHidden, kFeedForward));
    y = Dense(y, name + ".output.dense", kFeedForward, kHidden);
    return LayerNorm(graph_.Node("Add", {y, attended}), name + ".output.LayerNorm");
  }

  std::string Pooler(const std::string& x) {
    graph_.SetScope("/pooler");
    const std::string first = graph_.Node("Gather", {x, graph_.IntConstant(0)}, {{"axis", 1}});
    const std::string weight = graph_.Random("pooler.dense.weight", {kHidden, kHidden}, kDeviation);
    const std::string bias = graph_.Random("pooler.dense.bias", {kHidden}, kDeviation);
    return graph_.Node("Tanh", {graph_.Node("Gemm", {first, weight, bias}, {{"transB", 1}})});
  }

 private:
  std::string Gather(const std::string& table, int64_t rows, const std::string& ids) {
    return graph_.Node("Gather", {graph_.Random(table, {rows, kHidden}, kDeviation), ids});
  }

  std::string Dense(const std::string& x, const std::string& name, int64_t in, int64_t out) {
    return test::Dense(graph_, x, name, in, out, kDeviation);
  }

  std::string LayerNorm(const std::string& x, const std::string& name) {
    return test::LayerNorm(graph_, x, name, kHidden, 1e-12f);
  }

  std::string Heads(const std::string& x, const std::vector<int64_t>& permutation) {
    const std::string split = graph_.Node("Reshape", {x, graph_.IntsConstant({1, kSequence, kHeads, kHeadSize})});
    return graph_.Node("Transpose", {split}, {{"perm", permutation}});
  }

  std::string Attention(const std::string& x, const std::string& mask, const std::string& name) {
    const std::string query = Heads(Dense(x, name + ".query", kHidden, kHidden), {0, 2, 1, 3});
    const std::string key = Heads(Dense(x, name + ".key", kHidden, kHidden), {0, 2, 3, 1});
    const std::string value = Heads(Dense(x, name + ".value", kHidden, kHidden), {0, 2, 1, 3});
    std::string scores = graph_.Node("MatMul", {query, key});
    scores = graph_.Node("Div", {scores, graph_.FloatConstant(std::sqrt(static_cast<float>(kHeadSize)))});
    scores = graph_.Node("Add", {scores, mask});
    const std::string weights = graph_.Node("Softmax", {scores}, {{"axis", -1}});
    const std::string context = graph_.Node("Transpose", {graph_.Node("MatMul", {weights, value})},
                                            {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    return graph_.Node("Reshape", {context, graph_.IntsConstant({1, kSequence, kHidden})});
  }

  GraphBuilder& graph_;
};

}  // namespace

onnx::ModelProto BuildBertBase() {
  GraphBuilder graph("bert_base");
  const std::string ids = graph.Input("input_ids", onnx::TensorProto::INT64, {1, kSequence});
  const std::string mask = graph.Input("attention_mask", onnx::TensorProto::INT64, {1, kSequence});
  const std::string token_types = graph.Input("token_type_ids", onnx::TensorProto::INT64, {1, kSequence});

  Bert bert(graph);
  const std::string extended_mask = bert.ExtendedMask(mask);
  std::string x = bert.Embeddings(ids, token_types);
  for (int64_t layer = 0; layer < kLayers; ++layer) x = bert.Layer(x, extended_mask, layer);
  const std::string pooled = bert.Pooler(x);
  graph.Output(x, "last_hidden_state", onnx::TensorProto::FLOAT, {1, kSequence, kHidden});
  graph.Output(pooled, "pooler_output", onnx::TensorProto::FLOAT, {1, kHidden});
  return FinishModel(std::move(graph), 14);
}

}  // namespace epiphyte::test
