// GroupQueryAttention, which uses a key-value cache with a separate length for each row of the batch, and
// RotaryEmbedding.
#include <limits>

#include "core/onnx/microsoft/attention_core.h"
#include "core/onnx/microsoft/table.h"

namespace epiphyte::core::microsoft {
namespace {

constexpr size_t kQuery = 0, kKey = 1, kValue = 2, kPastKey = 3, kPastValue = 4, kLengths = 5, kTotal = 6, kCos = 7,
                 kSin = 8, kPositions = 9, kScoresBias = 10, kSink = 11;

// Number of rotated pairs of elements per head, from the shape of input `cos`.
int64_t HalfOf(const Body& body, size_t cos) {
  constexpr int64_t kMost = 1 << 20;
  body.Need(cos, "cos_cache");
  if (body.RankOf(cos) != 2) body.Reject("cos_cache has {} dimensions, 2 expected", body.RankOf(cos));
  const int64_t half = body.DimIfKnown(cos, 1);
  if (half < 0) throw NotKnownYet{"the width of cos_cache"};
  if (half < 1 || half > kMost) body.Reject("cos_cache is {} wide, 1 to {} expected", half, kMost);
  return half;
}

class GroupedAttention {
 public:
  explicit GroupedAttention(Body& body) : body_(body) {}

  void Build() {
    Check();
    TakeOperands();
    queries_ = body_.SizeOf(attention_.q, 2);
    total_ = OneInteger(body_, kTotal, "total_sequence_length");
    TakePositions();
    if (body_.Int("do_rotary", 0) != 0) Turn();
    const Name keys = WithPast(kPastKey, 1, attention_.k);
    const Name values = WithPast(kPastValue, 2, attention_.v);
    attention_.k = keys;
    attention_.v = values;
    MakeMask();
    attention_.softcap = body_.Float("softcap", 0);
    if (attention_.softcap < 0) body_.Reject("attribute 'softcap' is {}, 0 or more expected", attention_.softcap);
    MakeSink();
    body_.Return(0, MergeHeads(body_, Attend(body_, attention_)));
  }

 private:
  void Check() {
    body_.NoOutput(3, "output_qk");
    body_.NoInput(12, "k_scale");
    body_.NoInput(13, "v_scale");
    body_.Only("qk_output", 0);
    body_.Only("kv_cache_bit_width", 0);
    for (const char* name : {"k_quant_type", "v_quant_type"}) {
      const std::string found = body_.String(name, "NONE");
      if (found != "NONE") body_.Unsupported("attribute '{}' is '{}', only NONE is supported", name, found);
    }
    if (body_.Has(kPastKey) != body_.Has(kPastValue))
      body_.Reject("past_key and past_value go together, one of them is missing");
    if (body_.Has(kKey) != body_.Has(kValue)) body_.Reject("key and value go together, one of them is missing");
  }

  void TakeOperands() {
    const Name query = body_.Need(kQuery, "query");
    const bool packed = !body_.Has(kKey);
    const int64_t width = body_.DimIfKnown(kQuery, 2);
    attention_.type = body_.FloatTypeOf(kQuery);
    attention_.heads = HeadsOf(body_, "num_heads", packed ? -1 : width);
    attention_.groups = HeadsOf(body_, "kv_num_heads", packed ? -1 : body_.DimIfKnown(kKey, 2));
    if (attention_.heads % attention_.groups != 0) {
      body_.Reject("num_heads is {}, a multiple of kv_num_heads ({}) expected", attention_.heads, attention_.groups);
    }
    attention_.scale = body_.Float("scale", 0);
    const int64_t all = attention_.heads + (packed ? 2 * attention_.groups : 0);
    if (width >= 0 && width % all != 0)
      body_.Reject("the queries are {} wide, a multiple of {} heads expected", width, all);
    attention_.size = width < 0 ? -1 : width / all;
    if (!packed) {
      attention_.q = SplitHeads(body_, query, attention_.heads);
      attention_.k = SplitHeads(body_, body_.In(kKey), attention_.groups);
      attention_.v = SplitHeads(body_, body_.In(kValue), attention_.groups);
      return;
    }
    const Names parts =
        body_.Split(body_.Reshape(query, {0, 0, all, -1}), {attention_.heads, attention_.groups, attention_.groups}, 2);
    attention_.q = body_.Transpose(parts[0], {0, 2, 1, 3});
    attention_.k = body_.Transpose(parts[1], {0, 2, 1, 3});
    attention_.v = body_.Transpose(parts[2], {0, 2, 1, 3});
  }

