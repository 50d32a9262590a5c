#include "core/onnx/microsoft/timestamps.h"

#include "core/onnx/microsoft/attention_core.h"

namespace epiphyte::core::microsoft {

// Facts about the sequences. Conditions are bool[rows, 1] unless noted.
struct TimestampRules::State {
  Name words;        // int64[vocabulary]
  Name is_stamp;     // bool[vocabulary]
  Name has_begun;    // tokens exist after the first timestamp; without a timestamp the whole sequence counts
  Name after_stamp;  // the last token is a timestamp
  Name after_pair;   // the token before it is a timestamp too, or no token before it counts
  Name has_stamps;
  Name last_stamp;  // int64[rows, 1]
};

TimestampRules::TimestampRules(Body& body)
    : body_(body), end_(body.Int("eos_token_id", -1)), first_(body.Int("beginning_timestamp_token_id", -1)) {
  if (first_ < 0 || first_ > kEnd)
    body.Reject("attribute 'beginning_timestamp_token_id' is {}, the first timestamp's token expected", first_);
}

// bool[rows, vocabulary]
Name TimestampRules::Forbidden(const State& state) {
  const auto both = [&](const Name& a, const Name& b) { return body_.Op("And", {a, b}); };
  const auto either = [&](const Name& a, const Name& b) { return body_.Op("Or", {a, b}); };
  const auto no = [&](const Name& a) { return body_.Op("Not", {a}); };
  const auto is = [&](std::string_view attribute) {
    return body_.Op("Equal", {state.words, body_.Integers({body_.Int(attribute, -1)})});
  };
  const auto below = [&](const Name& limit) { return body_.Op("Less", {state.words, limit}); };
  const Name never = either(is("no_timestamps_token_id"), is("start_of_lm_token_id"));
  const Name tasks = either(is("decoder_start_token_id"), either(is("translate_token_id"), is("transcribe_token_id")));
  Name forbidden = either(never, both(state.has_begun, tasks));
  // Timestamps come in pairs: a second one must follow the first, none may follow the second.
  const Name pair_is_open = both(state.after_stamp, no(state.after_pair));
  forbidden = either(forbidden, both(both(state.after_stamp, state.after_pair), state.is_stamp));
  forbidden = either(forbidden, both(pair_is_open, below(body_.Integers({end_}))));
  // Timestamps never decrease. Only the second of a pair may equal the first.
  const Name next = body_.Add(state.last_stamp, body_.Integers({1}));
  const Name earliest = body_.Where(pair_is_open, state.last_stamp, next);
  forbidden = either(forbidden, both(state.has_stamps, both(state.is_stamp, below(earliest))));
  // The first timestamp is at most one second after the start; timestamps are 20 milliseconds apart.
  constexpr int64_t kMostAtFirst = 50;
  const Name is_late = no(below(body_.Integers({first_ + kMostAtFirst + 1})));
  return either(forbidden, both(no(state.has_begun), is_late));
}

Name TimestampRules::Process(const Name& scores, const Name& sequences, const Name& least) {
  const DataType number = DataType::kFloat;
  const Name zero = body_.Number(0, number), one = body_.Number(1, number);
  const Name tokens = body_.Cast(sequences, DataType::kInt64);
  const Name length = body_.Cast(body_.SizeOf(tokens, 1), number);
  const Name stamps = body_.Op("Greater", {tokens, body_.Integers({first_ - 1})});
  const Name seen = body_.Op("CumSum", {body_.Cast(stamps, number), body_.Integer(1)});
  State state;
  state.words = Count(body_, body_.SizeOf(scores, 1));
  state.is_stamp = body_.Op("Greater", {state.words, body_.Integers({first_ - 1})});
  const Name before_first = body_.ReduceSum(body_.Where(body_.Op("Greater", {seen, zero}), zero, one), {1}, true);
  state.has_begun = body_.Op("Less", {body_.Add(before_first, one), length});
  state.after_stamp = body_.Slice(stamps, -1, kEnd, 1);
  // A sequence of one token has no previous token; its last token is used instead.
  const Name before_last = body_.Slice(body_.Concat({state.after_stamp, stamps}, 1), -2, -1, 1);
  state.after_pair = body_.Op("Or", {body_.Op("Not", {state.has_begun}), before_last});
  state.has_stamps = body_.Op("Greater", {body_.Slice(seen, -1, kEnd, 1), zero});
  const Name places = body_.Add(body_.Cast(Count(body_, body_.SizeOf(tokens, 1)), number), one);
  const Name last = body_.Op("ArgMax", {body_.Where(stamps, places, zero)}, {A("axis", 1)});
  state.last_stamp = body_.Op("GatherElements", {tokens, last}, {A("axis", 1)});
  const Name allowed = body_.Where(Forbidden(state), least, scores);

  // Text is forbidden if all timestamps together are more likely than the most likely word.
  const Name of_stamps = body_.Slice(allowed, first_, kEnd, 1);
  const Name top = body_.ReduceMax(of_stamps, {1});
  const Name sum = body_.ReduceSum(body_.Op("Exp", {body_.Sub(of_stamps, top)}), {1}, true);
  const Name all_stamps = body_.Add(body_.Op("Log", {sum}), top);
  const Name likeliest = body_.ReduceMax(body_.Slice(allowed, 0, first_, 1), {1});
  const Name gives_way =
      body_.Op("And", {body_.Op("Greater", {all_stamps, likeliest}), body_.Op("Not", {state.is_stamp})});
  return body_.Where(gives_way, least, allowed);
}

}  // namespace epiphyte::core::microsoft
