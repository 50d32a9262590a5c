// Attention and rotary position embedding.
#include <algorithm>
#include <cmath>

#include "host/conformance/operators/broadcast.h"
#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {
namespace {

// Converts [batch, heads, length, size] to [batch, length, heads * size].
Array Merged(const Array& x) {
  Array y(x.type, {x.dims[0], x.dims[2], x.dims[1] * x.dims[3]});
  ForEachIndex(x.dims, [&](const Dims& index, int64_t i) {
    y.At({index[0], index[2], index[1] * x.dims[3] + index[3]}) = x[i];
  });
  return y;
}

// Concatenates `past` and `x` along axis 2.
Array Joined(const Array& past, const Array& x) {
  Dims dims = x.dims;
  dims[2] += past.dims[2];
  Array y(x.type, dims);
  ForEachIndex(dims, [&](Dims index, int64_t i) {
    if (index[2] < past.dims[2]) {
      y[i] = past.At(index);
    } else {
      index[2] -= past.dims[2];
      y[i] = x.At(index);
    }
  });
  return y;
}

void Attention(Random& random, Case& c) {
  c.opset = random.Pick({23, 24});
  const DataType type = random.FloatType();
  const int64_t batch = random.Int(1, 3);
  const int64_t kv_heads = random.Int(1, 3);
  const int64_t heads = kv_heads * random.Pick({1, 1, 2, 3});
  const int64_t length = random.Chance(30) ? 1 : random.SizeButNotZero(40);
  const int64_t own_length = random.SizeButNotZero(70);
  const int64_t size = random.SizeButNotZero(40);
  const int64_t value_size = random.Chance(60) ? size : random.SizeButNotZero(40);
  const int64_t past = random.Chance(30) ? random.Int(1, 20) : 0;
  const int64_t all = past + own_length;
  const bool merged = random.Chance(40);
  const Array q = random.Values(type, {batch, heads, length, size}, Draw::kUnit);
  const Array k = random.Values(type, {batch, kv_heads, own_length, size}, Draw::kUnit);
  const Array v = random.Values(type, {batch, kv_heads, own_length, value_size}, Draw::kUnit);
  for (const Array* input : {&q, &k, &v}) c.Input(merged ? Merged(*input) : *input);
  if (merged) {
    c.Set("q_num_heads", heads);
    c.Set("kv_num_heads", kv_heads);
  }
  Number scale = 1 / std::sqrt(static_cast<Number>(size));
  if (random.Chance(40)) c.Set("scale", static_cast<float>(scale = 0.5L));
  // The softcap is applied before the mask. After the mask, it would make hidden keys visible again.
  Number cap = 0;
  if (random.Chance(30)) c.Set("softcap", static_cast<float>(cap = 2));
  const bool causal = random.Chance(30);
  if (causal) c.Set("is_causal", 1);
  // Content of the fourth output: scaled products, capped products, products with the mask added, or probabilities;
  // -1: no fourth output.
  const int64_t shown = random.Chance(40) ? random.Int(0, 3) : -1;
  if (shown > 0 || (shown == 0 && random.Chance(50))) c.Set("qk_matmul_output_mode", shown);

  const Dims scores = {batch, heads, length, all};
  Array mask(type, {});
  const bool masked = random.Chance(50);
  if (masked) {
    Dims dims = scores;
    const int64_t left_out = random.Int(0, 2);
    dims.erase(dims.begin(), dims.begin() + left_out);
    for (size_t axis = 0; axis + 2 < dims.size(); ++axis)
      if (random.Chance(50)) dims[axis] = 1;
    if (random.Chance(50)) {
      mask = random.Values(DataType::kBool, dims, Draw::kAll);
      // Every row has at least one visible key.
      for (int64_t i = 0; i < mask.count(); i += all) mask[i] = 1;
    } else if (random.Chance(30)) {
      // Integer masks are added to the scores, too.
      mask = random.Integers(random.Pick({DataType::kInt8, DataType::kUint8, DataType::kInt16, DataType::kInt32,
                                          DataType::kInt64, DataType::kUint64}),
                             dims, 0, 3);
    } else {
      mask = random.Values(type, dims, Draw::kUnit);
    }
    c.Input(mask);
  } else {
    c.NoInput();
  }
  Array keys = k;
  Array values = v;
  if (past > 0) {
    const Array past_key = random.Values(type, {batch, kv_heads, past, size}, Draw::kUnit);
    const Array past_value = random.Values(type, {batch, kv_heads, past, value_size}, Draw::kUnit);
    c.Input(past_key);
    c.Input(past_value);
    keys = Joined(past_key, k);
    values = Joined(past_value, v);
  }
  Array y(type, {batch, heads, length, value_size});
  Array stage(type, scores);
  std::vector<Number> row(static_cast<size_t>(all));
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t own = h / (heads / kv_heads);
      for (int64_t i = 0; i < length; ++i) {
        Number sum = 0;
        for (int64_t j = 0; j < all; ++j) {
          Number score = 0;
          for (int64_t d = 0; d < size; ++d) score += q.At({b, h, i, d}) * keys.At({b, own, j, d});
          score *= scale;
          if (shown == 0) stage.At({b, h, i, j}) = score;
          if (cap != 0) score = cap * std::tanh(score / cap);
          if (shown == 1) stage.At({b, h, i, j}) = score;
          if (masked) {
            const Number at = SpreadAt(mask, {b, h, i, j});
            if (mask.type == DataType::kBool) {
              if (at == 0) score = -HUGE_VALL;
            } else {
              score += at;
            }
          }
          if (causal && j > i + past) score = -HUGE_VALL;
          if (shown == 2) stage.At({b, h, i, j}) = score;
          sum += row[static_cast<size_t>(j)] = std::exp(score);
        }
        for (int64_t d = 0; d < value_size; ++d)
          for (int64_t j = 0; j < all; ++j)
            y.At({b, h, i, d}) += row[static_cast<size_t>(j)] / sum * values.At({b, own, j, d});
        if (shown != 3) continue;
        for (int64_t j = 0; j < all; ++j) stage.At({b, h, i, j}) = row[static_cast<size_t>(j)] / sum;
      }
    }
  }
  // The outputs are averages of values within ±1, and scores are exponents. 16-bit types may round after each step.
  const bool is_small = type == DataType::kFloat16 || type == DataType::kBfloat16;
  const auto close = [&](const Array& output, Number magnitude) {
    return Bound{.ulps = is_small ? Number{12} : 96, .sizes = std::vector<Number>(output.values.size(), magnitude)};
  };
  c.Output(merged ? Merged(y) : y, close(y, 1));
  if (past == 0 && shown < 0) return;
  c.Output(keys);
  c.Output(values);
  if (shown >= 0) c.Output(stage, close(stage, shown == 3 ? 1 : static_cast<Number>(size) * scale + 1));
}

