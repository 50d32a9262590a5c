// A Llama-style decoder as two graphs over one file of weights: prefill takes a prompt of 64 tokens, decode takes one
// token and the KV cache. RMSNorm, rotary positions, grouped-query attention and SwiGLU are decomposed as exporters
// write them. Positions and the causal mask are computed from the shapes of the inputs, so "past" is the only free
// dimension.

#include <cmath>

#include "tests/models/architectures.h"
#include "tests/models/builder.h"
#include "tests/models/external_weights.h"
#include "tests/models/random_weights.h"

namespace epiphyte::test {
namespace {

constexpr int64_t kLayers = 8;
constexpr int64_t kHidden = 1024;
constexpr int64_t kHeads = 16;
constexpr int64_t kKvHeads = 4;
constexpr int64_t kHeadSize = kHidden / kHeads;
constexpr int64_t kFeedForward = 2816;
constexpr int64_t kVocabulary = 16000;
constexpr int64_t kPromptLength = 64;
constexpr float kMasked = -3.4028235e38f;

// Values that are computed once and read by every layer.
struct Positions {
  std::string cos, sin;  // shape [1, 1, sequence, head]
  std::string mask;      // shape [sequence, past + sequence]; 0 or the most negative float
};

class Decoder {
 public:
  // `past`: symbol or size of the KV cache's length; null for a graph without cache inputs.
  Decoder(GraphBuilder& graph, int64_t sequence, const char* past) : graph_(graph), sequence_(sequence), past_(past) {}

  void Build() {
    const std::string ids = graph_.Input("input_ids", onnx::TensorProto::INT64, {1, sequence_});
    for (int64_t layer = 0; past_ != nullptr && layer < kLayers; ++layer) {
      for (const char* part : {".key", ".value"}) {
        graph_.Input("past." + std::to_string(layer) + part, onnx::TensorProto::FLOAT, {1, kKvHeads, past_, kHeadSize});
      }
    }
    graph_.SetScope("/model");
    std::string x = graph_.Node("Gather", {graph_.Random("model.embed_tokens", {kVocabulary, kHidden}, 1), ids});
    const Positions positions = MakePositions(ids);
    for (int64_t layer = 0; layer < kLayers; ++layer) x = Layer(x, positions, layer);
    graph_.SetScope("");
    x = graph_.Node("MatMul", {RmsNorm(x, "model.norm"), Matrix("lm_head", kHidden, kVocabulary)});
    graph_.Output(x, "logits", onnx::TensorProto::FLOAT, {1, sequence_, kVocabulary});
    const Dimension total = past_ == nullptr ? Dimension(sequence_) : Dimension("past + 1");
    for (const auto& [value, name] : presents_) {
      graph_.Output(value, name, onnx::TensorProto::FLOAT, {1, kKvHeads, total, kHeadSize});
    }
  }

 private:
  std::string Matrix(const std::string& name, int64_t in, int64_t out) {
    return graph_.Random(name, {in, out}, XavierDeviation(in, out));
  }

  std::string Dim(const std::string& value, int64_t axis) {
    return graph_.Node("Gather", {graph_.Node("Shape", {value}), graph_.IntConstant(axis)}, {{"axis", 0}});
  }

  std::string Unsqueeze(const std::string& x, const std::vector<int64_t>& axes) {
    return graph_.Node("Unsqueeze", {x, graph_.IntsConstant(axes)});
  }

  std::string Slice(const std::string& x, int64_t begin, int64_t end, int64_t axis) {
    return graph_.Node("Slice", {x, graph_.IntsConstant({begin}), graph_.IntsConstant({end}),
                                 graph_.IntsConstant({axis}), graph_.IntsConstant({1})});
  }

