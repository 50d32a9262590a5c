// A voice-activity network as exporters of scripted models write it: an If on the sampling rate has a whole network in
// each branch, with further Ifs inside. The state of an LSTM is an input and an output. The branches slice and
// concatenate weights of the outer graph. Batch size and number of samples are free.

#include "tests/models/architectures.h"
#include "tests/models/builder.h"

namespace epiphyte::test {
namespace {

constexpr auto kFloat = onnx::TensorProto::FLOAT;
constexpr int64_t kHidden = 64;
constexpr int64_t kLayers = 2;

// Values of the outer graph that a branch reads.
struct Outer {
  std::string audio;
  std::string h;
  std::string c;
  // Weights of the LSTM layers, with the gates in PyTorch's order: i f g o.
  std::string input_weights[kLayers];
  std::string recurrent_weights[kLayers];
  std::string input_biases[kLayers];
  std::string recurrent_biases[kLayers];
};

// Reorders the gates from PyTorch's order to ONNX's order: i o f g.
std::string Reordered(GraphBuilder& graph, const std::string& weight) {
  const auto rows = [&](int64_t from, int64_t to) {
    return graph.Node("Slice", {weight, graph.IntsConstant({from * kHidden}), graph.IntsConstant({to * kHidden}),
                                graph.IntsConstant({0})});
  };
  return graph.Node("Concat", {rows(0, 1), rows(3, 4), rows(1, 3)}, {{"axis", 0}});
}

onnx::GraphProto Handed(const std::string& name, const std::string& value, const std::vector<Dimension>& dims) {
  GraphBuilder branch(name);
  branch.SetScope("/" + name);
  branch.Output(branch.Node("Identity", {value}), name + "_result", kFloat, dims);
  return branch.Take();
}

onnx::GraphProto Unsqueezed(const std::string& name, const std::string& value) {
  GraphBuilder branch(name);
  branch.SetScope("/" + name);
  const std::string result = branch.Node("Unsqueeze", {value, branch.IntsConstant({0})});
  branch.Output(result, name + "_result", kFloat, {1, "batch", "samples"});
  return branch.Take();
}

// Returns a branch that repeats a signal shorter than one window.
onnx::GraphProto Stretched(const std::string& name, const std::string& value, int64_t times) {
  GraphBuilder branch(name);
  branch.SetScope("/" + name);
  const std::string repeats = branch.IntsConstant({1, 1, times});
  branch.Output(branch.Node("Tile", {value, repeats}), name + "_result", kFloat, {"batch", 1, "stretched"});
  return branch.Take();
}

std::string Magnitudes(GraphBuilder& graph, const std::string& audio, const std::string& prefix, int64_t window) {
  const int64_t bins = window / 2 + 1;
  std::string x = graph.Node("Unsqueeze", {audio, graph.IntsConstant({1})});
  const std::string samples = graph.Node("Gather", {graph.Node("Shape", {x}), graph.IntConstant(2)}, {{"axis", 0}});
  const std::string is_short = graph.Node("Less", {samples, graph.IntConstant(window)});
  x = graph.Node("If", {is_short},
                 {{"then_branch", Stretched(prefix + "stretched", x, 4)},
                  {"else_branch", Handed(prefix + "long", x, {"batch", 1, "samples"})}});
  const std::string pads = graph.IntsConstant({0, 0, window / 4, 0, 0, window / 4});
  x = graph.Node("Pad", {x, pads}, {{"mode", "reflect"}});
  x = graph.Node("Conv", {x, graph.Random(prefix + "basis", {2 * bins, 1, window}, 0.06f)},
                 {{"kernel_shape", std::vector<int64_t>{window}}, {"strides", std::vector<int64_t>{window / 2}}});
  const auto half = [&](int64_t from, int64_t to) {
    const std::string part =
        graph.Node("Slice", {x, graph.IntsConstant({from}), graph.IntsConstant({to}), graph.IntsConstant({1})});
    return graph.Node("Pow", {part, graph.FloatConstant(2)});
  };
  x = graph.Node("Sqrt", {graph.Node("Add", {half(0, bins), half(bins, 2 * bins)})});
  const std::string level = graph.Node("Log", {graph.Node("Add", {x, graph.FloatConstant(1e-5f)})});
  const std::string mean = graph.Node("ReduceMean", {level}, {{"axes", std::vector<int64_t>{1, 2}}, {"keepdims", 1}});
  return graph.Node("Concat", {x, graph.Node("Sub", {level, mean})}, {{"axis", 1}});
}

// A block of depthwise and pointwise convolutions with a residual connection.
std::string EncoderBlock(GraphBuilder& graph, const std::string& x, const std::string& prefix, int64_t in, int64_t out,
                         int64_t stride) {
  const std::vector<int64_t> pads = {2, 2};
  std::string y = graph.Node(
      "Conv", {x, graph.Random(prefix + "depthwise", {in, 1, 5}, 0.4f), graph.Random(prefix + "db", {in}, 0.1f)},
      {{"group", in}, {"kernel_shape", std::vector<int64_t>{5}}, {"pads", pads}});
  y = graph.Node("Relu", {y});
  y = graph.Node("Conv",
                 {y, graph.Random(prefix + "pointwise", {out, in, 1}, 0.1f), graph.Random(prefix + "pb", {out}, 0.1f)});
  const std::string around =
      in == out ? x : graph.Node("Conv", {x, graph.Random(prefix + "around", {out, in, 1}, 0.1f)});
  y = graph.Node("Relu", {graph.Node("Add", {y, around})});
  if (stride == 1) return y;
  y = graph.Node("Conv",
                 {y, graph.Random(prefix + "down", {out, out, 1}, 0.15f), graph.Random(prefix + "downb", {out}, 0.1f)},
                 {{"strides", std::vector<int64_t>{stride}}});
  return graph.Node("Relu", {y});
}

onnx::GraphProto Network(const std::string& name, const Outer& outer, int64_t window) {
  GraphBuilder graph(name);
  graph.SetScope("/" + name);
  const std::string prefix = name + ".";
  const int64_t bins = window / 2 + 1;
  // A single signal without a batch dimension gets one. The rank of the input decides it.
  const std::string rank = graph.Node("Size", {graph.Node("Shape", {outer.audio})});
  const std::string is_single = graph.Node("Equal", {rank, graph.IntConstant(1)});
  const std::string batched =
      graph.Node("If", {is_single},
                 {{"then_branch", Unsqueezed(prefix + "single", outer.audio)},
                  {"else_branch", Handed(prefix + "batched", outer.audio, {"batch", "samples"})}});
  std::string x = Magnitudes(graph, batched, prefix, window);
  x = EncoderBlock(graph, x, prefix + "0.", 2 * bins, 16, 2);
  x = EncoderBlock(graph, x, prefix + "1.", 16, 32, 2);
  x = EncoderBlock(graph, x, prefix + "2.", 32, 32, 1);
  x = EncoderBlock(graph, x, prefix + "3.", 32, kHidden, 1);
  x = graph.Node("Transpose", {x}, {{"perm", std::vector<int64_t>{2, 0, 1}}});
  std::vector<std::string> h, c;
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const auto of_layer = [&](const std::string& state) {
      const std::string one = graph.Node("Gather", {state, graph.IntConstant(layer)}, {{"axis", 0}});
      return graph.Node("Unsqueeze", {one, graph.IntsConstant({0})});
    };
    std::vector<std::string> inputs = {x};
    for (const auto* weight : {&outer.input_weights[layer], &outer.recurrent_weights[layer]})
      inputs.push_back(graph.Node("Unsqueeze", {Reordered(graph, *weight), graph.IntsConstant({0})}));
    const std::string biases = graph.Node(
        "Concat", {Reordered(graph, outer.input_biases[layer]), Reordered(graph, outer.recurrent_biases[layer])},
        {{"axis", 0}});
    inputs.push_back(graph.Node("Unsqueeze", {biases, graph.IntsConstant({0})}));
    inputs.insert(inputs.end(), {"", of_layer(outer.h), of_layer(outer.c)});
    const std::vector<std::string> made = graph.NodeWithOutputs("LSTM", inputs, 3, {{"hidden_size", kHidden}});
    x = graph.Node("Squeeze", {made[0], graph.IntsConstant({1})});
    h.push_back(made[1]);
    c.push_back(made[2]);
  }
  x = graph.Node("Transpose", {graph.Node("Relu", {x})}, {{"perm", std::vector<int64_t>{1, 2, 0}}});
  x = graph.Node("Conv", {x, graph.Random(prefix + "decoder", {1, kHidden, 1}, 0.3f),
                          graph.Random(prefix + "decoderb", {1}, 0.1f)});
  x = graph.Node("Sigmoid", {x});
  x = graph.Node("ReduceMean", {x}, {{"axes", std::vector<int64_t>{2}}, {"keepdims", 0}});
  graph.Output(x, name + "_probability", kFloat, {"batch", 1});
  graph.Output(graph.Node("Concat", h, {{"axis", 0}}), name + "_hn", kFloat, {kLayers, "batch", kHidden});
  graph.Output(graph.Node("Concat", c, {{"axis", 0}}), name + "_cn", kFloat, {kLayers, "batch", kHidden});
  return graph.Take();
}

}  // namespace