  // The start of each row's new keys, [batch], and the position of each query, [batch, queries]. seqlens_k is the
  // number of a row's keys, including new ones, minus one. A prompt without past starts at 0, whatever the row's
  // length.
  void TakePositions() {
    const Name lengths =
        body_.Cast(body_.Reshape(body_.Need(kLengths, "seqlens_k"), {body_.DimIfKnown(kQuery, 0)}), DataType::kInt64);
    const Name before = body_.Sub(body_.Add(lengths, body_.Integers({1})), queries_);
    begins_ = body_.Where(body_.Op("Equal", {total_, queries_}), body_.Integers({0}), before);
    positions_ = body_.Add(body_.Unsqueeze(begins_, {1}), body_.Unsqueeze(Count(body_, queries_), {0}));
  }

  void Turn() {
    const Name positions = body_.Has(kPositions) ? body_.In(kPositions) : positions_;
    Rotary rotary;
    rotary.cos = body_.Gather(body_.Need(kCos, "cos_cache"), positions);
    rotary.sin = body_.Gather(body_.Need(kSin, "sin_cache"), positions);
    rotary.interleaved = body_.Int("rotary_interleaved", 0) != 0;
    rotary.size = attention_.size;
    const int64_t half = HalfOf(body_, kCos);
    rotary.rotary = 2 * half;
    if (rotary.size < 0) throw NotKnownYet{"the width of the queries"};
    attention_.q = Rotate(body_, attention_.q, rotary);
    attention_.k = Rotate(body_, attention_.k, rotary);
  }

  // Returns the keys or values to attend to. A longer cache has further elements after these, which are only returned
  // as output.
  Name WithPast(size_t past, size_t output, const Name& added) {
    if (!body_.Has(past)) {
      body_.Return(output, added);
      return added;
    }
    if (body_.DimIfKnown(kQuery, 0) == 1) {
      // With one row the keys are contiguous.
      const Name joined = body_.Concat({body_.Slice(body_.In(past), body_.Integers({0}), begins_, 2), added}, 2);
      const Name behind = body_.Slice(body_.In(past), total_, body_.Integers({kEnd}), 2);
      body_.Return(output, body_.Wants(output) ? body_.Concat({joined, behind}, 2) : Name());
      return joined;
    }
    const Name missing = body_.Sub(total_, body_.SizeOf(body_.In(past), 2));
    const Name zero = body_.Integers({0});
    const Name grown = body_.Where(body_.Op("Greater", {missing, zero}), missing, zero);
    const Name pads = body_.Concat({body_.Integers({0, 0, 0, 0, 0, 0}), grown, zero}, 0);
    const Name room = body_.Op("Pad", {body_.In(past), pads});
    const Name places = body_.Op("Expand", {body_.Unsqueeze(positions_, {1, 3}), body_.Op("Shape", {added})});
    const Name present = body_.Op("ScatterElements", {room, places, added}, {A("axis", 2)});
    body_.Return(output, present);
    return body_.Slice(present, zero, total_, 2);
  }

  void MakeMask() {
    const Name key = Count(body_, body_.SizeOf(attention_.k, 2));
    const Name position = body_.Unsqueeze(positions_, {1, 3});
    Name seen = body_.Op("Less", {key, body_.Add(position, body_.Integers({1}))});
    const int64_t window = body_.Int("local_window_size", -1);
    if (window < -1 || window == 0)
      body_.Reject("attribute 'local_window_size' is {}, 1 or more expected, or -1 for none", window);
    if (window > 0) {
      const Name first = body_.Sub(position, body_.Integers({window - 1}));
      seen = body_.Op("And", {seen, body_.Op("Not", {body_.Op("Less", {key, first})})});
    }
    attention_.mask = MaskFrom(body_, seen, body_.Lowest(attention_.type), attention_.type);
    attention_.mask = body_.AddIf(attention_.mask, body_.In(kScoresBias));
  }