  Positions MakePositions(const std::string& ids) {
    graph_.SetScope("/model/rotary");
    const std::string zero = graph_.IntConstant(0);
    const std::string one = graph_.IntConstant(1);
    const std::string begin = past_ == nullptr ? zero : Dim("past.0.key", 2);
    const std::string end = graph_.Node("Add", {begin, Dim(ids, 1)});
    const std::string queries = graph_.Node("Range", {begin, end, one});
    const std::string keys = graph_.Node("Range", {zero, end, one});

    std::vector<float> frequencies;
    for (int64_t i = 0; i < kHeadSize; i += 2) {
      frequencies.push_back(std::pow(10000.0f, -static_cast<float>(i) / static_cast<float>(kHeadSize)));
    }
    const std::string frequency = graph_.Floats("model.rotary.inv_freq", {1, kHeadSize / 2}, frequencies);
    const std::string position = graph_.Node("Cast", {queries}, {{"to", int64_t{onnx::TensorProto::FLOAT}}});
    const std::string angle = graph_.Node("MatMul", {Unsqueeze(position, {1}), frequency});
    const std::string angles = Unsqueeze(graph_.Node("Concat", {angle, angle}, {{"axis", -1}}), {0, 1});

    const std::string future = graph_.Node("Greater", {Unsqueeze(keys, {0}), Unsqueeze(queries, {1})});
    const std::string mask = graph_.Node("Where", {future, graph_.FloatConstant(kMasked), graph_.FloatConstant(0)});
    return {graph_.Node("Cos", {angles}), graph_.Node("Sin", {angles}), mask};
  }

  std::string RmsNorm(const std::string& x, const std::string& name) {
    const std::string square = graph_.Node("Pow", {x, graph_.FloatConstant(2)});
    const std::string mean = graph_.Node("ReduceMean", {square}, {{"axes", std::vector<int64_t>{-1}}});
    const std::string root = graph_.Node("Sqrt", {graph_.Node("Add", {mean, graph_.FloatConstant(1e-5f)})});
    const std::string normal = graph_.Node("Mul", {x, graph_.Node("Reciprocal", {root})});
    return graph_.Node("Mul", {graph_.Random(name + ".weight", {kHidden}, 0.1f, 1), normal});
  }

