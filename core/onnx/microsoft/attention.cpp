// Attention with its input projection, and its quantized version.
#include "core/onnx/microsoft/attention_core.h"
#include "core/onnx/microsoft/table.h"

namespace epiphyte::core::microsoft {
namespace {

// Indices of the inputs that differ between the two operators.
struct Places {
  size_t mask, past, bias_of_scores, past_length;
};

// Splits `x` [batch, queries, queries' + keys' + values' width] into parts of these widths.
Names SplitProjection(Body& body, const Name& x) {
  const std::vector<int64_t> sizes = body.Ints("qkv_hidden_sizes");
  if (sizes.empty()) return body.Split(x, 3, 2);
  if (sizes.size() != 3 || sizes[0] < 1 || sizes[1] != sizes[0] || sizes[2] < 1) {
    body.Reject("attribute 'qkv_hidden_sizes' has {} sizes, three expected: of queries, as many of keys, of values",
                sizes.size());
  }
  return body.Split(x, sizes, 2);
}

// The mask as a four-dimensional tensor to be added to the scores; empty: none.
Name RawMask(Body& body, size_t input, const Name& queries, const Name& keys, DataType type) {
  if (!body.Has(input)) return {};
  const Name mask = body.In(input);
  const Name masked = body.Number(body.Float("mask_filter_value", -10000.0f), type);
  const size_t rank = body.RankOf(input);
  if (rank == 1) {
    // The mask has the end of each row's keys, then optionally, in a second half, the start.
    const Name positions = Count(body, keys);
    const int64_t batch = body.DimIfKnown(0, 0);  // -1: Reshape computes it
    const auto limit = [&](const Name& limits) {
      return body.Reshape(body.Cast(limits, DataType::kInt64), {batch, 1, 1, 1});
    };
    const int64_t length = body.DimIfKnown(input, 0);
    if (batch >= 0 && length == batch) return MaskFrom(body, body.Op("Less", {positions, limit(mask)}), masked, type);
    if (batch >= 0 && length >= 0 && (length % 2 != 0 || length / 2 != batch))
      body.Unsupported("the mask has {} elements for a batch of {}, as many or twice as many expected", length, batch);
    // If the mask's length is unknown, zeros are appended in case that it has no starts.
    const Name rows = body.SizeOf(body.In(0), 0);
    const Name ends = body.Slice(mask, body.Integers({0}), rows, 0);
    const Name all = body.Concat({mask, body.Sub(ends, ends)}, 0);
    const Name begins = body.Slice(all, rows, body.Add(rows, rows), 0);
    const Name before_end = body.Op("Less", {positions, limit(ends)});
    const Name before_begin = body.Op("Less", {positions, limit(begins)});
    return MaskFrom(body, body.Op("And", {before_end, body.Op("Not", {before_begin})}), masked, type);
  }
  const Name keep = body.Op("Greater", {body.Cast(mask, DataType::kInt32), body.Number(0, DataType::kInt32)});
  if (rank == 2) return MaskFrom(body, body.Unsqueeze(keep, {1, 2}), masked, type);
  if (rank == 3) return MaskFrom(body, body.Unsqueeze(keep, {1}), masked, type);
  if (rank != 4) body.Reject("the mask has {} dimensions, 1 to 4 expected", rank);
  // [batch, 1, most, most]: take the rows of these queries and the columns of the keys.
  const Name numbers = body.Cast(mask, DataType::kInt32);
  const Name rows = body.Slice(numbers, body.Sub(keys, queries), keys, 2);
  const Name columns = body.Slice(rows, body.Integers({0}), keys, 3);
  return MaskFrom(body, body.Op("Greater", {columns, body.Number(0, DataType::kInt32)}), masked, type);
}

void AttendProjected(Body& body, const Name& projected, int64_t width, const Places& places, DataType type) {
  const Names parts = SplitProjection(body, projected);
  const std::vector<int64_t> sizes = body.Ints("qkv_hidden_sizes");
  const int64_t query_width = sizes.empty() ? (width < 0 ? -1 : width / 3) : sizes[0];
  AttentionParts attention;
  attention.type = type;
  attention.heads = attention.groups = HeadsOf(body, "num_heads", query_width);
  if (!sizes.empty()) HeadsOf(body, "num_heads", sizes[2]);
  attention.size = query_width < 0 ? -1 : query_width / attention.heads;
  attention.scale = body.Float("scale", 0);
  attention.q = SplitHeads(body, parts[0], attention.heads);
  attention.k = SplitHeads(body, parts[1], attention.heads);
  attention.v = SplitHeads(body, parts[2], attention.heads);
  Name k = attention.k, v = attention.v;  // as returned
  if (body.Has(places.past)) {
    // Shape [2, batch, heads, past, size].
    const Names past = body.Split(body.In(places.past), 2, 0);
    const Name past_k = body.Squeeze(past[0], {0}), past_v = body.Squeeze(past[1], {0});
    if (body.Int("past_present_share_buffer", 0) != 0) {
      const Name length = OneInteger(body, places.past_length, "past_sequence_length");
      const Cached keys = AppendToBuffer(body, past_k, length, k), values = AppendToBuffer(body, past_v, length, v);
      attention.k = keys.attended;
      attention.v = values.attended;
      k = keys.buffer;
      v = values.buffer;
    } else {
      k = attention.k = body.Concat({past_k, k}, 2);
      v = attention.v = body.Concat({past_v, v}, 2);
    }
  }
  if (body.Wants(1)) body.Return(1, body.Concat({body.Unsqueeze(k, {0}), body.Unsqueeze(v, {0})}, 0));
  const bool causal = body.Int("unidirectional", 0) != 0;
  if (causal || body.Has(places.mask)) {
    const Name queries = body.SizeOf(attention.q, 2);
    const Name keys = body.SizeOf(attention.k, 2);
    attention.mask = RawMask(body, places.mask, queries, keys, type);
    // A mask with both queries and keys defines visibility itself.
    if (causal && !(body.Has(places.mask) && body.RankOf(places.mask) == 4)) {
      const Name seen = CausalCondition(body, queries, keys);
      attention.mask = body.AddIf(attention.mask, MaskFrom(body, seen, body.Lowest(type), type));
    }
  }
  if (places.bias_of_scores != 0) attention.mask = body.AddIf(attention.mask, body.In(places.bias_of_scores));
  body.Return(0, MergeHeads(body, Attend(body, attention)));
}

void BuildAttention(Body& body) {
  body.Only("do_rotary", 0);
  const Name product = body.MatMul(body.Need(0, "input"), body.Need(1, "weights"));
  AttendProjected(body, body.AddIf(product, body.In(2)), body.DimIfKnown(1, 1), {3, 4, 5, 6}, body.FloatTypeOf(0));
}

void BuildQAttention(Body& body) {
  body.Only("do_rotary", 0);
  body.Only("past_present_share_buffer", 0);
  const DataType type = body.FloatTypeOf(2);
  const Name product =
      body.Op("MatMulInteger", {body.Need(0, "input"), body.Need(1, "weight"), body.In(6), body.In(7)});
  const Name scale = body.Mul(body.Need(3, "input_scale"), body.Need(4, "weight_scale"));
  // The result has the type of the scales.
  const Name projected = body.Add(body.Mul(body.Cast(product, type), scale), body.Need(2, "bias"));
  AttendProjected(body, projected, body.DimIfKnown(1, 1), {5, 8, 0, 0}, type);
}

constexpr Operator kAttentionOperators[] = {
    {"Attention", 2, 7, 2,
     "do_rotary:i mask_filter_value:f num_heads:i past_present_share_buffer:i qkv_hidden_sizes:I "
     "rotary_embedding_dim:i scale:f unidirectional:i",
     BuildAttention},
    {"QAttention", 5, 9, 2,
     "do_rotary:i mask_filter_value:f num_heads:i past_present_share_buffer:i scale:f unidirectional:i",
     BuildQAttention},
};

}  // namespace

std::span<const Operator> AttentionOperators() { return kAttentionOperators; }

}  // namespace epiphyte::core::microsoft