void BadAttention(Random& random, Case& c) {
  c.opset = 23;
  const int64_t size = random.Int(2, 9);
  const int64_t kind = random.Int(0, 3);
  c.Input(random.Values(DataType::kFloat, {1, 4, 3, size}, Draw::kUnit));
  c.Input(random.Values(DataType::kFloat, {1, kind == 0 ? 3 : 2, 5, kind == 1 ? size + 1 : size}, Draw::kUnit));
  c.Input(random.Values(DataType::kFloat, {1, kind == 0 ? 3 : 2, kind == 2 ? 6 : 5, size}, Draw::kUnit));
  if (kind == 3) c.Input(random.Values(DataType::kFloat, {3, 7}, Draw::kUnit));
  c.Output(Array(DataType::kFloat, {0}));
  c.MustFail();
}

void RotaryEmbeddingCase(Random& random, Case& c, bool bad) {
  c.opset = 23;
  const DataType type = random.FloatType();
  const int64_t batch = random.Int(1, 3);
  const int64_t heads = random.Int(1, 4);
  const int64_t length = random.SizeButNotZero(9);
  const int64_t size = 2 * random.SizeButNotZero(20);
  const bool merged = random.Chance(50);
  const bool interleaved = random.Chance(50);
  int64_t turned = size;
  if (interleaved || random.Chance(50)) c.Set("interleaved", interleaved);
  if (merged || random.Chance(30)) c.Set("num_heads", heads);
  if (random.Chance(30)) {
    turned = 2 * random.Int(1, size / 2);
    c.Set("num_heads", heads);
    c.Set("rotary_embedding_dim", turned);
  }
  const Array x = random.Values(type, {batch, heads, length, size}, Draw::kPlain);
  c.Input(merged ? Merged(x) : x);
  const bool by_position = bad || random.Chance(60);
  const int64_t positions = 12;
  const Dims cache = by_position ? Dims{positions, turned / 2} : Dims{batch, length, turned / 2};
  const Array cos = random.Values(type, cache, Draw::kUnit);
  const Array sin = random.Values(type, cache, Draw::kUnit);
  c.Input(cos);
  c.Input(sin);
  Array place = random.Integers(DataType::kInt64, {batch, length}, 0, positions - 1);
  if (bad) {
    place[random.Int(0, place.count() - 1)] =
        static_cast<Number>(random.Pick<int64_t>({positions, -positions - 1, INT64_MAX, INT64_MIN}));
    c.Input(place);
    c.Output(x);
    return c.MustFail();
  }
  if (by_position) c.Input(place);
  Array y = x;
  Bound bound{.ulps = 4, .sizes = std::vector<Number>(y.values.size(), 16)};
  ForEachIndex({batch, heads, length, turned / 2}, [&](const Dims& index, int64_t) {
    const Dims at = by_position ? Dims{static_cast<int64_t>(place.At({index[0], index[2]})), index[3]}
                                : Dims{index[0], index[2], index[3]};
    const auto element = [&](int64_t half) {
      return Dims{index[0], index[1], index[2], interleaved ? 2 * index[3] + half : index[3] + half * turned / 2};
    };
    const Number a = x.At(element(0));
    const Number b = x.At(element(1));
    y.At(element(0)) = cos.At(at) * a - sin.At(at) * b;
    y.At(element(1)) = sin.At(at) * a + cos.At(at) * b;
  });
  c.Output(merged ? Merged(y) : y, bound);
}
void RotaryEmbedding(Random& random, Case& c) { RotaryEmbeddingCase(random, c, false); }
void BadRotaryEmbedding(Random& random, Case& c) { RotaryEmbeddingCase(random, c, true); }

}  // namespace

std::vector<OperatorCases> AttentionOperators() {
  return {
      {"Attention", "", Attention, BadAttention},
      {"RotaryEmbedding", "", RotaryEmbedding, BadRotaryEmbedding},
  };
}

}  // namespace epiphyte::operators