onnx::ModelProto BuildVoiceActivity() {
  GraphBuilder graph("voice_activity");
  Outer outer;
  outer.audio = graph.Input("audio", kFloat, {"batch", "samples"});
  const std::string rate = graph.Input("rate", onnx::TensorProto::INT64, {});
  outer.h = graph.Input("h", kFloat, {kLayers, "batch", kHidden});
  outer.c = graph.Input("c", kFloat, {kLayers, "batch", kHidden});
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const std::string prefix = "lstm." + std::to_string(layer) + ".";
    outer.input_weights[layer] = graph.Random(prefix + "weight_ih", {4 * kHidden, kHidden}, 0.12f);
    outer.recurrent_weights[layer] = graph.Random(prefix + "weight_hh", {4 * kHidden, kHidden}, 0.12f);
    outer.input_biases[layer] = graph.Random(prefix + "bias_ih", {4 * kHidden}, 0.12f);
    outer.recurrent_biases[layer] = graph.Random(prefix + "bias_hh", {4 * kHidden}, 0.12f);
  }
  const std::string is_wide = graph.Node("Equal", {rate, graph.IntConstant(16000)});
  const std::vector<std::string> made = graph.NodeWithOutputs(
      "If", {is_wide}, 3,
      {{"then_branch", Network("wide", outer, 256)}, {"else_branch", Network("narrow", outer, 128)}});
  graph.Output(made[0], "probability", kFloat, {"batch", 1});
  graph.Output(made[1], "hn", kFloat, {kLayers, "batch", kHidden});
  graph.Output(made[2], "cn", kFloat, {kLayers, "batch", kHidden});
  return FinishModel(std::move(graph), 17);
}

}  // namespace epiphyte::test
