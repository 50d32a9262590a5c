// MultiHeadAttention: attention on projected queries, keys and values, which may be packed or come from a cache.
#include <limits>

#include "core/onnx/microsoft/attention_core.h"
#include "core/onnx/microsoft/table.h"

namespace epiphyte::core::microsoft {
namespace {

constexpr size_t kQuery = 0, kKey = 1, kValue = 2, kBias = 3, kPaddingMask = 4, kScoresBias = 5, kPastKey = 6,
                 kPastValue = 7, kPastLength = 8, kCacheIndirection = 9;

// Part `index` of [batch, sequence, heads, parts, size], plus its bias, as [batch, heads, sequence, size].
Name Unpacked(Body& body, const Names& parts, size_t index, const Name& bias, int64_t heads) {
  const Name part = body.Squeeze(parts[index], {3});
  const Name biased = bias.empty() ? part : body.Add(part, body.Reshape(bias, {heads, -1}));
  return body.Transpose(biased, {0, 2, 1, 3});
}

// The parts of the bias for queries, keys and values; empty without a bias.
Names BiasParts(Body& body, int64_t query_width) {
  if (!body.Has(kBias)) return {{}, {}, {}};
  const int64_t all = body.DimIfKnown(kBias, 0);
  const bool packed = body.RankOf(kQuery) == 5;
  if (packed || (all >= 0 && all % 3 == 0 && all / 3 == query_width)) return body.Split(body.In(kBias), 3, 0);
  if (query_width < 0 || all < 0) {
    const Name width = body.SizeOf(body.In(kQuery), 2);
    const Name twice = body.Add(width, width);
    const Name end = body.Integers({std::numeric_limits<int32_t>::max()});
    const Name bias = body.In(kBias);
    return {body.Slice(bias, body.Integers({0}), width, 0), body.Slice(bias, width, twice, 0),
            body.Slice(bias, twice, end, 0)};
  }
  if (all / 2 < query_width || all == 2 * query_width) {
    body.Reject("the bias has {} elements, more than twice the width of the queries ({}) expected", all, query_width);
  }
  return body.Split(body.In(kBias), {query_width, query_width, all - 2 * query_width}, 0);
}

void TakeOperands(Body& body, AttentionParts& attention, int64_t width) {
  const Names bias = BiasParts(body, width);
  const size_t rank = body.RankOf(kQuery);
  if (rank == 5) {
    if (body.Has(kKey) || body.Has(kValue)) body.Reject("packed queries hold keys and values, but these are given too");
    const Names packed = body.Split(body.In(kQuery), 3, 3);
    attention.q = Unpacked(body, packed, 0, bias[0], attention.heads);
    attention.k = Unpacked(body, packed, 1, bias[1], attention.heads);
    attention.v = Unpacked(body, packed, 2, bias[2], attention.heads);
    return;
  }
  if (rank != 3) body.Reject("the queries have {} dimensions, 3 or 5 expected", rank);
  attention.q = SplitHeads(body, body.AddIf(body.In(kQuery), bias[0]), attention.heads);
  const Name key = body.Need(kKey, "key");
  const size_t key_rank = body.RankOf(kKey);
  if (key_rank == 5) {
    if (body.Has(kValue)) body.Reject("packed keys hold the values, but these are given too");
    const Names packed = body.Split(key, 2, 3);
    attention.k = Unpacked(body, packed, 0, bias[1], attention.heads);
    attention.v = Unpacked(body, packed, 1, bias[2], attention.heads);
  } else if (key_rank == 4) {
    // Cached cross-attention keys and values of an encoder, which include their bias.
    attention.k = key;
    attention.v = body.Need(kValue, "value");
  } else if (key_rank == 3) {
    attention.k = SplitHeads(body, body.AddIf(key, bias[1]), attention.heads);
    attention.v = SplitHeads(body, body.AddIf(body.Need(kValue, "value"), bias[2]), attention.heads);
  } else {
    body.Reject("the keys have {} dimensions, 3 to 5 expected", key_rank);
  }
}

Name PaddingMask(Body& body, const Name& keys, DataType type) {
  if (!body.Has(kPaddingMask)) return {};
  const Name masked = body.Number(body.Float("mask_filter_value", -10000.0f), type);
  const Name mask = body.In(kPaddingMask);
  const size_t rank = body.RankOf(kPaddingMask);
  if (rank == 1) {
    const int64_t length = body.DimIfKnown(kPaddingMask, 0);
    const int64_t batch = body.DimIfKnown(kQuery, 0);
    // After the lengths the mask may contain the start offsets of each row's queries and keys in a concatenated layout.
    // They have no meaning for rows that are stored separately.
    const bool with_starts = length >= 0 && batch >= 0 && length == 3 * batch + 2;
    if (length >= 0 && batch >= 0 && length != batch && !with_starts) {
      body.Unsupported(
          "key_padding_mask has {} elements for a batch of {}; a length for each row, or 3 * batch + 2 elements that "
          "begin with these, are supported",
          length, batch);
    }
    const Name given = with_starts ? body.Slice(mask, 0, batch, 0) : mask;
    const Name lengths = body.Reshape(body.Cast(given, DataType::kInt64), {batch, 1, 1, 1});
    return MaskFrom(body, body.Op("Less", {Count(body, keys), lengths}), masked, type);
  }
  if (rank != 2 && rank != 3) body.Reject("key_padding_mask has {} dimensions, 1 to 3 expected", rank);
  const Name keep = body.Op("Greater", {body.Cast(mask, DataType::kInt32), body.Number(0, DataType::kInt32)});
  const std::vector<int64_t> axes = rank == 2 ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1};
  return MaskFrom(body, body.Unsqueeze(keep, axes), masked, type);
}

void BuildMultiHeadAttention(Body& body) {
  body.Need(kQuery, "query");
  if (body.Has(kCacheIndirection)) return BuildMultiHeadAttentionOfBeams(body);
  AttentionParts attention;
  attention.type = body.FloatTypeOf(kQuery);
  const bool packed = body.RankOf(kQuery) == 5;
  const int64_t width = packed ? -1 : body.DimIfKnown(kQuery, 2);
  attention.heads = attention.groups = HeadsOf(body, "num_heads", width);
  attention.size = packed ? body.DimIfKnown(kQuery, 4) : width < 0 ? -1 : width / attention.heads;
  attention.scale = body.Float("scale", 0);
  if (packed && body.DimIfKnown(kQuery, 2) >= 0 && body.DimIfKnown(kQuery, 2) != attention.heads)
    body.Reject("packed queries have {} heads, but num_heads is {}", body.DimIfKnown(kQuery, 2), attention.heads);
  TakeOperands(body, attention, width);
  if (body.Has(kPastKey) != body.Has(kPastValue)) body.Reject("past_key and past_value go together, one is missing");
  if (body.Has(kPastKey) && body.Has(kPastLength)) {
    // A buffer with spare room; `length` elements are in use.
    const Name length = OneInteger(body, kPastLength, "past_sequence_length");
    const Cached keys = AppendToBuffer(body, body.In(kPastKey), length, attention.k);
    const Cached values = AppendToBuffer(body, body.In(kPastValue), length, attention.v);
    attention.k = keys.attended;
    attention.v = values.attended;
    body.Return(1, keys.buffer);
    body.Return(2, values.buffer);
  } else {
    if (body.Has(kPastKey)) {
      attention.k = body.Concat({body.In(kPastKey), attention.k}, 2);
      attention.v = body.Concat({body.In(kPastValue), attention.v}, 2);
    }
    body.Return(1, attention.k);
    body.Return(2, attention.v);
  }
  const bool causal = body.Int("unidirectional", 0) != 0;
  if (causal || body.Has(kPaddingMask)) {
    const Name keys = body.SizeOf(attention.k, 2);
    attention.mask = PaddingMask(body, keys, attention.type);
    if (causal) {
      const Name seen = CausalCondition(body, body.SizeOf(attention.q, 2), keys);
      const Name unseen = MaskFrom(body, seen, body.Lowest(attention.type), attention.type);
      attention.mask = body.AddIf(attention.mask, unseen);
    }
  }
  attention.mask = body.AddIf(attention.mask, body.In(kScoresBias));
  Name scores;
  body.Return(0, MergeHeads(body, Attend(body, attention, &scores)));
  body.Return(3, scores);
}

constexpr Operator kMultiHeadAttentionOperators[] = {
    {"MultiHeadAttention", 1, 10, 4, "mask_filter_value:f num_heads:i scale:f unidirectional:i",
     BuildMultiHeadAttention},
};

}  // namespace

std::span<const Operator> MultiHeadAttentionOperators() { return kMultiHeadAttentionOperators; }

}  // namespace epiphyte::core::microsoft
