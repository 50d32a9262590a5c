#include "tests/onnx/microsoft/generation_models.h"

#include <cmath>
#include <cstdio>

namespace epiphyte::test::microsoft {
namespace {

// Dimensions of all models: tokens, width, heads, and the size of a head.
constexpr int kWords = 12, kWidth = 8, kHeads = 2, kSize = kWidth / kHeads;

std::string Dims(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (const int64_t dim : dims) text += (text.size() > 1 ? "," : "") + std::to_string(dim);
  return text + "]";
}

std::string Weights(const std::string& name, const std::vector<int64_t>& dims, int seed, double scale) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::string text = "float" + Dims(dims) + " " + name + " = {";
  for (int64_t i = 0; i < count; ++i) {
    const auto n = static_cast<double>(i);
    char number[32];
    std::snprintf(number, sizeof number, "%s%.5f", i > 0 ? "," : "",
                  std::sin(seed * 12.9898 + n * 78.233 + std::cos(n * seed)) * scale);
    text += number;
  }
  return text + "}";
}

// Initializers and nodes of a graph while it is built.
struct Graph {
  std::string initializers, nodes;

  void Add(const std::string& weights) { initializers += (initializers.empty() ? "" : ", ") + weights; }
  void Node(const std::string& node) { nodes += "  " + node + "\n"; }
  std::string Text(const std::string& head) const {
    return head + (initializers.empty() ? "" : " <" + initializers + ">") + " {\n" + nodes + "}";
  }
};

std::string Past(const std::string& length, const std::string& name) {
  return "float[rows," + std::to_string(kHeads) + "," + length + "," + std::to_string(kSize) + "] " + name;
}

// --- models like GPT-2

std::string GptGraph(const GenerationCase& test, std::string* shared) {
  const int layers = test.form == Form::kGptOfTwoLayers ? 2 : 1;
  Graph graph;
  graph.Add(Weights("W", {kWords, kWidth}, test.seed, 1.0));
  graph.Add(Weights("P", {32, kWidth}, test.seed + 1, 0.7));
  graph.Node("emb = Gather(W, input_ids)");
  graph.Node("pe = Gather(P, position_ids)");
  graph.Node("x_0 = Add(emb, pe)");
  std::string pasts, presents;
  for (int i = 0; i < layers; ++i) {
    const std::string n = std::to_string(i);
    graph.Add(Weights("A" + n, {kWidth, 3 * kWidth}, test.seed + 10 + i, 0.6));
    graph.Add(Weights("B" + n, {3 * kWidth}, test.seed + 20 + i, 0.2));
    graph.Node("a_" + n + ", present_" + n + " = com.microsoft.Attention<num_heads=2, unidirectional=1>(x_" + n +
               ", A" + n + ", B" + n + ", attention_mask, past_" + n + ")");
    graph.Node("x_" + std::to_string(i + 1) + " = Add(x_" + n + ", a_" + n + ")");
    pasts += ", float[2,rows,2,past,4] past_" + n;
    presents += ", float[2,rows,2,total,4] present_" + n;
  }
  graph.Add(Weights("O", {kWidth, kWords}, test.seed + 30, 2.0));
  graph.Node("logits = MatMul(x_" + std::to_string(layers) + ", O)");
  if (test.form == Form::kGptSharedWeights) std::swap(*shared, graph.initializers);
  return graph.Text(
      "decoder = gpt (int32[rows,seq] input_ids, int32[rows,seq] position_ids, int32[rows,total] "
      "attention_mask" +
      pasts + ") => (float[rows,seq,12] logits" + presents + ")");
}

// --- encoder and decoder

// Adds attention of `ids` to earlier tokens and to the encoder's output. With `with_past`, past keys and values
// precede.
void AddStep(Graph* graph, const GenerationCase& test, const std::string& ids, bool with_past) {
  const bool has_mask = test.form != Form::kWhisper;
  const std::string cross = with_past ? "past_" : "present_";
  graph->Add(Weights("W", {kWords, kWidth}, test.seed, 1.0));
  graph->Node("split = Constant<value = int64[4] {0,0,2,-1}>()");
  graph->Node("merge = Constant<value = int64[3] {0,0,-1}>()");
  graph->Node("de = Gather(W, " + ids + ")");
  int weights = 1;
  for (const std::string n : {"q", "k", "v"}) {
    graph->Add(Weights("D" + n, {kWidth, kWidth}, test.seed + weights++, 0.7));
    graph->Node("d" + n + "0 = MatMul(de, D" + n + ")");
    graph->Node("d" + n + "1 = Reshape(d" + n + "0, split)");
    graph->Node("d" + n + "2 = Transpose<perm=[0,2,1,3]>(d" + n + "1)");
  }
  const auto joined = [&](const std::string& which, const std::string& added) {
    graph->Node("present_" + which + "_self_0 = " +
                (with_past ? "Concat<axis=2>(past_" + which + "_self_0, " + added + ")" : "Identity(" + added + ")"));
  };
  joined("key", "dk2");
  joined("value", "dv2");
  graph->Node("dkt = Transpose<perm=[0,1,3,2]>(present_key_self_0)");
  graph->Node("ds = MatMul(dq2, dkt)");
  graph->Node("dp = Softmax<axis=-1>(ds)");
  graph->Node("da = MatMul(dp, present_value_self_0)");
  graph->Node("da1 = Transpose<perm=[0,2,1,3]>(da)");
  graph->Node("da2 = Reshape(da1, merge)");
  graph->Node("dx = Add(de, da2)");
  graph->Add(Weights("Cq", {kWidth, kWidth}, test.seed + 4, 0.7));
  graph->Node("cq0 = MatMul(dx, Cq)");
  graph->Node("cq1 = Reshape(cq0, split)");
  graph->Node("cq2 = Transpose<perm=[0,2,1,3]>(cq1)");
  graph->Node("ckt = Transpose<perm=[0,1,3,2]>(" + cross + "key_cross_0)");
  graph->Node("cs = MatMul(cq2, ckt)");
  if (has_mask) {
    graph->Node("one = Constant<value = float {1.0}>()");
    graph->Node("most = Constant<value = float {10000.0}>()");
    graph->Node("cm = Cast<to=1>(encoder_attention_mask)");
    graph->Node("cm1 = Sub(cm, one)");
    graph->Node("cm2 = Mul(cm1, most)");
    graph->Node("axes = Constant<value = int64[2] {1,2}>()");
    graph->Node("cm3 = Unsqueeze(cm2, axes)");
    graph->Node("csm = Add(cs, cm3)");
  } else {
    graph->Node("csm = Identity(cs)");
  }
  graph->Node("cp = Softmax<axis=-1>(csm)");
  graph->Node("ca = MatMul(cp, " + cross + "value_cross_0)");
  graph->Node("ca1 = Transpose<perm=[0,2,1,3]>(ca)");
  graph->Node("ca2 = Reshape(ca1, merge)");
  graph->Node("dx2 = Add(dx, ca2)");
  graph->Add(Weights("O", {kWidth, kWords}, test.seed + 9, 2.0));
  graph->Node("logits = MatMul(dx2, O)");
}

std::string EncoderGraph(const GenerationCase& test) {
  const bool whisper = test.form == Form::kWhisper, starts = test.form != Form::kCrossEncoder;
  Graph graph;
  if (whisper) {
    graph.Add(Weights("F", {4, kWidth}, test.seed + 7, 0.5));
    graph.Node("frames_first = Transpose<perm=[0,2,1]>(encoder_input_ids)");
    graph.Node("encoder_hidden_states = MatMul(frames_first, F)");
  } else {
    graph.Add(Weights("E", {kWords, kWidth}, test.seed + 8, 1.0));
    graph.Node("encoder_hidden_states = Gather(E, encoder_input_ids)");
  }
  graph.Node("heads = Constant<value = int64[4] {0,0,2,-1}>()");
  int weights = 5;
  for (const std::string n : {"key", "value"}) {
    graph.Add(Weights("C" + n, {kWidth, kWidth}, test.seed + weights++, 0.7));
    graph.Node(n + "0 = MatMul(encoder_hidden_states, C" + n + ")");
    graph.Node(n + "1 = Reshape(" + n + "0, heads)");
    graph.Node("present_" + n + "_cross_0 = Transpose<perm=[0,2,1,3]>(" + n + "1)");
  }
  std::string inputs = whisper ? "float[rows,4,frames] encoder_input_ids"
                               : "int32[rows,encoded] encoder_input_ids, int32[rows,encoded] encoder_attention_mask";
  std::string outputs = Past("encoded", "present_key_cross_0") + ", " + Past("encoded", "present_value_cross_0");
  if (starts) {
    AddStep(&graph, test, "decoder_input_ids", false);
    inputs += whisper ? ", int32[rows,seq] decoder_input_ids" : ", int32[rows,1] decoder_input_ids";
    outputs = std::string("float[rows,") + (whisper ? "seq" : "1") + ",12] logits, float[rows,encoded,8] " +
              "encoder_hidden_states, " + Past("seq", "present_key_self_0") + ", " +
              Past("seq", "present_value_self_0") + ", " + outputs;
  }
  return graph.Text("encoder = e (" + inputs + ") => (" + outputs + ")");
}

std::string DecoderGraph(const GenerationCase& test) {
  Graph graph;
  AddStep(&graph, test, "input_ids", true);
  std::string inputs = "int32[rows,1] input_ids";
  if (test.form != Form::kWhisper) inputs += ", int32[rows,encoded] encoder_attention_mask";
  if (test.form == Form::kEncoder) inputs += ", float[rows,encoded,8] encoder_hidden_states";
  for (const std::string which : {"key_self", "value_self", "key_cross", "value_cross"})
    inputs += ", " + Past(which.find("self") != std::string::npos ? "past" : "encoded", "past_" + which + "_0");
  return graph.Text("decoder = d (" + inputs + ") => (float[rows,1,12] logits, " + Past("total", "present_key_self_0") +
                    ", " + Past("total", "present_value_self_0") + ")");
}

// --- cases

using Numbers = std::vector<double>;
Fed Int(double number) { return {"int32", {}, {number}}; }
Fed Float(double number) { return {"float", {}, {number}}; }
Fed Ints(std::vector<int64_t> dims, Numbers numbers) { return {"int32", std::move(dims), std::move(numbers)}; }
// Returns ones, with zeros at the given places.
Fed Mask(std::vector<int64_t> dims, const std::vector<size_t>& zeros) {
  size_t count = 1;
  for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
  Numbers numbers(count, 1);
  for (const size_t place : zeros) numbers.at(place) = 0;
  return Ints(std::move(dims), std::move(numbers));
}
Fed Features() {
  Numbers numbers;
  for (int i = 0; i < 2 * 4 * 6; ++i) numbers.push_back(std::round(std::sin(i * 1.7) * 1e4) / 1e4);
  return {"float", {2, 4, 6}, numbers};
}

using Inputs = std::map<int, Fed>;
Inputs With(Inputs inputs, Inputs more) {
  more.merge(inputs);
  return more;
}

Inputs Beams(Fed prompt, int most, int beams, int returned) {
  return {{0, std::move(prompt)}, {1, Int(most)}, {2, Int(0)}, {3, Int(beams)}, {4, Int(returned)}, {5, Float(1)}};
}

}  // namespace