  void MakeSink() {
    if (body_.Has(kSink)) {
      attention_.sink = body_.Reshape(body_.In(kSink), {1, attention_.heads, 1, 1});
    } else if (body_.Int("smooth_softmax", 0) == 1) {
      attention_.sink = body_.Number(0, attention_.type);
    }
  }

  Body& body_;
  AttentionParts attention_;
  Name queries_, total_, begins_, positions_;
};

void BuildGroupQueryAttention(Body& body) { GroupedAttention(body).Build(); }

void BuildRotaryEmbedding(Body& body) {
  body.Only("is_packed_batching", 0);
  if (const float scale = body.Float("scale", 1.0f); scale != 1.0f)
    body.Unsupported("attribute 'scale' is {}, only 1 is supported", scale);
  const Name x = body.Need(0, "input");
  const size_t rank = body.RankOf(0);
  if (rank != 3 && rank != 4) body.Reject("the input has {} dimensions, 3 or 4 expected", rank);
  const int64_t half = HalfOf(body, 2);
  const int64_t width = body.DimIfKnown(0, -1);
  if (width < 0) throw NotKnownYet{"the width of the input"};
  if (width == 0) body.Reject("the input is 0 wide, 1 or more expected");
  Rotary rotary;
  rotary.rotary = body.Int("rotary_embedding_dim", 0);
  if (rotary.rotary != 0 && rotary.rotary != 2 * half) {
    body.Reject("attribute 'rotary_embedding_dim' is {}, but cos_cache turns {} elements", rotary.rotary, 2 * half);
  }
  const bool named = body.Int("num_heads", 0) != 0;
  if (rotary.rotary != 0 && !named && rank == 3)
    body.Reject("attribute 'rotary_embedding_dim' is {}, attribute 'num_heads' is expected then", rotary.rotary);
  if (rank == 3 && !named && width % (2 * half) != 0)
    body.Reject("the input is {} wide, a multiple of the {} elements that cos_cache turns expected", width, 2 * half);
  const int64_t heads = rank == 4 ? 1 : named ? HeadsOf(body, "num_heads", width) : width / (2 * half);
  rotary.size = width / heads;
  rotary.rotary = 2 * half;
  rotary.interleaved = body.Int("interleaved", 0) != 0;
  Name positions = body.Need(1, "position_ids");
  const size_t positions_rank = body.RankOf(1);
  if (positions_rank == 1 || positions_rank == 0) {
    // The position of the first token, for all rows.
    const Name count = Count(body, body.SizeOf(x, rank == 3 ? 1 : 2));
    positions = body.Unsqueeze(body.Add(count, OneInteger(body, 1, "position_ids")), {0});
    rotary.batched = false;
  } else if (positions_rank != 2) {
    body.Reject("position_ids has {} dimensions, 1 or 2 expected", positions_rank);
  }
  rotary.cos = body.Gather(body.Need(2, "cos_cache"), positions);
  rotary.sin = body.Gather(body.Need(3, "sin_cache"), positions);
  if (rank == 4) return body.Return(0, Rotate(body, x, rotary));
  body.Return(0, MergeHeads(body, Rotate(body, SplitHeads(body, x, heads), rotary)));
}

constexpr Operator kGroupedAttentionOperators[] = {
    {"GroupQueryAttention", 7, 14, 4,
     "do_rotary:i k_quant_type:s kv_cache_bit_width:i kv_num_heads:i local_window_size:i num_heads:i qk_output:i "
     "rotary_interleaved:i scale:f smooth_softmax:i softcap:f v_quant_type:s",
     BuildGroupQueryAttention},
    {"RotaryEmbedding", 4, 4, 1, "interleaved:i is_packed_batching:i num_heads:i rotary_embedding_dim:i scale:f",
     BuildRotaryEmbedding},
};

}  // namespace

std::span<const Operator> GroupedAttentionOperators() { return kGroupedAttentionOperators; }

}  // namespace epiphyte::core::microsoft
