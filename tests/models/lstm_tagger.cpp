// A part-of-speech tagger for any number of tokens: embedding, bidirectional LSTM, dense layer, LogSoftmax.

#include "tests/models/architectures.h"
#include "tests/models/builder.h"

namespace epiphyte::test {

onnx::ModelProto BuildLstmTagger() {
  constexpr int64_t kVocabulary = 5000, kEmbedding = 128, kHidden = 256, kTags = 45;
  GraphBuilder graph("lstm_tagger");
  const std::string tokens = graph.Input("tokens", onnx::TensorProto::INT64, {"seq", 1});
  std::string x = graph.Node("Gather", {graph.Random("embedding.weight", {kVocabulary, kEmbedding}, 1), tokens});

  const float deviation = 0.08f;
  const std::string w = graph.Random("lstm.weight_ih", {2, 4 * kHidden, kEmbedding}, deviation);
  const std::string r = graph.Random("lstm.weight_hh", {2, 4 * kHidden, kHidden}, deviation);
  const std::string b = graph.Random("lstm.bias", {2, 8 * kHidden}, deviation);
  x = graph.NodeWithOutputs("LSTM", {x, w, r, b}, 3, {{"direction", "bidirectional"}, {"hidden_size", kHidden}})[0];

  // The shape [seq, direction, batch, hidden] becomes [seq, batch, direction * hidden].
  x = graph.Node("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  x = graph.Node("Reshape", {x, graph.IntsConstant({0, 0, -1})});
  x = graph.Node("MatMul", {x, graph.Random("tags.weight", {2 * kHidden, kTags}, 0.2f)});
  x = graph.Node("Add", {x, graph.Random("tags.bias", {kTags}, 0.1f)});
  x = graph.Node("LogSoftmax", {x}, {{"axis", 2}});
  graph.Output(x, "tag_scores", onnx::TensorProto::FLOAT, {"seq", 1, kTags});
  return FinishModel(std::move(graph), 17);
}

}  // namespace epiphyte::test