  std::string Heads(const std::string& x, int64_t heads) {
    const std::string split = graph_.Node("Reshape", {x, graph_.IntsConstant({1, -1, heads, kHeadSize})});
    return graph_.Node("Transpose", {split}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  }

  std::string Rotate(const std::string& x, const Positions& positions) {
    const std::string first = Slice(x, 0, kHeadSize / 2, 3);
    const std::string second = Slice(x, kHeadSize / 2, INT64_MAX, 3);
    const std::string turned = graph_.Node("Concat", {graph_.Node("Neg", {second}), first}, {{"axis", -1}});
    return graph_.Node("Add", {graph_.Node("Mul", {x, positions.cos}), graph_.Node("Mul", {turned, positions.sin})});
  }

  // Appends `x` to the cache input, if there is one, and makes the result an output.
  std::string Cached(const std::string& x, int64_t layer, const std::string& part) {
    const std::string suffix = std::to_string(layer) + part;
    const std::string all =
        past_ == nullptr ? graph_.Node("Identity", {x}) : graph_.Node("Concat", {"past." + suffix, x}, {{"axis", 2}});
    presents_.emplace_back(all, "present." + suffix);
    return all;
  }

  // Repeats each KV head for its kHeads / kKvHeads query heads.
  std::string RepeatHeads(const std::string& x) {
    constexpr int64_t kGroup = kHeads / kKvHeads;
    const std::string length = Unsqueeze(Dim(x, 2), {0});
    const std::string expanded_shape =
        graph_.Node("Concat", {graph_.IntsConstant({1, kKvHeads, kGroup}), length, graph_.IntsConstant({kHeadSize})},
                    {{"axis", 0}});
    const std::string shape = graph_.Node(
        "Concat", {graph_.IntsConstant({1, kHeads}), length, graph_.IntsConstant({kHeadSize})}, {{"axis", 0}});
    return graph_.Node("Reshape", {graph_.Node("Expand", {Unsqueeze(x, {2}), expanded_shape}), shape});
  }

  std::string Attention(const std::string& x, const Positions& positions, const std::string& name, int64_t layer) {
    constexpr int64_t kKvSize = kKvHeads * kHeadSize;
    std::string query = Heads(graph_.Node("MatMul", {x, Matrix(name + ".q_proj", kHidden, kHidden)}), kHeads);
    std::string key = Heads(graph_.Node("MatMul", {x, Matrix(name + ".k_proj", kHidden, kKvSize)}), kKvHeads);
    std::string value = Heads(graph_.Node("MatMul", {x, Matrix(name + ".v_proj", kHidden, kKvSize)}), kKvHeads);
    query = Rotate(query, positions);
    key = RepeatHeads(Cached(Rotate(key, positions), layer, ".key"));
    value = RepeatHeads(Cached(value, layer, ".value"));
    const std::string key_t = graph_.Node("Transpose", {key}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    std::string scores = graph_.Node("MatMul", {query, key_t});
    scores = graph_.Node("Div", {scores, graph_.FloatConstant(std::sqrt(static_cast<float>(kHeadSize)))});
    scores = graph_.Node("Softmax", {graph_.Node("Add", {scores, positions.mask})}, {{"axis", -1}});
    const std::string context = graph_.Node("Transpose", {graph_.Node("MatMul", {scores, value})},
                                            {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    const std::string merged = graph_.Node("Reshape", {context, graph_.IntsConstant({1, -1, kHidden})});
    return graph_.Node("MatMul", {merged, Matrix(name + ".o_proj", kHidden, kHidden)});
  }

  std::string Layer(const std::string& x, const Positions& positions, int64_t layer) {
    const std::string name = "model.layers." + std::to_string(layer);
    graph_.SetScope("/" + name);
    const std::string attention =
        Attention(RmsNorm(x, name + ".input_layernorm"), positions, name + ".self_attn", layer);
    const std::string attended = graph_.Node("Add", {x, attention});
    const std::string normal = RmsNorm(attended, name + ".post_attention_layernorm");
    const std::string gate = graph_.Node("MatMul", {normal, Matrix(name + ".mlp.gate_proj", kHidden, kFeedForward)});
    const std::string up = graph_.Node("MatMul", {normal, Matrix(name + ".mlp.up_proj", kHidden, kFeedForward)});
    const std::string swish = graph_.Node("Mul", {gate, graph_.Node("Sigmoid", {gate})});
    const std::string down = graph_.Node(
        "MatMul", {graph_.Node("Mul", {swish, up}), Matrix(name + ".mlp.down_proj", kFeedForward, kHidden)});
    return graph_.Node("Add", {attended, down});
  }

  GraphBuilder& graph_;
  int64_t sequence_;
  const char* past_;
  std::vector<std::pair<std::string, std::string>> presents_;  // value, and the name of its output
};

onnx::ModelProto BuildGraph(const char* name, int64_t sequence, const char* past, ExternalWeights* weights) {
  GraphBuilder graph(name, weights);
  Decoder(graph, sequence, past).Build();
  return FinishModel(std::move(graph), 17);
}

}  // namespace

LlamaModels BuildLlama(const std::filesystem::path& weights_path) {
  ExternalWeights weights(weights_path, "llama.weights");
  LlamaModels models;
  models.prefill = BuildGraph("llama_prefill", kPromptLength, nullptr, &weights);
  models.decode = BuildGraph("llama_decode", 1, "past", &weights);
  weights.Close();
  return models;
}

onnx::ModelProto BuildLlamaWhole(bool decode) {
  return decode ? BuildGraph("llama_decode", 1, "past", nullptr)
                : BuildGraph("llama_prefill", kPromptLength, nullptr, nullptr);
}

}  // namespace epiphyte::test
