#include "core/onnx/microsoft/beams.h"

#include <limits>

#include "core/onnx/microsoft/attention_core.h"

namespace epiphyte::core::microsoft {
namespace {

// Indices of the states.
constexpr size_t kSequences = 0;    // int32[rows, length]
constexpr size_t kSums = 1;         // float[batch, beams]
constexpr size_t kDone = 2;         // bool[batch, 1]
constexpr size_t kEndedScores = 3;  // float[batch, beams], best first
constexpr size_t kEnded = 4;        // int32[batch, beams, most]

Names TopK(Body& body, const Name& x, const Name& count, bool largest) {
  return body.Ops("TopK", 2, {x, count}, {A("axis", -1), A("largest", largest ? 1 : 0)});
}

}  // namespace

Beams::Beams(Body& body, BeamSizes sizes, size_t length_penalty) : body_(body), sizes_(std::move(sizes)) {
  twice_ = body.Add(sizes_.beams, sizes_.beams);
  penalty_ = body.Has(length_penalty) ? body.Cast(body.Reshape(body.In(length_penalty), {1}), DataType::kFloat)
                                      : body.Reshape(body.Number(1, DataType::kFloat), {1});
  none_ = body.Number(-std::numeric_limits<double>::infinity(), DataType::kFloat);
  pad_ = body.Number(static_cast<double>(body.Int("pad_token_id", -1)), DataType::kInt32);
}

std::vector<State> Beams::Start(const Name& prompt) {
  // All beams of a row start equal, so only the first beam counts in the first turn.
  constexpr double kNotYet = -1e9;
  const Name table = body_.Concat({sizes_.batch, sizes_.beams}, 0);
  const Name is_first = body_.Op("Equal", {Count(body_, sizes_.beams), body_.Integer(0)});
  const Name sums = body_.Where(is_first, body_.Number(0, DataType::kFloat), body_.Number(kNotYet, DataType::kFloat));
  const Name one_each = body_.Concat({sizes_.batch, body_.Integers({1})}, 0);
  const Name ended = body_.Concat({sizes_.batch, sizes_.beams, sizes_.most}, 0);
  return {{prompt, DataType::kInt32, {-1, -1}},
          {body_.Op("Expand", {sums, table}), DataType::kFloat, {-1, -1}},
          {body_.Fill(one_each, 0, DataType::kBool), DataType::kBool, {-1, 1}},
          {body_.Op("Expand", {none_, table}), DataType::kFloat, {-1, -1}},
          {body_.Op("Expand", {pad_, ended}), DataType::kInt32, {-1, -1, -1}}};
}

Name Beams::WithSums(const Names& states, const Name& log_probabilities) {
  return body_.Add(log_probabilities, body_.Reshape(states[kSums], {-1, 1}));
}

// The divisor of the sums: the length to the power of the penalty. float[1]
Name Beams::LengthPenalty(const Name& sequences) {
  return body_.Op("Pow", {body_.Cast(body_.SizeOf(sequences, 1), DataType::kFloat), penalty_});
}

Name Beams::Padded(const Name& sequences) {
  const Name missing = body_.Sub(sizes_.most, body_.SizeOf(sequences, 1));
  const Name padding = body_.Op("Expand", {pad_, body_.Concat({body_.SizeOf(sequences, 0), missing}, 0)});
  return body_.Concat({sequences, padding}, 1);
}

// Picks the rows `places` [batch, k] of `table` [batch, n, most].
Name Beams::PickOfBatch(const Name& table, const Name& places) {
  const Name first = body_.Mul(Count(body_, sizes_.batch), body_.SizeOf(table, 1));
  const Name rows = body_.Op("Reshape", {table, body_.Concat({body_.Integers({-1}), sizes_.most}, 0)});
  return body_.Gather(rows, body_.Add(places, body_.Unsqueeze(first, {1})), 0);
}

Beams::Step Beams::Choose(const Names& states, const Name& scores, const Name& turn) {
  const Name& sequences = states[kSequences];
  const Name& done = states[kDone];
  const Name words = body_.SizeOf(scores, 1);
  const Name one = body_.Number(1, DataType::kFloat), zero = body_.Number(0, DataType::kFloat);
  // Twice as many as there are beams, because at most one candidate per beam ends its sequence.
  const Name all = body_.Op("Reshape", {scores, body_.Concat({sizes_.batch, body_.Integers({-1})}, 0)});
  const Names top = TopK(body_, all, twice_, true);
  const Name beam = body_.Div(top[1], words);
  const Name token = body_.Sub(top[1], body_.Mul(beam, words));
  const Name is_end = body_.Op("Equal", {token, body_.Integers({body_.Int("eos_token_id", -1)})});
  const Name rows_before = body_.Unsqueeze(body_.Mul(Count(body_, sizes_.batch), sizes_.beams), {1});
  const Name row = body_.Add(beam, rows_before);
  const auto best = [&](const Name& x) { return body_.Slice(x, body_.Integers({0}), sizes_.beams, 1); };

  // Sequences that end and are among the best become candidates for the result.
  const Name penalty = LengthPenalty(sequences);
  const Name ends = body_.Op("And", {best(is_end), body_.Op("Not", {done})});
  const Name ended_now = body_.Where(ends, body_.Div(best(top[0]), penalty), none_);
  const Names ended = TopK(body_, body_.Concat({states[kEndedScores], ended_now}, 1), sizes_.beams, true);
  const Name candidates = body_.Gather(Padded(sequences), best(row), 0);
  const Name ended_sequences = PickOfBatch(body_.Concat({states[kEnded], candidates}, 1), ended[1]);

  // A row is done when it has as many finished sequences as beams. Without early stopping it must also be impossible to
  // find a better one. As in ONNX Runtime, the best possible score is taken from `twice` scores that start at index row
  // * beams of all rows' scores. Some of them therefore belong to the previous row.
  const Name worst = body_.Slice(ended[0], -1, kEnd, 1);
  Name finished = body_.Op("Greater", {worst, none_});
  if (body_.Int("early_stopping", 0) != 1) {
    const Name window = body_.Add(rows_before, Count(body_, twice_));
    const Name windows = body_.Gather(body_.Reshape(top[0], {-1}), window, 0);
    const Name possible = body_.Div(body_.ReduceMax(windows, {1}), penalty);
    finished = body_.Op("And", {finished, body_.Op("Not", {body_.Op("Less", {worst, possible})})});
  }
  const Name done_after = body_.Op("Or", {done, finished});

  // The other candidates continue in their order.
  const Name order = body_.Cast(Count(body_, twice_), DataType::kFloat);
  const Name behind = body_.Where(is_end, body_.Cast(twice_, DataType::kFloat), zero);
  const Name places = TopK(body_, body_.Add(behind, order), sizes_.beams, false)[1];
  const auto chosen = [&](const Name& x) { return body_.Op("GatherElements", {x, places}, {A("axis", 1)}); };
  const Name next_tokens = body_.Where(done, pad_, body_.Cast(chosen(token), DataType::kInt32));
  const Name next_rows = body_.Where(done, body_.Integer(0), chosen(row));
  const Name next_sums = body_.Where(done, zero, chosen(top[0]));

  Step step;
  step.chosen.tokens = body_.Reshape(next_tokens, {-1, 1});
  step.chosen.rows = body_.Reshape(next_rows, {-1});
  step.chosen.sequences = body_.Concat({body_.Gather(sequences, step.chosen.rows, 0), step.chosen.tokens}, 1);
  step.chosen.turn = turn;
  step.states = {step.chosen.sequences, next_sums, done_after, ended[0], ended_sequences};
  const Name all_done = body_.Op("ReduceMin", {body_.Where(done_after, one, zero)}, {A("keepdims", 0)});
  step.go_on = body_.Op("Less", {all_done, one});
  return step;
}

Beams::Best Beams::Finish(const Names& states, const Name& count) {
  const Name& sequences = states[kSequences];
  // Sequences of rows that are not done yet count as finished.
  const Name scores = body_.Where(states[kDone], none_, body_.Div(states[kSums], LengthPenalty(sequences)));
  const Names best = TopK(body_, body_.Concat({states[kEndedScores], scores}, 1), count, true);
  const Name padded = Padded(sequences);
  const Name shape = body_.Concat({sizes_.batch, sizes_.beams, sizes_.most}, 0);
  const Name open = body_.Op("Reshape", {padded, shape});
  return {PickOfBatch(body_.Concat({states[kEnded], open}, 1), best[1]), best[0]};
}

}  // namespace epiphyte::core::microsoft
