// DecoderMaskedMultiHeadAttention and DecoderMaskedSelfAttention: attention of one new token to the previous tokens.
// Their keys and values are in buffers, and may have been computed for another beam.
#include "core/onnx/microsoft/attention_core.h"
#include "core/onnx/microsoft/table.h"

namespace epiphyte::core::microsoft {
namespace {

constexpr size_t kNoInput = SIZE_MAX;

// Indices of the inputs that differ between the operators.
struct InputPlaces {
  size_t mask, bias_of_scores, past_length, beam_width, indirection;
};

// Indices of the further inputs of the operators with query, key and value.
struct MultiHeadPlaces {
  size_t past_key, past_value, bias;
  InputPlaces others;
};

class MaskedAttention {
 public:
  // `shares_buffer`: the past is a buffer with spare room, into which the new keys and values go.
  MaskedAttention(Body& body, const InputPlaces& places, bool shares_buffer)
      : body_(body), places_(places), shares_buffer_(shares_buffer) {
    attention_.type = body_.FloatTypeOf(0);
    attention_.scale = body_.Float("scale", 0);
    if (body_.Has(places_.indirection)) TakeBeams();
  }

  // For each position of a row's past, the row of the buffers that holds it: [rows, most].
  void TakeBeams() {
    const bool has_width = places_.beam_width != kNoInput && body_.Has(places_.beam_width);
    const Name width = has_width ? OneInteger(body_, places_.beam_width, "beam_width")
                                 : body_.SizeOf(body_.In(places_.indirection), 1);
    const Name table = body_.Cast(body_.In(places_.indirection), DataType::kInt64);
    const Name most = body_.SizeOf(table, 2);
    const Name beams = body_.Op("Reshape", {table, body_.Concat({body_.Integers({-1}), most}, 0)});
    const Name rows = Count(body_, body_.SizeOf(beams, 0));
    const Name first = body_.Mul(body_.Div(rows, width), width);
    beams_ = body_.Add(beams, body_.Unsqueeze(first, {1}));
  }

  void SetHeads(int64_t width) {
    attention_.heads = attention_.groups = HeadsOf(body_, "num_heads", width);
    attention_.size = width < 0 ? -1 : width / attention_.heads;
  }

  Name Heads(const Name& x) { return SplitHeads(body_, x, attention_.heads); }

  // Appends the new keys or values to the past, in `*attended`. Returns the value for the operator's output.
  Name WithPast(const Name& past, const Name& added, Name* attended) {
    if (!shares_buffer_) return *attended = body_.Concat({past, added}, 2);
    const Name length = OneInteger(body_, places_.past_length, "past_sequence_length");
    const Cached cached = AppendToBuffer(body_, past, length, added);
    *attended = beams_.empty() ? cached.attended : body_.Concat({OfBeams(past, length), added}, 2);
    return cached.buffer;
  }

  // Gathers the past of each row from the buffer rows in the beam table.
  Name OfBeams(const Name& past, const Name& length) {
    const Name rows = body_.Slice(beams_, body_.Integers({0}), length, 1);
    const Name positions = body_.Op("Expand", {Count(body_, length), body_.Op("Shape", {rows})});
    const Name places = body_.Concat({body_.Unsqueeze(rows, {2}), body_.Unsqueeze(positions, {2})}, 2);
    const Name found = body_.Op("GatherND", {body_.Transpose(past, {0, 2, 1, 3}), places});
    return body_.Transpose(found, {0, 2, 1, 3});
  }

  // Adds the masks and runs the attention. Returns the scores.
  Name Finish() {
    if (body_.Has(places_.mask)) {
      const size_t rank = body_.RankOf(places_.mask);
      if (rank != 2) body_.Unsupported("the mask has {} dimensions, 2 expected: of a row and its tokens", rank);
      const Name mask = body_.Cast(body_.In(places_.mask), DataType::kInt32);
      const Name keep = body_.Op("Greater", {mask, body_.Number(0, DataType::kInt32)});
      const Name masked = body_.Number(body_.Float("mask_filter_value", -10000.0f), attention_.type);
      attention_.mask = MaskFrom(body_, body_.Unsqueeze(keep, {1, 2}), masked, attention_.type);
    }
    attention_.mask = body_.AddIf(attention_.mask, body_.In(places_.bias_of_scores));
    Name scores;
    body_.Return(0, MergeHeads(body_, Attend(body_, attention_, &scores)));
    return scores;
  }

  AttentionParts& parts() { return attention_; }

