// Tests of Attention, QAttention and MultiHeadAttention.
#include <gmock/gmock.h>

#include "tests/onnx/microsoft/attention_reference.h"

namespace epiphyte::test::microsoft {
namespace {

using testing::HasSubstr;

constexpr double kFilter = -10000;
constexpr int64_t kBatch = 2, kQueries = 4, kHeads = 2, kSize = 4, kPast = 3, kWidth = kHeads * kSize;

Array Int32s(Dims dims, const std::function<double(const Dims&)>& function) {
  return Make(std::move(dims), function, DataType::kInt32);
}
// Returns 1 for most elements. No row is all 0.
double Keep(const Dims& i) {
  int64_t n = 3;
  for (const int64_t index : i) n = 7 * n + index;
  return n % 5 != 0 ? 1 : 0;
}

struct Projected {
  Array x, weights, bias, q, k, v;
};
Projected Project() {
  Projected p{Random({kBatch, kQueries, 6}),
              Random({6, 3 * kWidth}, -1, 1, DataType::kFloat, 2),
              Random({3 * kWidth}, -1, 1, DataType::kFloat, 3),
              {},
              {},
              {}};
  const Array all = Make({kBatch, kQueries, 3 * kWidth}, [&](const Dims& i) {
    double sum = p.bias.At({i[2]});
    for (int64_t c = 0; c < 6; ++c) sum += p.x.At({i[0], i[1], c}) * p.weights.At({c, i[2]});
    return sum;
  });
  p.q = HeadsOf(all, kHeads, kSize, 0);
  p.k = HeadsOf(all, kHeads, kSize, kWidth);
  p.v = HeadsOf(all, kHeads, kSize, 2 * kWidth);
  return p;
}

enum class Mask { kNone, kEnds, kEndsAndBegins, kLengthsAndStarts, kKeys, kQueriesAndKeys, kSquare };

// Returns the mask input for the operator, and the numbers that it adds to the scores.
std::pair<Array, Added> MaskOf(Mask mask, int64_t keys) {
  const int64_t past = keys - kQueries;
  switch (mask) {
    case Mask::kEnds:
      return {Int32s({kBatch}, [=](const Dims& i) { return keys - 1 + i[0]; }),
              [=](const Dims& i) { return i[3] < keys - 1 + i[0] ? 0 : kFilter; }};
    case Mask::kEndsAndBegins:
      return {Int32s({2 * kBatch}, [=](const Dims& i) { return i[0] < kBatch ? keys - 1 + i[0] : i[0] - kBatch; }),
              [=](const Dims& i) { return i[3] < keys - 1 + i[0] && i[3] >= i[0] ? 0 : kFilter; }};
    case Mask::kLengthsAndStarts:
      return {Int32s({3 * kBatch + 2}, [=](const Dims& i) { return i[0] < kBatch ? keys - 1 + i[0] : i[0] - kBatch; }),
              [=](const Dims& i) { return i[3] < keys - 1 + i[0] ? 0 : kFilter; }};
    case Mask::kKeys:
      return {Int32s({kBatch, keys}, Keep), [](const Dims& i) { return Keep({i[0], i[3]}) != 0 ? 0 : kFilter; }};
    case Mask::kQueriesAndKeys:
      return {Int32s({kBatch, kQueries, keys}, Keep), [](const Dims& i) {
                return Keep({i[0], i[2], i[3]}) != 0 ? 0 : kFilter;
              }};
    case Mask::kSquare:
      return {Int32s({kBatch, 1, 9, 9}, Keep), [=](const Dims& i) {
                return Keep({i[0], 0, past + i[2], i[3]}) != 0 ? 0 : kFilter;
              }};
    default: return {{}, [](const Dims&) { return 0; }};
  }
}

TEST(MicrosoftAttention, ProjectsMasksAndKeepsThePast) {
  const Projected p = Project();
  const Array past = Random({2, kBatch, kHeads, kPast, kSize}, -1, 1, DataType::kFloat, 4);
  for (const Mask mask :
       {Mask::kNone, Mask::kEnds, Mask::kEndsAndBegins, Mask::kKeys, Mask::kQueriesAndKeys, Mask::kSquare}) {
    for (const bool with_past : {false, true}) {
      for (const bool causal : {false, true}) {
        const int64_t keys = kQueries + (with_past ? kPast : 0);
        const auto [given, masked] = MaskOf(mask, keys);
        const Array k = with_past ? Joined(PartOf(past, 0), p.k) : p.k;
        const Array v = with_past ? Joined(PartOf(past, 1), p.v) : p.v;
        AttentionRule rule;
        // A mask of four dimensions defines the visible keys on its own.
        rule.added = [&, masked = masked](const Dims& i) {
          const bool later = i[3] > i[2] + keys - kQueries;
          return causal && later && mask != Mask::kSquare ? kHidden : masked(i);
        };
        const Array expected = Merged(AttentionOf(p.q, k, v, rule));
        for (const int64_t opset : kOpsets) {
          Call call("Attention");
          call.In(p.x).Weights(p.weights).Weights(p.bias);
          mask == Mask::kNone ? call.Absent() : call.In(given);
          if (with_past) call.In(past);
          call.Int("num_heads", kHeads).Int("unidirectional", causal).Outputs({true, true});
          const Arrays y = call.Run({.opset = opset});
          ExpectNear(y[0], expected, 2e-5);
          ASSERT_EQ(y[1].dims, (Dims{2, kBatch, kHeads, keys, kSize}));
          ExpectNear(PartOf(y[1], 0), k, 1e-5);
          ExpectNear(PartOf(y[1], 1), v, 1e-5);
        }
      }
    }
  }
}

TEST(MicrosoftAttention, TakesOpenSizesAContextAndABiasOfTheScores) {
  const Projected p = Project();
  const Array bias = Random({kBatch, kHeads, kQueries, kQueries}, -1, 1, DataType::kFloat, 5);
  AttentionRule rule;
  rule.scale = 0.3f;
  rule.added = [&](const Dims& i) { return bias.At(i); };
  const Array expected = Merged(AttentionOf(p.q, p.k, p.v, rule));
  for (const RunAs& how : {RunAs{.opset = 11, .open = true}, RunAs{.open = true}, RunAs{.context = true},
                           RunAs{.opset = 21, .open = true, .context = true}}) {
    Call call("Attention");
    call.In(p.x).Weights(p.weights).Weights(p.bias).Absent().Absent().In(bias).Int("num_heads", kHeads);
    ExpectNear(call.Float("scale", 0.3f).Run(how)[0], expected, 2e-5);
  }
}

TEST(MicrosoftAttention, ValuesMayHaveAWidthOfTheirOwn) {
  const Array x = Random({2, 3, 5}), weights = Random({5, 8 + 8 + 6}, -1, 1, DataType::kFloat, 2);
  const Array all = Make({2, 3, 22}, [&](const Dims& i) {
    double sum = 0;
    for (int64_t c = 0; c < 5; ++c) sum += x.At({i[0], i[1], c}) * weights.At({c, i[2]});
    return sum;
  });
  const Array expected = Merged(AttentionOf(HeadsOf(all, 2, 4), HeadsOf(all, 2, 4, 8), HeadsOf(all, 2, 3, 16), {}));
  for (const int64_t opset : {11, 17, 21}) {
    Call call("Attention");
    call.In(x).Weights(weights).Int("num_heads", 2).Ints("qkv_hidden_sizes", {8, 8, 6});
    ExpectNear(call.Run({.opset = opset})[0], expected, 2e-5);
  }
}

TEST(MicrosoftAttention, OnIntegersDequantizesTheProjection) {
  const Array x = RandomIntegers({kBatch, kQueries, 6}, 0, 255, DataType::kUint8);
  const Array w = RandomIntegers({6, 3 * kWidth}, -128, 127, DataType::kInt8, 2);
  const Array bias = Random({3 * kWidth}, -1, 1, DataType::kFloat, 3);
  const Array past = Random({2, kBatch, kHeads, kPast, kSize}, -1, 1, DataType::kFloat, 4);
  const Array all = Make({kBatch, kQueries, 3 * kWidth}, [&](const Dims& i) {
    double sum = 0;
    for (int64_t c = 0; c < 6; ++c) sum += (x.At({i[0], i[1], c}) - 128) * (w.At({c, i[2]}) - 3);
    return sum * 0.01f * 0.02f + bias.At({i[2]});
  });
  const Array k = Joined(PartOf(past, 0), HeadsOf(all, kHeads, kSize, kWidth));
  const Array v = Joined(PartOf(past, 1), HeadsOf(all, kHeads, kSize, 2 * kWidth));
  AttentionRule rule;
  rule.added = [&](const Dims& i) { return i[3] > i[2] + kPast ? kHidden : 0; };
  const Array expected = Merged(AttentionOf(HeadsOf(all, kHeads, kSize), k, v, rule));
  for (const int64_t opset : {11, 13, 17, 21}) {
    Call call("QAttention");
    call.In(x).Weights(w).Weights(bias).Weights(Scalar(0.01f)).Weights(Scalar(0.02f)).Absent();
    call.Weights(Scalar(128, DataType::kUint8)).Weights(Scalar(3, DataType::kInt8)).In(past);
    call.Int("num_heads", kHeads).Int("unidirectional", 1).Outputs({true, true});
    const Arrays y = call.Run({.opset = opset});
    ExpectNear(y[0], expected, 2e-5);
    ExpectNear(PartOf(y[1], 0), k, 1e-5);
  }
}

TEST(MicrosoftAttention, SaysWhatItDoesNotSupport) {
  const Array x = Random({2, 3, 8}), w = Random({8, 24});
  const auto failure = [&](const std::function<void(Call&)>& change) {
    Call call("Attention");
    call.In(x).Weights(w);
    change(call);
    return call.Failure();
  };
  EXPECT_THAT(failure([](Call&) {}), AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("'num_heads' is 0")));
  EXPECT_THAT(failure([](Call& c) { c.Int("num_heads", 3); }), HasSubstr("8 values can't be split into 3 heads"));
  EXPECT_THAT(failure([](Call& c) { c.Int("num_heads", -2); }), HasSubstr("'num_heads' is -2"));
  EXPECT_THAT(failure([](Call& c) { c.Int("num_heads", INT64_MAX); }), HasSubstr("heads expected"));
  EXPECT_THAT(failure([](Call& c) { c.Int("num_heads", 2).Int("do_rotary", 1); }),
              AllOf(HasSubstr("NOT_IMPLEMENTED"), HasSubstr("'do_rotary' is 1, only 0 is supported")));
  EXPECT_THAT(failure([](Call& c) { c.Int("num_heads", 2).Int("fast", 1); }),
              AllOf(HasSubstr("NOT_IMPLEMENTED"), HasSubstr("'fast' is not known")));
  EXPECT_THAT(failure([](Call& c) { c.Float("num_heads", 2); }), HasSubstr("of another type"));
  EXPECT_THAT(failure([](Call& c) { c.Int("num_heads", 2).Ints("qkv_hidden_sizes", {8}); }), HasSubstr("three"));
}

// --- MultiHeadAttention

TEST(MicrosoftMultiHeadAttention, MasksAddsAndKeepsThePast) {
  const int64_t added_keys = 5;
  const Array q = Random({kBatch, kQueries, kWidth}),
              k = Random({kBatch, added_keys, kWidth}, -1, 1, DataType::kFloat, 2);
  const Array v = Random({kBatch, added_keys, kHeads * 3}, -1, 1, DataType::kFloat, 3);
  const Array bias = Random({2 * kWidth + kHeads * 3}, -1, 1, DataType::kFloat, 4);
  const Array past_k = Random({kBatch, kHeads, kPast, kSize}, -1, 1, DataType::kFloat, 5);
  const Array past_v = Random({kBatch, kHeads, kPast, 3}, -1, 1, DataType::kFloat, 6);
  const auto biased = [&](const Array& x, int64_t from, bool with) {
    return Make(x.dims, [&](const Dims& i) { return x.At(i) + (with ? bias.At({from + i[2]}) : 0); });
  };
  for (const bool with_bias : {false, true}) {
    for (const bool with_past : {false, true}) {
      for (const Mask mask : {Mask::kNone, Mask::kEnds, Mask::kLengthsAndStarts, Mask::kKeys, Mask::kQueriesAndKeys}) {
        for (const bool causal : {false, true}) {
          const int64_t keys = added_keys + (with_past ? kPast : 0);
          Array all_k = HeadsOf(biased(k, kWidth, with_bias), kHeads, kSize);
          Array all_v = HeadsOf(biased(v, 2 * kWidth, with_bias), kHeads, 3);
          if (with_past) {
            all_k = Joined(past_k, all_k);
            all_v = Joined(past_v, all_v);
          }
          const auto [given, masked] = MaskOf(mask, keys);
          AttentionRule rule;
          rule.added = [&, masked = masked](const Dims& i) {
            return causal && i[3] > i[2] + keys - kQueries ? kHidden : masked(i);
          };
          const Array heads = HeadsOf(biased(q, 0, with_bias), kHeads, kSize);
          const Array expected = Merged(AttentionOf(heads, all_k, all_v, rule));
          for (const int64_t opset : {11, 13, 17, 21}) {
            Call call("MultiHeadAttention");
            call.In(q).In(k).In(v);
            with_bias ? call.Weights(bias) : call.Absent();
            mask == Mask::kNone ? call.Absent() : call.In(given);
            call.Absent();
            if (with_past) call.In(past_k).In(past_v);
            call.Int("num_heads", kHeads).Int("unidirectional", causal).Outputs({true, true, true});
            const Arrays y = call.Run({.opset = opset});
            ExpectNear(y[0], expected, 1e-5);
            ExpectNear(y[1], all_k, 1e-6);
            ExpectNear(y[2], all_v, 1e-6);
          }
        }
      }
    }
  }
}

TEST(MicrosoftMultiHeadAttention, TheScoresBiasSpreads) {
  const Array q = Random({kBatch, 3, kWidth}), k = Random({kBatch, 5, kWidth}, -1, 1, DataType::kFloat, 2);
  const Array v = Random({kBatch, 5, kWidth}, -1, 1, DataType::kFloat, 3);
  const Array keep = Int32s({kBatch, 5}, Keep);
  for (const Dims& dims :
       {Dims{kBatch, kHeads, 3, 5}, Dims{1, kHeads, 3, 5}, Dims{kBatch, 1, 3, 5}, Dims{1, 1, 3, 5}}) {
    const Array bias = Random(dims, -1, 1, DataType::kFloat, 4);
    AttentionRule rule;
    rule.added = [&](const Dims& i) { return bias.At(i) + (keep.At({i[0], i[3]}) != 0 ? 0 : kFilter); };
    const Array expected =
        Merged(AttentionOf(HeadsOf(q, kHeads, kSize), HeadsOf(k, kHeads, kSize), HeadsOf(v, kHeads, kSize), rule));
    for (const bool open : {false, true}) {
      Call call("MultiHeadAttention");
      call.In(q).In(k).In(v).Absent().In(keep).In(bias).Int("num_heads", kHeads);
      ExpectNear(call.Run({.open = open})[0], expected, 1e-5);
    }
  }
}

TEST(MicrosoftMultiHeadAttention, TakesPackedOperandsAndThoseOfAnEncoder) {
  const Array qkv = Random({kBatch, 3, kHeads, 3, kSize}),
              kv = Random({kBatch, 5, kHeads, 2, kSize}, -1, 1, DataType::kFloat, 2);
  const Array q = Random({kBatch, 3, kWidth}, -1, 1, DataType::kFloat, 3),
              bias = Random({3 * kWidth}, -1, 1, DataType::kFloat, 4);
  const auto part = [](const Array& x, int64_t which) {
    return Make({x.dims[0], x.dims[2], x.dims[1], x.dims[4]}, [&](const Dims& i) {
      return x.At({i[0], i[2], i[1], which, i[3]});
    });
  };
  const auto plus = [&](const Array& x, int64_t which) {
    return Make(x.dims, [&](const Dims& i) { return x.At(i) + bias.At({which * kWidth + i[1] * kSize + i[3]}); });
  };
  const Array heads = HeadsOf(q, kHeads, kSize);
  for (const int64_t opset : {11, 17, 21}) {
    const RunAs how{.opset = opset};
    ExpectNear(Call("MultiHeadAttention").In(qkv).Int("num_heads", kHeads).Run(how)[0],
               Merged(AttentionOf(part(qkv, 0), part(qkv, 1), part(qkv, 2), {})), 1e-5);
    ExpectNear(Call("MultiHeadAttention").In(qkv).Absent().Absent().Weights(bias).Int("num_heads", kHeads).Run(how)[0],
               Merged(AttentionOf(plus(part(qkv, 0), 0), plus(part(qkv, 1), 1), plus(part(qkv, 2), 2), {})), 1e-5);
    ExpectNear(Call("MultiHeadAttention").In(q).In(kv).Int("num_heads", kHeads).Run(how)[0],
               Merged(AttentionOf(heads, part(kv, 0), part(kv, 1), {})), 1e-5);
    const Array k = part(kv, 0), v = part(kv, 1);
    ExpectNear(Call("MultiHeadAttention").In(q).In(k).In(v).Int("num_heads", kHeads).Run(how)[0],
               Merged(AttentionOf(heads, k, v, {})), 1e-5);
    ExpectNear(Call("MultiHeadAttention").In(q).In(k).In(v).Weights(bias).Int("num_heads", kHeads).Run(how)[0],
               Merged(AttentionOf(plus(heads, 0), k, v, {})), 1e-5);
  }
}

TEST(MicrosoftMultiHeadAttention, InHalfHasHalfsPrecision) {
  const DataType half = DataType::kFloat16;
  const Array q = Random({1, 3, 8}, -1, 1, half), k = Random({1, 4, 8}, -1, 1, half, 2),
              v = Random({1, 4, 8}, -1, 1, half, 3);
  const Array expected = As(Merged(AttentionOf(HeadsOf(q, 2, 4), HeadsOf(k, 2, 4), HeadsOf(v, 2, 4), {})), half);
  ExpectNear(Call("MultiHeadAttention").In(q).In(k).In(v).Int("num_heads", 2).Run()[0], expected, 3e-3);
}

TEST(MicrosoftMultiHeadAttention, RefusesWhatDoesNotFit) {
  const Array q = Random({1, 3, 8}), k = Random({1, 4, 8}), odd = Random({1, 4});
  const auto failure = [](Call& call) { return call.Int("num_heads", 2).Failure(); };
  EXPECT_THAT(failure(Call("MultiHeadAttention").In(q)),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("(key) is missing")));
  EXPECT_THAT(failure(Call("MultiHeadAttention").In(q).In(k)), HasSubstr("(value) is missing"));
  EXPECT_THAT(failure(Call("MultiHeadAttention").In(odd).In(k).In(k)), HasSubstr("2 dimensions, 3 or 5 expected"));
  EXPECT_THAT(failure(Call("MultiHeadAttention").In(q).In(odd).In(odd)), HasSubstr("2 dimensions, 3 to 5 expected"));
  EXPECT_THAT(failure(Call("MultiHeadAttention").In(q).In(k).In(k).Unshaped().Weights(Random({7}))),
              HasSubstr("the bias has 7 elements"));
  EXPECT_THAT(Call("MultiHeadAttention").In(q).In(k).In(k).Int("num_heads", 3).Failure(), HasSubstr("3 heads"));
  EXPECT_THAT(failure(Call("MultiHeadAttention").In(q).Unshaped().In(k).In(k)),
              AllOf(HasSubstr("NOT_IMPLEMENTED"), HasSubstr("number of dimensions of input 0")));
}

}  // namespace
}  // namespace epiphyte::test::microsoft