std::string GenerationText(const GenerationCase& test) {
  std::string fed, given, graphs, shared;
  for (const auto& [place, input] : test.inputs) {
    const std::string name = "i" + std::to_string(place);
    fed += (fed.empty() ? "" : ", ") + input.type + (input.dims.empty() ? "" : Dims(input.dims)) + " " + name;
  }
  for (int place = 0; place <= test.inputs.rbegin()->first; ++place) {
    given += place == 0 ? "" : ", ";
    given += test.inputs.contains(place) ? "i" + std::to_string(place) : "absent";
  }
  const bool is_gpt =
      test.form == Form::kGpt || test.form == Form::kGptOfTwoLayers || test.form == Form::kGptSharedWeights;
  std::string kind = "0";
  if (is_gpt) {
    graphs = GptGraph(test, &shared);
  } else {
    graphs = EncoderGraph(test) + ", " + DecoderGraph(test);
    kind = test.form == Form::kWhisper ? "2" : "1";
  }
  const bool one = test.op_type != "BeamSearch" && test.op_type != "WhisperBeamSearch";
  const std::string types[] = {one ? "int32[b,n] sequences" : "int32[b,r,n] sequences", "float[b,r] best",
                               "float[t,b,k,v] scores"};
  const std::string names[] = {"sequences", "best", "scores"};
  std::string outputs, made;
  for (int i = 0; i < test.outputs; ++i) {
    outputs += (i > 0 ? ", " : "") + types[i];
    made += (i > 0 ? ", " : "") + names[i];
  }
  return "<ir_version: 8, opset_import: [\"\" : " + std::to_string(test.opset) + ", \"com.microsoft\" : 1]>\ng (" +
         fed + ") => (" + outputs + ")" + (shared.empty() ? "" : " <" + shared + ">") + " {\n" + made +
         " = com.microsoft." + test.op_type + "<model_type=" + kind + ", " + test.attributes + ", " + graphs + ">(" +
         given + ")\n}";
}