 private:
  Body& body_;
  const InputPlaces places_;
  const bool shares_buffer_;
  AttentionParts attention_;
  Name beams_;  // empty: each row uses its own past
};

bool SharesBuffer(const Body& body) { return body.Int("past_present_share_buffer", 0) != 0; }

void BuildWithHeads(Body& body, const MultiHeadPlaces& places, bool shares_buffer) {
  constexpr size_t kQuery = 0, kKey = 1, kValue = 2;
  MaskedAttention attention(body, places.others, shares_buffer);
  AttentionParts& parts = attention.parts();
  const Name query = body.Need(kQuery, "query");
  if (body.Has(kKey) != body.Has(kValue)) body.Reject("key and value go together, one of them is missing");
  if (body.Has(places.past_key) != body.Has(places.past_value))
    body.Reject("past_key and past_value go together, one is missing");
  const Names bias = body.Has(places.bias) ? body.Split(body.In(places.bias), 3, 0) : Names{{}, {}, {}};
  const bool packed = !body.Has(kKey);
  const int64_t width = body.DimIfKnown(kQuery, 2);
  attention.SetHeads(packed && width >= 0 ? width / 3 : width);
  // Cross-attention keys and values come already split into heads and with bias.
  const bool cross = !packed && body.RankOf(kKey) == 4;
  if (cross && (body.Has(places.past_key) || body.Wants(1) || body.Wants(2)))
    body.Reject("the keys are those of an encoder (4 dimensions), which have neither a past nor a present");
  Names parts_of_query = {query, body.In(kKey), body.In(kValue)};
  if (packed) parts_of_query = body.Split(query, 3, 2);
  parts.q = attention.Heads(body.AddIf(parts_of_query[0], bias[0]));
  if (cross) {
    parts.k = body.In(kKey);
    parts.v = body.In(kValue);
  } else {
    parts.k = attention.Heads(body.AddIf(parts_of_query[1], bias[1]));
    parts.v = attention.Heads(body.AddIf(parts_of_query[2], bias[2]));
    Name k = parts.k, v = parts.v;
    if (body.Has(places.past_key)) {
      k = attention.WithPast(body.In(places.past_key), k, &parts.k);
      v = attention.WithPast(body.In(places.past_value), v, &parts.v);
    }
    body.Return(1, k);
    body.Return(2, v);
  }
  body.Return(3, attention.Finish());
}

void BuildDecoderMaskedMultiHeadAttention(Body& body) {
  BuildWithHeads(body, {5, 6, 10, {3, 4, 7, 8, 9}}, SharesBuffer(body));
}

void BuildDecoderMaskedSelfAttention(Body& body) {
  constexpr size_t kPast = 4;
  constexpr InputPlaces kPlaces = {3, 5, 6, 7, 8};
  body.Only("do_rotary", 0);
  MaskedAttention attention(body, kPlaces, SharesBuffer(body));
  AttentionParts& parts = attention.parts();
  const int64_t width = body.DimIfKnown(1, 1);
  attention.SetHeads(width < 0 ? -1 : width / 3);
  const Name product = body.MatMul(body.Need(0, "input"), body.Need(1, "weights"));
  const Names projected = body.Split(body.Add(product, body.Need(2, "bias")), 3, 2);
  const Names past = body.Split(body.Need(kPast, "past"), 2, 0);
  parts.q = attention.Heads(projected[0]);
  const Name k = attention.WithPast(body.Squeeze(past[0], {0}), attention.Heads(projected[1]), &parts.k);
  const Name v = attention.WithPast(body.Squeeze(past[1], {0}), attention.Heads(projected[2]), &parts.v);
  body.Return(1, body.Concat({body.Unsqueeze(k, {0}), body.Unsqueeze(v, {0})}, 0));
  attention.Finish();
}

constexpr Operator kMaskedAttentionOperators[] = {
    {"DecoderMaskedMultiHeadAttention", 1, 11, 4,
     "mask_filter_value:f num_heads:i output_qk:i past_present_share_buffer:i scale:f",
     BuildDecoderMaskedMultiHeadAttention},
    {"DecoderMaskedSelfAttention", 7, 9, 2,
     "do_rotary:i mask_filter_value:f num_heads:i past_present_share_buffer:i scale:f",
     BuildDecoderMaskedSelfAttention},
};

}  // namespace

void BuildMultiHeadAttentionOfBeams(Body& body) {
  const int64_t tokens = body.DimIfKnown(0, 1);
  if (tokens > 1) body.Reject("the query has {} tokens, but with cache_indirection it has one", tokens);
  BuildWithHeads(body, {6, 7, 3, {4, 5, 8, kNoInput, 9}}, /*shares_buffer=*/true);
}

std::span<const Operator> MaskedAttentionOperators() { return kMaskedAttentionOperators; }

}  // namespace epiphyte::core::microsoft
