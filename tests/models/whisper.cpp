// A speech recogniser with Whisper's architecture and the size of its tiny model. The encoder takes thirty seconds of
// mel bands and begins with two convolutions. One step of the decoder takes one token, the keys and values of the
// earlier tokens, and those of the encoder's frames. The token table, transposed in the graph, is also the weight of
// the last product.

#include "tests/models/architectures.h"
#include "tests/models/transformer.h"

namespace epiphyte::test {
namespace {

constexpr auto kFloat = onnx::TensorProto::FLOAT;
constexpr int64_t kHidden = 384;
constexpr int64_t kHeads = 6;
constexpr int64_t kHeadSize = kHidden / kHeads;
constexpr int64_t kFeedForward = 4 * kHidden;
constexpr int64_t kLayers = 4;
constexpr int64_t kBands = 80;
constexpr int64_t kFrames = 1500;  // positions of the encoder; each covers two steps of the mel bands
constexpr int64_t kVocabulary = 51865;
constexpr int64_t kPositions = 448;
constexpr float kEpsilon = 1e-5f;
constexpr float kDeviation = 0.05f;

using Ints = std::vector<int64_t>;

class Whisper {
 public:
  explicit Whisper(const char* name) : graph_(name) {}

  onnx::ModelProto BuildEncoder() {
    std::string x = graph_.Input("input_features", kFloat, {"batch", kBands, 2 * kFrames});
    graph_.SetScope("/encoder");
    x = Gelu(graph_, Conv(x, "encoder.conv1", kBands, 1));
    x = Gelu(graph_, Conv(x, "encoder.conv2", kHidden, 2));
    x = graph_.Node("Transpose", {x}, {{"perm", Ints{0, 2, 1}}});
    x = graph_.Node("Add", {x, graph_.Random("encoder.embed_positions.weight", {kFrames, kHidden}, 0.3f)});
    for (int64_t layer = 0; layer < kLayers; ++layer) {
      const std::string name = "encoder.layers." + std::to_string(layer);
      graph_.SetScope("/" + name);
      const std::string normal = Norm(x, name + ".self_attn_layer_norm");
      const std::string self = name + ".self_attn";
      const std::string attended =
          Attend(Query(normal, self), Heads(KeyProduct(normal, self)), Heads(ValueProduct(normal, self)), normal, self);
      x = graph_.Node("Add", {x, attended});
      x = FeedForward(x, name);
    }
    graph_.SetScope("/encoder");
    graph_.Output(Norm(x, "encoder.layer_norm"), "last_hidden_state", kFloat, {"batch", kFrames, kHidden});
    return FinishModel(std::move(graph_), 14);
  }

  onnx::ModelProto BuildDecoderStep() {
    const std::string ids = graph_.Input("input_ids", onnx::TensorProto::INT64, {"batch", 1});
    const auto past = [&](int64_t layer, const char* part, const Dimension& length) {
      const std::string name = "past_key_values." + std::to_string(layer) + part;
      return graph_.Input(name, kFloat, {"batch", kHeads, length, kHeadSize});
    };
    std::vector<std::string> key, value, encoder_key, encoder_value;
    for (int64_t layer = 0; layer < kLayers; ++layer) {
      key.push_back(past(layer, ".decoder.key", "past"));
      value.push_back(past(layer, ".decoder.value", "past"));
      encoder_key.push_back(past(layer, ".encoder.key", kFrames));
      encoder_value.push_back(past(layer, ".encoder.value", kFrames));
    }
    graph_.SetScope("/decoder");
    const std::string table = graph_.Random("decoder.embed_tokens.weight", {kVocabulary, kHidden}, kDeviation);
    std::string x = graph_.Node("Gather", {table, ids});
    x = graph_.Node("Add", {x, Position(key[0])});
    std::vector<std::pair<std::string, std::string>> presents;
    for (size_t layer = 0; layer < key.size(); ++layer) {
      const std::string number = std::to_string(layer), name = "decoder.layers." + number;
      graph_.SetScope("/" + name);
      std::string normal = Norm(x, name + ".self_attn_layer_norm");
      const std::string self = name + ".self_attn", cross = name + ".encoder_attn";
      const std::string query = Query(normal, self);
      const auto grown = [&](const std::string& before, const std::string& now, const char* part) {
        const std::string all = graph_.Node("Concat", {before, Heads(now)}, {{"axis", 2}});
        presents.emplace_back(all, "present." + number + part);
        return all;
      };
      const std::string keys = grown(key[layer], KeyProduct(normal, self), ".decoder.key");
      const std::string values = grown(value[layer], ValueProduct(normal, self), ".decoder.value");
      x = graph_.Node("Add", {x, Attend(query, keys, values, normal, self)});
      normal = Norm(x, name + ".encoder_attn_layer_norm");
      x = graph_.Node("Add",
                      {x, Attend(Query(normal, cross), encoder_key[layer], encoder_value[layer], normal, cross)});
      x = FeedForward(x, name);
    }
    graph_.SetScope("");
    x = Norm(x, "decoder.layer_norm");
    x = graph_.Node("MatMul", {x, graph_.Node("Transpose", {table}, {{"perm", Ints{1, 0}}})});
    graph_.Output(x, "logits", kFloat, {"batch", 1, kVocabulary});
    for (const auto& [all, name] : presents) {
      graph_.Output(all, name, kFloat, {"batch", kHeads, "past + 1", kHeadSize});
    }
    return FinishModel(std::move(graph_), 14);
  }

