#include "core/onnx/microsoft/token_scores.h"

#include <cstring>

#include "core/onnx/microsoft/attention_core.h"

namespace epiphyte::core::microsoft {
namespace {

// No model uses longer n-grams, and each needs nodes.
constexpr int64_t kLongestNgram = 64;

bool Given(const Body& body, size_t input) { return input != 0 && body.Has(input); }

Name OneFloat(Body& body, size_t input) { return body.Cast(body.Reshape(body.In(input), {1}), DataType::kFloat); }

// The value of a one-element input that is known before the run.
template <typename T>
std::optional<T> KnownValue(const Body& body, size_t input, DataType type) {
  const ConstantPtr constant = body.ConstantOf(input);
  if (constant == nullptr || constant->type() != type || constant->element_count() != 1) return std::nullopt;
  T value = 0;
  std::memcpy(&value, constant->bytes(), sizeof value);
  return value;
}

Name IsZero(Body& body, const Name& mask) {
  return body.Op("Equal", {body.Cast(mask, DataType::kInt32), body.Number(0, DataType::kInt32)});
}

}  // namespace

TokenScores::TokenScores(Body& body, const ScoreInputs& inputs, const Name& beams) : body_(body), inputs_(inputs) {
  least_ = body.Lowest(DataType::kFloat);
  if (Given(body, inputs.repetition_penalty) &&
      KnownValue<float>(body, inputs.repetition_penalty, DataType::kFloat) != 1.0f)
    repetition_penalty_ = OneFloat(body, inputs.repetition_penalty);
  if (Given(body, inputs.vocab_mask)) vocab_mask_ = IsZero(body, body.In(inputs.vocab_mask));
  if (Given(body, inputs.prefix_vocab_mask)) {
    Name mask = body.In(inputs.prefix_vocab_mask);
    if (!beams.empty()) {
      const Name batch = body.SizeOf(mask, 0), words = body.SizeOf(mask, 1);
      mask = body.Op("Expand", {body.Unsqueeze(mask, {1}), body.Concat({batch, beams, words}, 0)});
      mask = body.Op("Reshape", {mask, body.Concat({body.Integers({-1}), words}, 0)});
    }
    prefix_mask_ = IsZero(body, mask);
  }
  if (Given(body, inputs.min_length)) min_length_ = OneInteger(body, inputs.min_length, "min_length");
  if (Given(body, inputs.temperature)) {
    temperature_ = OneFloat(body, inputs.temperature);
  } else if (const float temperature = body.Float("temperature", 1); temperature > 0 && temperature != 1) {
    temperature_ = body.Number(temperature, DataType::kFloat);
  }
  const float presence = body.Float("presence_penalty", 0);
  if (Given(body, inputs.presence_mask) && presence != 0) {
    const Name mask = body.Cast(body.In(inputs.presence_mask), DataType::kFloat);
    presence_penalty_ = body.Mul(mask, body.Number(presence, DataType::kFloat));
  }
  if (Given(body, inputs.processor)) {
    const std::optional<int32_t> kind = KnownValue<int32_t>(body, inputs.processor, DataType::kInt32);
    if (kind && *kind != 0 && *kind != 1)
      body.Unsupported("input {} (logits_processor) is {}, 0 (none) or 1 (timestamps) expected", inputs.processor,
                       *kind);
    if (!kind) processor_ = OneInteger(body, inputs.processor, "logits_processor");
    if (!kind || *kind == 1) timestamps_.emplace(body);
  }
}

Name TokenScores::Process(Name scores, const Name& sequences, const Name& turn) {
  const Name words = body_.Cast(sequences, DataType::kInt64);
  if (!repetition_penalty_.empty()) scores = PenalizeRepetition(scores, words);
  const int64_t ngram = body_.Int("no_repeat_ngram_size", 0);
  if (ngram > kLongestNgram)
    body_.Unsupported("attribute 'no_repeat_ngram_size' is {}, {} at most supported", ngram, kLongestNgram);
  if (ngram > 0) scores = ForbidRepeatedNgrams(scores, words, ngram);
  if (!vocab_mask_.empty()) scores = body_.Where(vocab_mask_, least_, scores);
  if (!prefix_mask_.empty()) {
    const Name is_first = body_.Op("Equal", {turn, body_.Integer(0)});
    scores = body_.Where(body_.Op("And", {prefix_mask_, is_first}), least_, scores);
  }
  if (!min_length_.empty()) scores = ForbidEnd(scores, sequences);
  if (!temperature_.empty()) scores = body_.Div(scores, temperature_);
  if (!presence_penalty_.empty()) scores = body_.Sub(scores, presence_penalty_);
  return timestamps_ ? FollowRules(scores, sequences) : scores;
}

Name TokenScores::FollowRules(const Name& scores, const Name& sequences) {
  const Name ruled = timestamps_->Process(scores, sequences, least_);
  if (processor_.empty()) return ruled;
  return body_.Where(body_.Op("Equal", {processor_, body_.Integers({1})}), ruled, scores);
}

// Makes tokens that already occur in the sequence less likely.
Name TokenScores::PenalizeRepetition(const Name& scores, const Name& words) {
  const Name zero = body_.Number(0, DataType::kFloat);
  const Name none = body_.Fill(body_.Op("Shape", {scores}), 0, DataType::kFloat);
  const Name ones = body_.Fill(body_.Op("Shape", {words}), 1, DataType::kFloat);
  const Name occurs = body_.Op("ScatterElements", {none, words, ones}, {A("axis", 1)});
  const Name more = body_.Mul(scores, repetition_penalty_), less = body_.Div(scores, repetition_penalty_);
  const Name penalized = body_.Where(body_.Op("Less", {scores, zero}), more, less);
  return body_.Where(body_.Op("Greater", {occurs, zero}), penalized, scores);
}

// Forbids tokens that would complete an n-gram that the sequence already contains.
Name TokenScores::ForbidRepeatedNgrams(const Name& scores, const Name& words, int64_t size) {
  const Name rows = body_.SizeOf(words, 0), length = body_.SizeOf(words, 1), count = body_.SizeOf(scores, 1);
  // Sequences shorter than an n-gram are padded at the front with a token that equals no other.
  constexpr double kNoWord = -1;
  const Name before = body_.Concat({rows, body_.Integers({size})}, 0);
  const Name all =
      body_.Concat({body_.Cast(body_.Fill(before, kNoWord, DataType::kInt32), DataType::kInt64), words}, 1);
  // One window for each possible position of an n-gram.
  const Name windows = body_.Add(length, body_.Integers({1}));
  const auto window = [&](int64_t offset) {
    const Name begin = body_.Integers({offset});
    return body_.Slice(all, begin, body_.Add(begin, windows), 1);
  };
  const Name candidates = window(size - 1);
  Name fits = body_.Op("Greater", {candidates, body_.Integers({-1})});
  for (int64_t i = 0; i + 1 < size; ++i) {
    const int64_t from_end = size - 1 - i;
    const Name last = body_.Slice(all, -from_end, from_end == 1 ? kEnd : 1 - from_end, 1);
    fits = body_.Op("And", {fits, body_.Op("Equal", {window(i), last})});
  }
  // Other positions write to one extra column, which is dropped.
  const Name places = body_.Where(fits, candidates, count);
  const Name shape = body_.Concat({rows, body_.Add(count, body_.Integers({1}))}, 0);
  const Name none = body_.Fill(shape, 0, DataType::kFloat);
  const Name ones = body_.Fill(body_.Op("Shape", {places}), 1, DataType::kFloat);
  const Name found = body_.Op("ScatterElements", {none, places, ones}, {A("axis", 1)});
  const Name is_found =
      body_.Op("Greater", {body_.Slice(found, body_.Integers({0}), count, 1), body_.Number(0, DataType::kFloat)});
  return body_.Where(is_found, least_, scores);
}

Name TokenScores::ForbidEnd(const Name& scores, const Name& sequences) {
  const Name words = Count(body_, body_.SizeOf(scores, 1));
  const Name is_end = body_.Op("Equal", {words, body_.Integers({body_.Int("eos_token_id", -1)})});
  const Name is_short = body_.Op("Less", {body_.SizeOf(sequences, 1), min_length_});
  return body_.Where(body_.Op("And", {is_end, is_short}), least_, scores);
}

}  // namespace epiphyte::core::microsoft