std::vector<GenerationCase> GenerationCases() {
  const Fed prompt = Ints({2, 3}, {0, 3, 4, 5, 6, 7}), padded = Ints({2, 4}, {1, 1, 3, 4, 6, 7, 8, 9});
  const Fed behind_pads = Ints({2, 4}, {0, 0, 3, 4, 6, 7, 8, 9});
  const Fed source = Ints({2, 4}, {1, 1, 3, 4, 6, 7, 8, 9});
  const std::string tokens = "eos_token_id=11, pad_token_id=1";
  // If ONNX Runtime ends a greedy search early, it leaves the rest of the sequences uninitialized. Fresh memory is 0,
  // so these cases use 0 as pad token.
  const std::string pads_with_0 = "eos_token_id=11, pad_token_id=0";
  const std::string start = tokens + ", decoder_start_token_id=2";
  std::vector<GenerationCase> cases;
  const auto add = [&](std::string name, Form form, std::string op, std::string attributes, Inputs inputs, int outputs,
                       int seed, int opset = 17) {
    cases.push_back(
        {std::move(name), form, std::move(op), std::move(attributes), std::move(inputs), outputs, seed, opset});
  };
  const auto beam = [&](std::string name, Form form, std::string attributes, Inputs inputs, int seed, int opset = 17) {
    add(std::move(name), form, "BeamSearch", std::move(attributes), std::move(inputs), 3, seed, opset);
  };
  const std::string frequent = "eos_token_id=6, pad_token_id=1";
  beam("gpt_plain", Form::kGpt, tokens, Beams(prompt, 10, 3, 2), 1);
  beam("gpt_padded", Form::kGptOfTwoLayers, tokens, Beams(padded, 12, 4, 4), 2, 13);
  beam("gpt_ends", Form::kGpt, frequent, Beams(prompt, 10, 3, 3), 1);
  beam("gpt_ends_early", Form::kGpt, frequent + ", early_stopping=1", Beams(prompt, 12, 3, 2), 1);
  beam("gpt_other_ends", Form::kGpt, "eos_token_id=5, pad_token_id=0", Beams(padded, 14, 2, 2), 3, 11);
  beam("gpt_lengths", Form::kGpt, frequent, With(Beams(prompt, 11, 3, 3), {{2, Int(7)}, {5, Float(0.4)}}), 1);
  beam("gpt_long_preferred", Form::kGptOfTwoLayers, frequent, With(Beams(prompt, 11, 3, 3), {{5, Float(2.5)}}), 4, 21);
  beam("gpt_repetition", Form::kGpt, tokens + ", no_repeat_ngram_size=2",
       With(Beams(prompt, 12, 3, 2), {{6, Float(1.4)}}), 1);
  beam("gpt_trigrams", Form::kGpt, tokens + ", no_repeat_ngram_size=3", Beams(Ints({1, 1}, {4}), 14, 2, 1), 3, 18);
  beam("gpt_no_word_twice", Form::kGpt, tokens + ", no_repeat_ngram_size=1", Beams(prompt, 8, 2, 2), 5);
  beam("gpt_masked_words", Form::kGpt, tokens,
       With(Beams(prompt, 9, 3, 2), {{7, Mask({12}, {6, 3})}, {8, Mask({2, 12}, {1, 5, 13, 15, 17})}}), 1);
  beam("gpt_attention_mask", Form::kGpt, tokens, With(Beams(padded, 10, 2, 2), {{9, Mask({2, 4}, {0, 3, 5})}}), 6);
  beam("gpt_one_beam", Form::kGptSharedWeights, frequent, Beams(prompt, 9, 1, 1), 7);
  beam("gpt_shared_weights", Form::kGptSharedWeights, tokens + ", vocab_size=12", Beams(prompt, 9, 3, 3), 8, 23);

  const auto greedy = [&](std::string name, Form form, std::string attributes, Inputs inputs, int seed,
                          int opset = 17) {
    add(std::move(name), form, "GreedySearch", std::move(attributes), std::move(inputs), 1, seed, opset);
  };
  greedy("greedy_plain", Form::kGpt, pads_with_0, {{0, behind_pads}, {1, Int(12)}}, 3);
  greedy("greedy_two_layers", Form::kGptOfTwoLayers, pads_with_0, {{0, prompt}, {1, Int(14)}}, 4, 13);
  greedy("greedy_ends", Form::kGpt, "eos_token_id=7, pad_token_id=0", {{0, behind_pads}, {1, Int(12)}, {2, Int(6)}}, 3);
  greedy("greedy_repetition", Form::kGptSharedWeights, pads_with_0, {{0, behind_pads}, {1, Int(14)}, {3, Float(1.8)}},
         3);
  greedy("greedy_masked_words", Form::kGpt, pads_with_0,
         {{0, behind_pads}, {1, Int(10)}, {4, Mask({12}, {2, 6})}, {5, Mask({2, 12}, {3, 4, 20})}}, 3);
  greedy("greedy_attention_mask", Form::kGpt, pads_with_0,
         {{0, behind_pads}, {1, Int(12)}, {6, Mask({2, 4}, {0, 1, 5})}}, 3, 21);

  const auto sample = [&](std::string name, std::string attributes, Inputs inputs, int seed) {
    add(std::move(name), Form::kGpt, "Sampling", std::move(attributes), std::move(inputs), 1, seed);
  };
  sample("sampling_most_likely", pads_with_0 + ", top_p=0.01", {{0, behind_pads}, {1, Int(12)}}, 3);
  sample("sampling_seeded", pads_with_0 + ", top_p=0.9", {{0, behind_pads}, {1, Int(14)}, {8, Int(5)}}, 3);
  sample("sampling_warm", pads_with_0 + ", top_p=0.95, temperature=2.5", {{0, prompt}, {1, Int(16)}, {8, Int(77)}}, 4);
  sample("sampling_custom", pads_with_0 + ", top_p=0.8, custom=1, temperature=1.5",
         {{0, prompt}, {1, Int(16)}, {3, Float(1.3)}, {8, Int(123)}}, 5);
  sample("sampling_unseeded", pads_with_0 + ", top_p=0.99, temperature=3.0, min_tokens_to_keep=3",
         {{0, prompt}, {1, Int(12)}, {2, Int(8)}}, 6);
  sample("sampling_flat", pads_with_0, {{0, behind_pads}, {1, Int(6)}}, 3);

  beam("t5_plain", Form::kEncoder, start, Beams(source, 9, 3, 2), 1);
  beam("t5_no_states", Form::kEncoderUnused, start, Beams(source, 12, 4, 3), 2, 13);
  beam("t5_ends", Form::kEncoder, "eos_token_id=7, pad_token_id=1, decoder_start_token_id=2, early_stopping=1",
       Beams(source, 12, 3, 3), 1);
  beam("t5_repetition", Form::kEncoderUnused, start + ", no_repeat_ngram_size=2",
       With(Beams(source, 12, 2, 2), {{2, Int(5)}, {6, Float(1.3)}}), 1, 18);
  beam("t5_attention_mask", Form::kEncoder, start, With(Beams(source, 8, 3, 1), {{9, Mask({2, 4}, {0, 3, 6})}}), 3);
  beam("t5_masked_words", Form::kEncoder, start,
       With(Beams(source, 8, 3, 2), {{7, Mask({12}, {9})}, {8, Mask({2, 12}, {7, 4, 17})}}), 1);
  beam("t5_cross_only", Form::kCrossEncoder, start, Beams(source, 9, 3, 2), 1);
  beam("t5_cross_only_ends", Form::kCrossEncoder, "eos_token_id=7, pad_token_id=1, decoder_start_token_id=2",
       With(Beams(source, 13, 3, 3), {{5, Float(0.7)}}), 4, 21);
  beam("t5_one_beam", Form::kEncoder, start, Beams(source, 9, 1, 1), 5);

  beam("whisper_plain", Form::kWhisper, start, Beams(Features(), 9, 3, 2), 1);
  beam("whisper_forced", Form::kWhisper, start,
       With(Beams(Features(), 10, 3, 3), {{10, Ints({2, 3}, {2, 5, 4, 2, 8, 3})}}), 2);
  beam("whisper_ends", Form::kWhisper, "eos_token_id=5, pad_token_id=1, decoder_start_token_id=2",
       With(Beams(Features(), 12, 3, 2), {{5, Float(0.5)}}), 1, 13);
  beam("whisper_repetition", Form::kWhisper, start + ", no_repeat_ngram_size=2",
       With(Beams(Features(), 12, 2, 1), {{6, Float(1.2)}}), 3);
  add("whisper_own_operator", Form::kWhisper, "WhisperBeamSearch", start, Beams(Features(), 9, 3, 2), 3, 4);
  add("whisper_warm", Form::kWhisper, "WhisperBeamSearch", start, With(Beams(Features(), 9, 2, 2), {{14, Float(2)}}), 3,
      5);
  const std::string stamps =
      "eos_token_id=5, pad_token_id=1, decoder_start_token_id=2, beginning_timestamp_token_id=7, "
      "no_timestamps_token_id=6, translate_token_id=3, transcribe_token_id=4, start_of_lm_token_id=0";
  const auto timed = [&](std::string name, Inputs more, int seed) {
    add(std::move(name), Form::kWhisper, "WhisperBeamSearch", stamps,
        With(With(Beams(Features(), 12, 3, 3), {{11, Int(1)}, {14, Float(4)}}), std::move(more)), 3, seed);
  };
  timed("whisper_timestamps", {}, 1);
  timed("whisper_timestamps_in_pairs", {}, 2);
  timed("whisper_timestamps_forced", {{10, Ints({2, 3}, {2, 3, 8, 2, 4, 10})}}, 3);
  timed("whisper_timestamps_of_two_beams", {{3, Int(2)}, {4, Int(2)}, {6, Float(1.3)}}, 4);
  timed("whisper_timestamps_longer", {{1, Int(20)}, {14, Float(8)}}, 5);
  return cases;
}

}  // namespace epiphyte::test::microsoft