 private:
  std::string Conv(const std::string& x, const std::string& name, int64_t in, int64_t stride) {
    return graph_.Node(
        "Conv",
        {x, graph_.Random(name + ".weight", {kHidden, in, 3}, 0.05f), graph_.Random(name + ".bias", {kHidden}, 0.05f)},
        {{"dilations", Ints{1}},
         {"group", 1},
         {"kernel_shape", Ints{3}},
         {"pads", Ints{1, 1}},
         {"strides", Ints{stride}}});
  }

  std::string Norm(const std::string& x, const std::string& name) {
    return LayerNorm(graph_, x, name, kHidden, kEpsilon);
  }

  // Returns the row of the position table for the new token. Its index is the number of past positions.
  std::string Position(const std::string& past) {
    const std::string begin = SizeOf(graph_, past, 2);
    const std::string end = graph_.Node("Add", {begin, graph_.IntsConstant({1})});
    const std::string table = graph_.Random("decoder.embed_positions.weight", {kPositions, kHidden}, kDeviation);
    return graph_.Node("Slice", {table, begin, end, graph_.IntsConstant({0})});
  }

  // Queries are scaled before they are multiplied by keys.
  std::string Query(const std::string& x, const std::string& name) {
    const std::string query = Dense(graph_, x, name + ".q_proj", kHidden, kHidden, kDeviation);
    static_assert(kHeadSize == 64, "the factor is 1 / sqrt(64)");
    return Heads(graph_.Node("Mul", {query, graph_.FloatConstant(0.125f)}));
  }
  // The product for keys has no bias.
  std::string KeyProduct(const std::string& x, const std::string& name) {
    return graph_.Node("MatMul", {x, graph_.Random(name + ".k_proj.weight", {kHidden, kHidden}, kDeviation)});
  }
  std::string ValueProduct(const std::string& x, const std::string& name) {
    return Dense(graph_, x, name + ".v_proj", kHidden, kHidden, kDeviation);
  }

  std::string Heads(const std::string& x) {
    const std::string split = ReshapeTo(graph_, x,
                                        {SizeOf(graph_, x, 0), graph_.IntsConstant({-1}), graph_.IntsConstant({kHeads}),
                                         graph_.IntsConstant({kHeadSize})});
    return graph_.Node("Transpose", {split}, {{"perm", Ints{0, 2, 1, 3}}});
  }

  // Returns the attention's output in the shape of `like`.
  std::string Attend(const std::string& query, const std::string& keys, const std::string& values,
                     const std::string& like, const std::string& name) {
    const std::string turned = graph_.Node("Transpose", {keys}, {{"perm", Ints{0, 1, 3, 2}}});
    const std::string weights = graph_.Node("Softmax", {graph_.Node("MatMul", {query, turned})}, {{"axis", -1}});
    std::string y = graph_.Node("MatMul", {weights, values});
    y = graph_.Node("Transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}});
    y = ReshapeTo(graph_, y, {SizeOf(graph_, like, 0), SizeOf(graph_, like, 1), graph_.IntsConstant({kHidden})});
    return Dense(graph_, y, name + ".out_proj", kHidden, kHidden, kDeviation);
  }

  std::string FeedForward(const std::string& x, const std::string& name) {
    std::string y = Norm(x, name + ".final_layer_norm");
    y = Gelu(graph_, Dense(graph_, y, name + ".fc1", kHidden, kFeedForward, kDeviation));
    return graph_.Node("Add", {x, Dense(graph_, y, name + ".fc2", kFeedForward, kHidden, 0.02f)});
  }

  GraphBuilder graph_;
};

}  // namespace

onnx::ModelProto BuildWhisperEncoder() { return Whisper("whisper_encoder").BuildEncoder(); }
onnx::ModelProto BuildWhisperDecoder() { return Whisper("whisper_decoder").BuildDecoderStep(); }

}  // namespace epiphyte::test
