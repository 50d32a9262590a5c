// BeamSearch, GreedySearch and Sampling: text generation, token by token, with graphs that are attributes of the call.
#include <functional>
#include <memory>

#include "core/onnx/microsoft/attention_core.h"
#include "core/onnx/microsoft/beams.h"
#include "core/onnx/microsoft/decoders.h"
#include "core/onnx/microsoft/table.h"
#include "core/onnx/microsoft/token_scores.h"

namespace epiphyte::core::microsoft {
namespace {

void Append(std::vector<State>* states, std::vector<State> more) {
  for (State& state : more) states->push_back(std::move(state));
}
Names From(const Names& states, size_t first) {
  return {states.begin() + static_cast<std::ptrdiff_t>(first), states.end()};
}
void Append(Names* names, const Names& more) { names->insert(names->end(), more.begin(), more.end()); }

// Number of tokens that may be added, as a scalar.
Name TurnsOf(Body& body, const Name& most, const Name& prompt) {
  return body.Squeeze(body.Sub(most, body.SizeOf(prompt, 1)), {0});
}

// --- beam search

struct BeamSearchInputs {
  static constexpr size_t kMost = 1, kLeast = 2, kBeams = 3, kReturned = 4, kLengthPenalty = 5, kRepetition = 6,
                          kVocabMask = 7, kPrefixMask = 8, kAttentionMask = 9, kDecoderIds = 10, kProcessor = 11;
};

// [turns, batch, beams, vocabulary], with zeros for turns that did not run.
Name AllScores(Body& body, const Name& scores, const Name& turns) {
  const Name missing = body.Sub(body.Reshape(turns, {1}), body.SizeOf(scores, 0));
  const Name rest = body.Slice(body.Op("Shape", {scores}), 1, kEnd, 0);
  return body.Concat({scores, body.Fill(body.Concat({missing, rest}, 0), 0, DataType::kFloat)}, 0);
}

void SearchBeams(Body& body, size_t temperature, int64_t model_type) {
  using I = BeamSearchInputs;
  const BeamSizes sizes = {body.SizeOf(body.Need(0, "input_ids"), 0), OneInteger(body, I::kBeams, "num_beams"),
                           OneInteger(body, I::kMost, "max_length")};
  const std::unique_ptr<Decoder> decoder =
      MakeDecoder(body, {sizes.beams, sizes.most, I::kAttentionMask, I::kDecoderIds, model_type});
  TokenScores rules(body,
                    {.min_length = I::kLeast,
                     .repetition_penalty = I::kRepetition,
                     .vocab_mask = I::kVocabMask,
                     .prefix_vocab_mask = I::kPrefixMask,
                     .temperature = temperature,
                     .processor = I::kProcessor},
                    sizes.beams);
  Beams beams(body, sizes, I::kLengthPenalty);
  std::vector<State> states = beams.Start(decoder->Prompt());
  Append(&states, decoder->Start());
  const Name turns = TurnsOf(body, sizes.most, decoder->Prompt());
  const bool wants_scores = body.Wants(2);
  const auto search = [&](const Names& now, const Name& turn) {
    const Name logits = decoder->Logits(From(now, Beams::kStates), turn);
    Name scores = rules.Process(body.Op("LogSoftmax", {logits}, {A("axis", -1)}), now[0], turn);
    scores = beams.WithSums(now, scores);
    Beams::Step step = beams.Choose(now, scores, turn);
    Append(&step.states, decoder->Next(step.chosen));
    Names slices;
    if (wants_scores) {
      const Name shape = body.Concat({sizes.batch, sizes.beams, body.Integers({-1})}, 0);
      slices.push_back(body.Op("Reshape", {scores, shape}));
    }
    return Turn{step.go_on, step.states, slices};
  };
  const Names end = body.Loop(turns, states, search);
  const Beams::Best best = beams.Finish(end, OneInteger(body, I::kReturned, "num_return_sequences"));
  body.Return(0, best.sequences);
  // The returned scores have the type of the penalties.
  DataType type = DataType::kFloat;
  if (body.Has(I::kLengthPenalty)) type = body.FloatTypeOf(I::kLengthPenalty);
  body.Return(1, body.Cast(best.scores, type));
  if (wants_scores) body.Return(2, body.Cast(AllScores(body, end.back(), turns), type));
}

void BuildBeamSearch(Body& body) { SearchBeams(body, 0, 0); }

void BuildWhisperBeamSearch(Body& body) {
  constexpr size_t kTemperature = 14;
  constexpr int64_t kWhisper = 2;
  body.NoInput(12, "cross_qk_layer_head");
  body.NoInput(13, "extra_decoding_ids");
  body.NoOutput(3, "cross_qk");
  body.NoOutput(4, "non_speech_probs");
  SearchBeams(body, kTemperature, kWhisper);
}

// --- one sequence for each row

// Chooses one token for each row: int64[batch, 1].
using Choose = std::function<Name(const Name& scores, const Name& turn)>;

constexpr size_t kMostLength = 1, kLeastLength = 2;

// States: the sequences, the rows that have ended, and the decoder's states.
void SearchOne(Body& body, const ScoreInputs& inputs, size_t attention_mask, const Choose& choose) {
  constexpr size_t kStates = 2;
  const Name most = OneInteger(body, kMostLength, "max_length");
  const std::unique_ptr<Decoder> decoder =
      MakeDecoder(body, {.beams = {}, .most = most, .attention_mask = attention_mask});
  TokenScores rules(body, inputs, {});
  const Name batch = body.SizeOf(body.In(0), 0);
  const Name pad = body.Number(static_cast<double>(body.Int("pad_token_id", -1)), DataType::kInt32);
  const Name end_token = body.Integers({body.Int("eos_token_id", -1)});
  const Name one = body.Number(1, DataType::kFloat), zero = body.Number(0, DataType::kFloat);
  const Name none_ended = body.Fill(body.Concat({batch, body.Integers({1})}, 0), 0, DataType::kBool);
  std::vector<State> states = {{decoder->Prompt(), DataType::kInt32, {-1, -1}}, {none_ended, DataType::kBool, {-1, 1}}};
  Append(&states, decoder->Start());
  const auto search = [&](const Names& now, const Name& turn) {
    const Name scores = rules.Process(decoder->Logits(From(now, kStates), turn), now[0], turn);
    const Name token = choose(scores, turn);
    const Name ended = body.Op("Or", {now[1], body.Op("Equal", {token, end_token})});
    Chosen chosen;
    chosen.tokens = body.Where(ended, pad, body.Cast(token, DataType::kInt32));
    chosen.sequences = body.Concat({now[0], chosen.tokens}, 1);
    chosen.turn = turn;
    Names next = {chosen.sequences, ended};
    Append(&next, decoder->Next(chosen));
    const Name all_ended = body.Op("ReduceMin", {body.Where(ended, one, zero)}, {A("keepdims", 0)});
    return Turn{body.Op("Less", {all_ended, one}), next, {}};
  };
  const Name sequences = body.Loop(TurnsOf(body, most, decoder->Prompt()), states, search).front();
  const Name missing = body.Sub(most, body.SizeOf(sequences, 1));
  const Name padding = body.Op("Expand", {pad, body.Concat({batch, missing}, 0)});
  body.Return(0, body.Concat({sequences, padding}, 1));
}

void BuildGreedySearch(Body& body) {
  const auto choose = [&](const Name& scores, const Name&) { return body.Op("ArgMax", {scores}, {A("axis", 1)}); };
  SearchOne(body, {.min_length = kLeastLength, .repetition_penalty = 3, .vocab_mask = 4, .prefix_vocab_mask = 5}, 6,
            choose);
}

// --- sampling

// Random numbers equal to those of C++'s std::minstd_rand0 for a seed: Lehmer's generator with multiplier 16807 and
// modulus 2^31 - 1 (Park and Miller, Random number generators: good ones are hard to find, 1988). Returns double[n, 1]
// in [0, 1), each made from two draws. `count` and `seed` are int64[1].
Name UniformNumbers(Body& body, const Name& count, const Name& seed) {
  constexpr int64_t kMultiplier = 16807, kModulus = (int64_t{1} << 31) - 1;
  const Name modulus = body.Integers({kModulus});
  const auto modulo = [&](const Name& x) { return body.Op("Mod", {x, modulus}); };
  const Name draws = body.Add(count, count);
  // Powers of the multiplier; their number doubles each turn.
  const std::vector<State> start = {{body.Integers({kMultiplier}), DataType::kInt64, {-1}}};
  const auto grow = [&](const Names& states, const Name&) {
    const Name last = body.Slice(states[0], -1, kEnd, 0);
    const Name powers = body.Concat({states[0], modulo(body.Mul(states[0], last))}, 0);
    return Turn{body.Squeeze(body.Op("Less", {body.SizeOf(powers, 0), draws}), {0}), {powers}, {}};
  };
  constexpr int64_t kMostTurns = 40;
  const Name powers = body.Loop(body.Integer(kMostTurns), start, grow).front();
  // Negative seeds are converted to unsigned; 0 becomes 1.
  constexpr int64_t kUnsigned = int64_t{1} << 32;
  const Name zero = body.Integers({0}), one = body.Integers({1});
  const Name is_negative = body.Op("Less", {seed, zero});
  const Name reduced = modulo(body.Where(is_negative, body.Add(seed, body.Integers({kUnsigned})), seed));
  const Name first = body.Where(body.Op("Equal", {reduced, zero}), one, reduced);
  const Name drawn = modulo(body.Mul(body.Slice(powers, zero, draws, 0), first));
  const Name digits = body.Cast(body.Sub(body.Reshape(drawn, {-1, 2}), one), DataType::kDouble);
  constexpr double kRange = static_cast<double>(kModulus - 1);
  const Name low = body.Slice(digits, 0, 1, 1), high = body.Slice(digits, 1, 2, 1);
  const Name sum = body.Add(low, body.Mul(high, body.Number(kRange, DataType::kDouble)));
  return body.Div(sum, body.Number(kRange * kRange, DataType::kDouble));
}

// Sets the least likely tokens to filter_value. Together these have a probability of at most 1 - top_p. Scores are
// sorted in ascending order, or in descending order for the custom variant.
Name FilterUnlikely(Body& body, const Name& scores) {
  const bool custom = body.Int("custom", 0) != 0;
  const Name filter = body.Number(body.Float("filter_value", -1e20f), DataType::kFloat);
  const double top_p = body.Float("top_p", 0);
  const Name words = body.SizeOf(scores, 1);
  const Names sorted = body.Ops("TopK", 2, {scores, words}, {A("axis", -1), A("largest", custom ? 1 : 0)});
  const Name likely = body.Softmax(sorted[0]);
  Name dropped;
  if (custom) {
    // Drops the tokens after those that together reach top_p.
    const Name before = body.Op("CumSum", {likely, body.Integer(1)}, {A("exclusive", 1)});
    dropped = body.Op("Greater", {before, body.Number(top_p, DataType::kFloat)});
  } else {
    const Name sum = body.Op("CumSum", {likely, body.Integer(1)});
    const Name is_rare = body.Op("Not", {body.Op("Greater", {sum, body.Number(1 - top_p, DataType::kFloat)})});
    const Name kept = body.Integers({body.Int("min_tokens_to_keep", 0)});
    dropped = body.Op("And", {is_rare, body.Op("Less", {Count(body, words), body.Sub(words, kept)})});
  }
  const Name filtered = body.Where(dropped, filter, sorted[0]);
  return body.Op("ScatterElements", {scores, sorted[1], filtered}, {A("axis", 1)});
}

void BuildSampling(Body& body) {
  constexpr size_t kSeed = 8;
  body.NoOutput(1, "filtered_logits");
  const Name batch = body.SizeOf(body.Need(0, "input_ids"), 0);
  const Name most = OneInteger(body, kMostLength, "max_length");
  const Name seed = body.Has(kSeed) ? OneInteger(body, kSeed, "seed") : body.Integers({0});
  const Name numbers = UniformNumbers(body, body.Mul(batch, most), seed);
  const Name shape = body.Concat({most, batch, body.Integers({1})}, 0);
  const Name of_turns = body.Op("Reshape", {numbers, shape});
  const auto choose = [&](const Name& scores, const Name& turn) {
    const Name wide = body.Cast(FilterUnlikely(body, scores), DataType::kDouble);
    const Name weights = body.Op("Exp", {body.Sub(wide, body.ReduceMax(wide, {1}))});
    const Name sums = body.Op("CumSum", {weights, body.Integer(1)});
    const Name wanted = body.Mul(body.Gather(of_turns, turn, 0), body.Slice(sums, -1, kEnd, 1));
    const Name is_before = body.Op("Not", {body.Op("Greater", {sums, wanted})});
    const Name before = body.ReduceSum(body.Cast(is_before, DataType::kFloat), {1}, true);
    return body.Cast(before, DataType::kInt64);
  };
  SearchOne(body,
            {.min_length = kLeastLength,
             .repetition_penalty = 3,
             .vocab_mask = 4,
             .prefix_vocab_mask = 5,
             .presence_mask = 7},
            6, choose);
}

constexpr Operator kGenerationOperators[] = {
    {"BeamSearch", 5, 12, 3,
     "decoder:g decoder_start_token_id:i early_stopping:i encoder:g eos_token_id:i init_decoder:g model_type:i "
     "no_repeat_ngram_size:i pad_token_id:i vocab_size:i",
     BuildBeamSearch},
    {"GreedySearch", 2, 7, 1,
     "decoder:g decoder_start_token_id:i encoder:g eos_token_id:i init_decoder:g model_type:i no_repeat_ngram_size:i "
     "pad_token_id:i vocab_size:i",
     BuildGreedySearch},
    {"Sampling", 2, 9, 2,
     "custom:i decoder:g decoder_start_token_id:i encoder:g eos_token_id:i filter_value:f init_decoder:g "
     "min_tokens_to_keep:i model_type:i no_repeat_ngram_size:i pad_token_id:i presence_penalty:f temperature:f top_p:f "
     "vocab_size:i",
     BuildSampling},
    {"WhisperBeamSearch", 5, 15, 5,
     "beginning_timestamp_token_id:i decoder:g decoder_output_cross_qk:i decoder_start_token_id:i early_stopping:i "
     "encoder:g eos_token_id:i init_decoder:g model_type:i no_repeat_ngram_size:i no_speech_token_id:i "
     "no_timestamps_token_id:i "
     "pad_token_id:i start_of_lm_token_id:i transcribe_token_id:i translate_token_id:i vocab_size:i",
     BuildWhisperBeamSearch},
};

}  // namespace

std::span<const Operator> GenerationOperators() { return kGenerationOperators; }

}  // namespace epiphyte::core::microsoft
